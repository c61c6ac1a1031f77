//! Rows of a few pages, from a cache of decoded ones.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use futures::StreamExt;

use super::open::{OpenRun, RunFiles};
use super::reader::Columns;
use super::run_file::RunFile;
use crate::error::{Error, Result};
use rowkey_model::columns::{KeyReader, view_batch};
use rowkey_model::{KeyCut, KeyRange};

/// Decoded bytes of the pages of one file that are read together, by the average row of their row
/// groups.
const BYTES_MAX: u64 = 8 << 20;

/// Decoded bytes of a page that is kept for the sake of single entities.
const SMALL_BYTES_MAX: u64 = 1 << 20;

impl RunFiles {
    /// The live rows of a file whose keys lie in `range`, in key order, with all columns of the
    /// file; text and binary as views. `None` if more than `pages_max` pages would have to be read,
    /// or they are large; `pages_max` becomes what is left for other files.
    pub async fn rows_in(
        &self,
        run: &Arc<RunFile>,
        range: &KeyRange,
        pages_max: &mut usize,
    ) -> Result<Option<Vec<RecordBatch>>> {
        let open = self.open(run).await?;
        let blocks: Vec<(usize, Range<u64>)> = open
            .blocks_in(range)
            .take(pages_max.saturating_add(1))
            .map(|(place, block)| (place, block.rows.clone()))
            .collect();
        let bytes: u64 = blocks.iter().map(|(_, rows)| open.decoded_bytes(rows)).sum();
        let Some(left) = pages_max.checked_sub(blocks.len()).filter(|_| bytes <= BYTES_MAX) else { return Ok(None) };
        *pages_max = left;
        let mut found = Vec::with_capacity(blocks.len());
        for (place, rows) in blocks {
            let first_row = rows.start;
            let page = self.page(&open, place, rows).await?;
            let wanted = within(&page, range).ok_or_else(|| corrupt(&open, "its keys are no text"))?;
            if wanted.is_empty() {
                continue;
            }
            let rows = view_batch(&page.slice(wanted.start, wanted.len())).map_err(|error| corrupt(&open, error))?;
            let Some(mask) = run.mask.as_deref() else {
                found.push(rows);
                continue;
            };
            let row_of = |at: usize| (first_row + (wanted.start + at) as u64) as u32;
            let live: BooleanArray = (0..wanted.len()).map(|at| Some(!mask.contains(row_of(at)))).collect();
            let live = filter_record_batch(&rows, &live).map_err(|error| corrupt(&open, error))?;
            if live.num_rows() > 0 {
                found.push(live);
            }
        }
        Ok(Some(found))
    }

    /// All rows of a block, masked ones too: masks change, and pages do not.
    pub(super) async fn page(&self, open: &Arc<OpenRun>, place: usize, rows: Range<u64>) -> Result<Arc<RecordBatch>> {
        let slot = (open.run.id, place as u32);
        if let Some(page) = self.pages.get(&slot) {
            return Ok(page);
        }
        let count = (rows.end - rows.start) as usize;
        let mut batches = open.read_unmasked_by(None, rows, Columns::All, count)?;
        let batch = match batches.next().await.transpose()? {
            Some(batch) if batch.num_rows() == count => batch,
            _ => return Err(corrupt(open, format!("page {place} cannot be read"))),
        };
        let page = Arc::new(batch);
        self.pages.insert(slot, Arc::clone(&page));
        Ok(page)
    }
}

impl OpenRun {
    /// Whether a block is small enough to be kept decoded for the sake of single entities.
    pub(super) fn is_small(&self, rows: &Range<u64>) -> bool {
        self.decoded_bytes(rows) <= SMALL_BYTES_MAX
    }

    /// About how much rows of one block take once they are decoded.
    fn decoded_bytes(&self, rows: &Range<u64>) -> u64 {
        let mut group_start = 0;
        for group in self.metadata().row_groups() {
            let group_rows = group.num_rows().unsigned_abs();
            if rows.start < group_start + group_rows {
                let group_bytes = group.total_byte_size().unsigned_abs();
                return group_bytes.saturating_mul(rows.end - rows.start) / group_rows.max(1);
            }
            group_start += group_rows;
        }
        0
    }
}

fn corrupt(open: &OpenRun, reason: impl ToString) -> Error {
    Error::corrupt(&open.run.path, reason.to_string())
}

/// The rows of a page whose keys lie in `range`.
fn within(page: &RecordBatch, range: &KeyRange) -> Option<Range<usize>> {
    let keys = KeyReader::new(page.columns())?;
    let first_above = |cut: &KeyCut| {
        let (mut low, mut high) = (0, page.num_rows());
        while low < high {
            let middle = low + (high - low) / 2;
            if cut.is_below(keys.get(middle)) { high = middle } else { low = middle + 1 }
        }
        low
    };
    let (from, to) = (first_above(range.lower()), first_above(range.upper()));
    Some(from..to.max(from))
}
