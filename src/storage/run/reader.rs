//! Reading rows of a run file.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use arrow::array::AsArray;
use arrow::record_batch::RecordBatch;
use futures::StreamExt;
use futures::stream::BoxStream;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use parquet::arrow::async_reader::ParquetRecordBatchStreamBuilder;
use parquet::errors::ParquetError;
use roaring::RoaringBitmap;

use super::open::{Gap, KeyBlock, OpenRun, RunFiles, failed};
use super::run_file::RunFile;
use super::to_rows::EntityColumns;
use crate::error::{Error, Result};
use rowkey_model::{Entity, KeyRef};

/// Which columns to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    Keys,
    All,
    /// The properties without columns of their own, if the file has any.
    Other,
}

impl OpenRun {
    /// Streams a range of the file's rows, in key order: the live ones, or with [`Columns::Keys`]
    /// the keys of all.
    pub fn read(
        self: &Arc<Self>,
        rows: Range<u64>,
        columns: Columns,
        batch_rows: usize,
    ) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let mask = match columns {
            Columns::Keys => None,
            Columns::All | Columns::Other => self.run.mask.as_deref(),
        };
        self.read_unmasked_by(mask, rows, columns, batch_rows)
    }

    /// All rows with all columns, masked ones as well.
    pub fn read_masked_too(self: &Arc<Self>, batch_rows: usize) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        self.read_unmasked_by(None, 0..self.run.rows, Columns::All, batch_rows)
    }

    /// All rows but those of `mask`.
    pub(super) fn read_unmasked_by(
        self: &Arc<Self>,
        mask: Option<&RoaringBitmap>,
        rows: Range<u64>,
        columns: Columns,
        batch_rows: usize,
    ) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let (groups, selection) = self.selection(rows, mask);
        let metadata = self.arrow_metadata().clone();
        let projection = match columns {
            Columns::Keys => ProjectionMask::roots(metadata.parquet_schema(), [0, 1]),
            Columns::All => ProjectionMask::all(),
            Columns::Other => ProjectionMask::roots(metadata.parquet_schema(), self.run.layout().other_position()),
        };
        let stream = ParquetRecordBatchStreamBuilder::new_with_metadata(self.reader(), metadata)
            .with_row_groups(groups)
            .with_row_selection(selection)
            .with_projection(projection)
            .with_batch_size(batch_rows)
            .build()
            .map_err(|error| self.failed(error))?;
        let open = Arc::clone(self);
        Ok(stream.map(move |batch| batch.map_err(|error| open.failed(error))).boxed())
    }

    /// Row groups to read, and which of their rows, laid end to end.
    fn selection(&self, rows: Range<u64>, mask: Option<&RoaringBitmap>) -> (Vec<usize>, RowSelection) {
        let mut groups = Vec::new();
        let mut selectors = Vec::new();
        let mut group_start = 0;
        for (place, group) in self.metadata().row_groups().iter().enumerate() {
            let group_end = group_start + group.num_rows() as u64;
            let wanted = rows.start.max(group_start)..rows.end.min(group_end);
            if wanted.start < wanted.end {
                groups.push(place);
                selectors.push(RowSelector::skip((wanted.start - group_start) as usize));
                select_unmasked(wanted.clone(), mask, &mut selectors);
                selectors.push(RowSelector::skip((group_end - wanted.end) as usize));
            }
            group_start = group_end;
        }
        selectors.retain(|selector: &RowSelector| selector.row_count > 0);
        (groups, RowSelection::from(selectors))
    }

    fn failed(&self, error: ParquetError) -> Error {
        failed(&self.run.path, error)
    }
}

impl RunFiles {
    /// The entity of a key, if the file has a live one.
    ///
    /// A hit in the cache touches neither the file nor the Parquet decoder. Otherwise one page of
    /// keys is decoded (and kept), then one page of each column, of which a row is taken, or all of
    /// it where the page is asked for again and again.
    pub async fn get(&self, run: &Arc<RunFile>, key: KeyRef<'_>) -> Result<Option<Arc<Entity>>> {
        let Some(Place { open, block, rows, keys, at }) = self.place(run, key, None).await? else { return Ok(None) };
        let row = rows.start + at as u64;
        if run.mask.as_ref().is_some_and(|mask| mask.contains(row as u32)) {
            return Ok(None);
        }
        if let Some(entity) = self.entities.get(&(run.id, row)) {
            return Ok(Some(entity));
        }
        if keys.asked_again() && open.is_small(&rows) {
            let page = self.page(&open, block, rows).await?;
            return Ok(Some(Arc::new(EntityColumns::of(&open, &page)?.entity(at)?)));
        }
        let mut batches = open.read(row..row + 1, Columns::All, 1)?;
        let Some(batch) = batches.next().await.transpose()? else {
            return Err(Error::corrupt(&run.path, format!("row {row} cannot be read")));
        };
        let entity = Arc::new(EntityColumns::of(&open, &batch)?.entity(0)?);
        self.entities.insert((run.id, row), Arc::clone(&entity));
        Ok(Some(entity))
    }

    /// Which row of the file has this key, masked or not. Where there is no such row, `gap` becomes
    /// the gap in which the key would lie. Decodes one page of keys, which is kept.
    pub async fn position_or_gap(
        &self,
        run: &Arc<RunFile>,
        key: KeyRef<'_>,
        gap: &mut Option<Gap>,
    ) -> Result<Option<u32>> {
        Ok(self.place(run, key, Some(gap)).await?.map(Place::row))
    }

    async fn place(
        &self,
        run: &Arc<RunFile>,
        key: KeyRef<'_>,
        mut gap: Option<&mut Option<Gap>>,
    ) -> Result<Option<Place>> {
        if !run.spans(key) {
            return Ok(None);
        }
        let open = self.open(run).await?;
        for (block, candidate) in open.blocks_of(key) {
            let rows = candidate.rows.clone();
            let keys = self.key_block(&open, block, rows.clone()).await?;
            match keys.find(key) {
                Ok(at) => return Ok(Some(Place { open: Arc::clone(&open), block, rows, keys, at })),
                Err(at) => {
                    if let Some(gap) = gap.as_deref_mut() {
                        *gap = Some(Gap::new(keys, at));
                    }
                }
            }
        }
        Ok(None)
    }

    async fn key_block(&self, open: &Arc<OpenRun>, place: usize, rows: Range<u64>) -> Result<Arc<KeyBlock>> {
        let slot = (open.run.id, place as u32);
        if let Some(block) = self.key_blocks.get(&slot) {
            return Ok(block);
        }
        let count = (rows.end - rows.start) as usize;
        let mut batches = open.read(rows, Columns::Keys, count)?;
        let batch = match batches.next().await.transpose()? {
            Some(batch) if batch.num_rows() == count => batch,
            _ => return Err(Error::corrupt(&open.run.path, format!("key page {place} cannot be read"))),
        };
        let block = Arc::new(KeyBlock {
            partitions: batch.column(0).as_string::<i32>().clone(),
            rows: batch.column(1).as_string::<i32>().clone(),
            asked: AtomicU32::new(0),
        });
        self.key_blocks.insert(slot, Arc::clone(&block));
        Ok(block)
    }
}

/// Where a key lies in a file.
struct Place {
    open: Arc<OpenRun>,
    /// Its block, and the rows of that.
    block: usize,
    rows: Range<u64>,
    keys: Arc<KeyBlock>,
    /// Its row in the block.
    at: usize,
}

impl Place {
    /// The number of the row in the file.
    fn row(self) -> u32 {
        (self.rows.start + self.at as u64) as u32
    }
}

fn select_unmasked(span: Range<u64>, mask: Option<&RoaringBitmap>, selectors: &mut Vec<RowSelector>) {
    let mut at = span.start;
    if let Some(mask) = mask {
        for masked in mask.range(span.start as u32..span.end as u32).map(u64::from) {
            selectors.push(RowSelector::select((masked - at) as usize));
            selectors.push(RowSelector::skip(1));
            at = masked + 1;
        }
    }
    selectors.push(RowSelector::select((span.end - at) as usize));
}
