//! The stored entities of a range partition, as rows to merge with.

use std::sync::Arc;

use futures::StreamExt;
use futures::executor::block_on;
use futures::stream::BoxStream;

use arrow::record_batch::RecordBatch;

use crate::error::{Error, Result};
use crate::run::{Columns, EntityColumns, OpenRun, RunFile, RunFiles};
use rowkey_model::rows::{CursorHeap, PropertyNames, RowRef, Rows};

/// Rows decoded at a time, of one file.
const BATCH_ROWS: usize = 4096;
/// Encoded bytes decoded at a time, of all files.
const BATCH_BYTES: u64 = 32 << 20;

/// A cursor over the live rows of files that may overlap, in key order. A batch of each is in
/// memory.
pub(crate) struct Existing {
    files: Vec<FileCursor>,
    /// The one with the least key is next.
    heap: CursorHeap,
    /// The key before the one the cursor stands on, as bytes that compare like it.
    before: Vec<u8>,
}

impl Existing {
    /// A cursor over nothing.
    pub(crate) fn none() -> Self {
        Self { files: Vec::new(), heap: CursorHeap::default(), before: Vec::new() }
    }

    /// Stands before the first live row. Blocks while it reads, which local files answer at once.
    pub(crate) fn open(files: &RunFiles, runs: &[Arc<RunFile>], names: &Arc<PropertyNames>) -> Result<Self> {
        let bytes_each = BATCH_BYTES / runs.len().max(1) as u64;
        let batch_rows = |run: &RunFile| {
            let rows = bytes_each.saturating_mul(run.rows) / run.encoded_bytes.max(1);
            usize::try_from(rows).map_or(BATCH_ROWS, |rows| rows.clamp(1, BATCH_ROWS))
        };
        let open = |run| FileCursor::open(files, run, batch_rows(run), names);
        let files = runs.iter().map(open).collect::<Result<Vec<_>>>()?;
        let filled = (0..files.len()).filter(|&place| files[place].peek().is_some());
        let heap = CursorHeap::new(filled, |a, b| precedes(&files, a, b));
        Ok(Self { files, heap, before: Vec::new() })
    }

    /// The row the cursor stands on.
    pub(crate) fn peek(&self) -> Option<RowRef<'_>> {
        self.files[self.heap.top()?].peek()
    }

    /// Moves to the next row.
    pub(crate) fn advance(&mut self) -> Result<()> {
        let Some(top) = self.heap.top() else { return Ok(()) };
        self.before.clear();
        if let Some(row) = self.files[top].peek() {
            self.before.extend_from_slice(row.key_bytes());
        }
        self.files[top].advance()?;
        let files = &self.files;
        self.heap.settle(files[top].peek().is_none(), |a, b| precedes(files, a, b));
        let next = self.heap.top().filter(|&next| next != top);
        match next.and_then(|next| Some((next, self.files[next].peek()?))) {
            Some((next, row)) if row.key_bytes() == self.before => {
                let (key, other) = (row.key().to_key(), &self.files[top].path);
                let reason = format!("entity ({:?}, {:?}) is live here and in {other}", key.partition, key.row);
                Err(Error::corrupt(&self.files[next].path, reason))
            }
            _ => Ok(()),
        }
    }
}

fn precedes(files: &[FileCursor], a: usize, b: usize) -> bool {
    let key = |place: usize| files[place].peek().map(|row| row.key_bytes());
    key(a) < key(b)
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
    fn open(files: &RunFiles, run: &Arc<RunFile>, batch_rows: usize, names: &Arc<PropertyNames>) -> Result<Self> {
        let open = block_on(files.open(run))?;
        let batches = open.read(0..run.rows, Columns::All, batch_rows)?;
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
