//! The stored entities of a range partition, as rows to merge with.

use std::sync::Arc;

use futures::StreamExt;
use futures::executor::block_on;
use futures::stream::BoxStream;

use arrow::record_batch::RecordBatch;

use crate::rows::{PropertyNames, RowRef, Rows};
use crate::storage::error::{Error, Result};
use crate::storage::run::{Columns, EntityColumns, OpenRun, RunFile, RunFiles};

/// Rows decoded at a time, of one file.
const BATCH_ROWS: usize = 4096;

/// A cursor over the live rows of files that may overlap, in key order. A batch of each is in memory.
pub struct Existing {
    files: Vec<FileCursor>,
    /// Place of the file with the least key.
    least: usize,
}

impl Existing {
    /// A cursor over nothing.
    pub fn none() -> Self {
        Self { files: Vec::new(), least: 0 }
    }

    /// Stands before the first live row. Blocks while it reads, which local files answer at once.
    pub fn open(files: &RunFiles, runs: &[Arc<RunFile>], names: &Arc<PropertyNames>) -> Result<Self> {
        let files = runs.iter().map(|run| FileCursor::open(files, run, names)).collect::<Result<Vec<_>>>()?;
        let mut cursor = Self { files, least: 0 };
        cursor.find_least()?;
        Ok(cursor)
    }

    /// The row the cursor stands on.
    pub fn peek(&self) -> Option<RowRef<'_>> {
        self.files.get(self.least)?.peek()
    }

    /// Moves to the next row.
    pub fn advance(&mut self) -> Result<()> {
        if let Some(file) = self.files.get_mut(self.least) {
            file.advance()?;
        }
        self.find_least()
    }

    fn find_least(&mut self) -> Result<()> {
        self.files.retain(|file| file.peek().is_some());
        self.least = 0;
        for place in 1..self.files.len() {
            let (Some(row), Some(least)) = (self.files[place].peek(), self.files[self.least].peek()) else { continue };
            match row.key_bytes().cmp(least.key_bytes()) {
                std::cmp::Ordering::Less => self.least = place,
                std::cmp::Ordering::Greater => {}
                std::cmp::Ordering::Equal => {
                    let (key, other) = (row.key().to_key(), &self.files[self.least].path);
                    let reason = format!("entity ({:?}, {:?}) is live here and in {other}", key.partition, key.row);
                    return Err(Error::corrupt(&self.files[place].path, reason));
                }
            }
        }
        Ok(())
    }
}

/// A cursor over the live rows of one file.
struct FileCursor {
    path: String,
    names: Arc<PropertyNames>,
    file: Option<(Arc<OpenRun>, BoxStream<'static, Result<RecordBatch>>)>,
    rows: Rows,
    next: usize,
}

impl FileCursor {
    fn open(files: &RunFiles, run: &Arc<RunFile>, names: &Arc<PropertyNames>) -> Result<Self> {
        let open = block_on(files.open(run))?;
        let batches = open.read(0..run.rows, Columns::All, BATCH_ROWS)?;
        let (path, names) = (run.path.clone(), Arc::clone(names));
        let mut cursor = Self { path, names, file: Some((open, batches)), rows: Rows::new(), next: 0 };
        cursor.fill()?;
        Ok(cursor)
    }

    fn peek(&self) -> Option<RowRef<'_>> {
        (self.next < self.rows.len()).then(|| self.rows.get(self.next))
    }

    fn advance(&mut self) -> Result<()> {
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
