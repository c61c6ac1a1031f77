//! The stored entities of a range partition, as rows to merge with.

use std::sync::Arc;

use futures::StreamExt;
use futures::executor::block_on;
use futures::stream::BoxStream;

use arrow::record_batch::RecordBatch;

use crate::rows::{PropertyNames, RowRef, Rows};
use crate::storage::error::Result;
use crate::storage::run::{Columns, EntityColumns, OpenRun, RunFile, RunFiles};

/// Rows decoded at a time.
const BATCH_ROWS: usize = 4096;

/// A cursor over the live rows of one file.
pub struct Existing {
    names: Arc<PropertyNames>,
    file: Option<(Arc<OpenRun>, BoxStream<'static, Result<RecordBatch>>)>,
    rows: Rows,
    next: usize,
}

impl Existing {
    /// A cursor over nothing.
    pub fn none(names: &Arc<PropertyNames>) -> Self {
        Self { names: Arc::clone(names), file: None, rows: Rows::new(), next: 0 }
    }

    /// Stands before the first live row. Blocks while it reads, which local files answer at once.
    pub fn open(files: &RunFiles, run: &Arc<RunFile>, names: &Arc<PropertyNames>) -> Result<Self> {
        let open = block_on(files.open(run))?;
        let batches = open.read(0..run.rows, Columns::All, BATCH_ROWS)?;
        let mut cursor = Self { file: Some((open, batches)), ..Self::none(names) };
        cursor.fill()?;
        Ok(cursor)
    }

    /// The row the cursor stands on.
    pub fn peek(&self) -> Option<RowRef<'_>> {
        (self.next < self.rows.len()).then(|| self.rows.get(self.next))
    }

    /// Moves to the next row.
    pub fn advance(&mut self) -> Result<()> {
        self.next += 1;
        self.fill()
    }

    fn fill(&mut self) -> Result<()> {
        while self.next >= self.rows.len() {
            let Some((open, batches)) = &mut self.file else { return Ok(()) };
            let Some(batch) = block_on(batches.next()).transpose()? else {
                self.file = None;
                return Ok(());
            };
            self.rows.clear();
            self.next = 0;
            EntityColumns::of(open, &batch)?.append_to(&mut self.rows, &self.names)?;
        }
        Ok(())
    }
}
