//! Rows of a few pages, from a cache of decoded ones.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};

use super::layout::PAGE_ROWS;
use super::open::{Block, OpenRun, RunFiles};
use super::reader::Columns;
use super::run_file::RunFile;
use crate::error::{Error, Result};
use rowkey_model::columns::{KeyReader, view_batch};
use rowkey_model::{KeyCut, KeyRange};

/// What may be read as a few pages: how many, and their decoded bytes by the average row of their
/// row groups.
#[derive(Debug, Clone, Copy)]
pub struct PageBudget {
    pub pages: usize,
    pub bytes: u64,
}

/// Pages that are kept of what a reader of the first rows of a range reads.
const FIRST_PAGES: usize = 4;

/// Decoded bytes of a page that is kept for the sake of single entities.
const SMALL_BYTES_MAX: u64 = 1 << 20;

impl RunFiles {
    /// The live rows of a file whose keys lie in `range`, in key order, with all columns of the
    /// file; text and binary as views. `None` if more than `budget` would have to be read, which
    /// becomes what is left for others.
    pub async fn rows_in(
        &self,
        run: &Arc<RunFile>,
        range: &KeyRange,
        budget: &mut PageBudget,
    ) -> Result<Option<Vec<RecordBatch>>> {
        let open = self.open(run).await?;
        let blocks: Vec<(usize, Range<u64>)> = open
            .blocks_in(range)
            .take(budget.pages.saturating_add(1))
            .map(|(place, block)| (place, block.rows.clone()))
            .collect();
        let bytes: u64 = blocks.iter().map(|(_, rows)| open.decoded_bytes(rows)).sum();
        let left = budget.pages.checked_sub(blocks.len()).zip(budget.bytes.checked_sub(bytes));
        let Some((pages, bytes)) = left else { return Ok(None) };
        *budget = PageBudget { pages, bytes };
        let mut found = Vec::with_capacity(blocks.len());
        for (place, rows) in blocks {
            let rows = self.rows_of_page(&open, place, rows, range).await?;
            if rows.num_rows() > 0 {
                found.push(view_batch(&rows).map_err(|error| corrupt(&open, error))?);
            }
        }
        Ok(Some(found))
    }

    /// The live rows of a file whose keys lie in `range`, in key order: the first pages from the
    /// cache, the rest as the file is read, in batches of `batch_rows`.
    pub(crate) fn read_by_pages(
        self: &Arc<Self>,
        open: &Arc<OpenRun>,
        range: &KeyRange,
        batch_rows: usize,
    ) -> BoxStream<'static, Result<RecordBatch>> {
        let is_small = |(_, block): &(usize, &Block)| open.is_small(&block.rows);
        let blocks = open.blocks_in(range).take(FIRST_PAGES).take_while(is_small);
        let blocks: Vec<(usize, Range<u64>)> = blocks.map(|(place, block)| (place, block.rows.clone())).collect();
        let rows = open.rows_in(range);
        let rest = blocks.last().map_or(rows.start, |(_, rows)| rows.end)..rows.end;
        let (files, of_pages, range) = (Arc::clone(self), Arc::clone(open), range.clone());
        let pages = stream::iter(blocks).then(move |(place, rows)| {
            let (files, open, range) = (Arc::clone(&files), Arc::clone(&of_pages), range.clone());
            async move { files.rows_of_page(&open, place, rows, &range).await }
        });
        if rest.is_empty() {
            return pages.boxed();
        }
        let open = Arc::clone(open);
        let rest = stream::once(async move { open.read(rest, Columns::All, batch_rows) }).try_flatten();
        pages.chain(rest).boxed()
    }

    /// The live rows of a page whose keys lie in `range`.
    async fn rows_of_page(
        &self,
        open: &Arc<OpenRun>,
        place: usize,
        rows: Range<u64>,
        range: &KeyRange,
    ) -> Result<RecordBatch> {
        let first_row = rows.start;
        let page = self.page(open, place, rows).await?;
        let wanted = within(&page, range).ok_or_else(|| corrupt(open, "its keys are no text"))?;
        let rows = page.slice(wanted.start, wanted.len());
        let Some(mask) = open.run.mask.as_deref() else { return Ok(rows) };
        let row_of = |at: usize| (first_row + (wanted.start + at) as u64) as u32;
        let live: BooleanArray = (0..wanted.len()).map(|at| Some(!mask.contains(row_of(at)))).collect();
        filter_record_batch(&rows, &live).map_err(|error| corrupt(open, error))
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

    /// About how much rows of one block take once they are decoded: by their row group, where many
    /// equal values may be one, and by the entities of the file.
    fn decoded_bytes(&self, rows: &Range<u64>) -> u64 {
        let of_entities = self.run.page_bytes().saturating_mul(rows.end - rows.start) / PAGE_ROWS as u64;
        self.bytes_of_group(rows).max(of_entities)
    }

    fn bytes_of_group(&self, rows: &Range<u64>) -> u64 {
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
