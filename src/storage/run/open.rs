//! Run files open for reading, with what is cached of them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use arrow::array::{Array, RecordBatch, StringArray};
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::async_reader::{AsyncFileReader, MetadataFetch};
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::binary_names::with_typed_names;
use super::checksums::VerifiedFile;
use super::layout::RunLayout;
use super::run_file::RunFile;
use crate::error::{Error, Result};
use rowkey_model::files::FileStore;
use rowkey_model::{Entity, KeyRange, KeyRef, KeySet};

/// A page of keys: rows of one row group whose PartitionKeys share a page, with bounds of their
/// keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub row_group: usize,
    /// Rows of the file, from 0.
    pub rows: Range<u64>,
    partition_min: Box<str>,
    partition_max: Box<str>,
    /// Least and greatest RowKey, of whichever partition.
    row_min: Box<str>,
    row_max: Box<str>,
}

impl Block {
    /// No key of the block is below this one.
    fn lower(&self) -> KeyRef<'_> {
        KeyRef { partition: &self.partition_min, row: &self.row_min }
    }

    /// No key of the block is above this one.
    fn upper(&self) -> KeyRef<'_> {
        KeyRef { partition: &self.partition_max, row: &self.row_max }
    }

    /// False if no key of the block lies in `range`.
    pub fn may_meet(&self, range: &KeyRange) -> bool {
        range.lower().is_below(self.upper()) && !range.upper().is_below(self.lower())
    }

    fn may_hold(&self, key: KeyRef<'_>) -> bool {
        self.lower() <= key && key <= self.upper()
    }

    fn memory_bytes(&self) -> usize {
        let texts = [&self.partition_min, &self.partition_max, &self.row_min, &self.row_max];
        size_of::<Block>() + texts.iter().map(|text| text.len()).sum::<usize>()
    }
}

/// A run file with its metadata and page index at hand.
#[derive(Debug)]
pub struct OpenRun {
    pub run: Arc<RunFile>,
    pub layout: RunLayout,
    file: Arc<VerifiedFile>,
    metadata: ArrowReaderMetadata,
    blocks: Arc<[Block]>,
}

impl OpenRun {
    async fn open(store: &dyn FileStore, run: &Arc<RunFile>) -> Result<Self> {
        let file = store.open(&run.path).await?;
        if file.bytes() != run.bytes {
            let reason = format!("it has {} bytes, the manifest says {}", file.bytes(), run.bytes);
            return Err(Error::corrupt(&run.path, reason));
        }
        let file = Arc::new(VerifiedFile::new(&run.path, file, run.checksums.clone())?);
        let corrupt = |error: ParquetError| failed(&run.path, error);
        let metadata = ParquetMetaDataReader::new()
            .with_page_index_policy(PageIndexPolicy::Optional)
            .with_prefetch_hint(Some(run.tail_bytes as usize))
            .load_and_finish(Fetch(Arc::clone(&file)), run.bytes)
            .await
            .map_err(corrupt)?;
        let layout = run.layout();
        let schema = layout.schema();
        let metadata = with_typed_names(metadata, &schema).map_err(corrupt)?;
        let options = ArrowReaderOptions::new().with_schema(schema);
        let metadata = ArrowReaderMetadata::try_new(Arc::new(metadata), options).map_err(corrupt)?;
        let rows: i64 = metadata.metadata().row_groups().iter().map(|group| group.num_rows()).sum();
        if rows != run.rows as i64 {
            return Err(Error::corrupt(&run.path, format!("it has {rows} rows, the manifest says {}", run.rows)));
        }
        let blocks = blocks(metadata.metadata())
            .ok_or_else(|| Error::corrupt(&run.path, "its page index does not cover the keys"))?;
        Ok(Self { run: Arc::clone(run), layout, file, metadata, blocks: blocks.into() })
    }

    /// The same file by another description, which differs in the mask.
    fn described_by(&self, run: &Arc<RunFile>) -> Self {
        Self {
            run: Arc::clone(run),
            layout: self.layout.clone(),
            file: Arc::clone(&self.file),
            metadata: self.metadata.clone(),
            blocks: Arc::clone(&self.blocks),
        }
    }

    /// The footer of the file, with its page index.
    pub fn metadata(&self) -> &Arc<ParquetMetaData> {
        self.metadata.metadata()
    }

    pub(super) fn arrow_metadata(&self) -> &ArrowReaderMetadata {
        &self.metadata
    }

    /// Pages of keys, in key order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Blocks that may hold keys of a set, with their places among [`OpenRun::blocks`].
    pub fn blocks_with<'a>(&'a self, keys: &'a KeySet) -> impl Iterator<Item = (usize, &'a Block)> {
        self.blocks.iter().enumerate().filter(|(_, block)| keys.overlaps(block.lower(), block.upper()))
    }

    /// The rows of the file that may lie in `range`: whole blocks.
    pub fn rows_in(&self, range: &KeyRange) -> Range<u64> {
        let mut blocks = self.blocks_in(range);
        let Some((_, first)) = blocks.next() else { return 0..0 };
        let last = blocks.next_back().map_or(first, |(_, block)| block);
        first.rows.start..last.rows.end
    }

    /// Blocks that may hold keys of `range`, with their places among [`OpenRun::blocks`].
    pub(super) fn blocks_in(&self, range: &KeyRange) -> impl DoubleEndedIterator<Item = (usize, &Block)> {
        let from =
            range.lower().partition().map_or(0, |p| self.blocks.partition_point(|block| *block.partition_max < *p));
        let to = range
            .upper()
            .partition()
            .map_or(self.blocks.len(), |p| self.blocks.partition_point(|block| *block.partition_min <= *p));
        let candidates = self.blocks.iter().enumerate().take(to).skip(from);
        candidates.filter(move |(_, block)| block.may_meet(range))
    }

    /// Blocks that may hold a key, with their places among [`OpenRun::blocks`].
    pub(super) fn blocks_of(&self, key: KeyRef<'_>) -> impl Iterator<Item = (usize, &Block)> {
        let from = self.blocks.partition_point(|block| *block.partition_max < *key.partition);
        self.blocks
            .iter()
            .enumerate()
            .skip(from)
            .take_while(move |(_, block)| *block.partition_min <= *key.partition)
            .filter(move |(_, block)| block.may_hold(key))
    }

    /// A reader of this file for the Parquet decoder.
    pub fn reader(self: &Arc<Self>) -> RunFileReader {
        RunFileReader { open: Arc::clone(self) }
    }

    fn memory_bytes(&self) -> usize {
        self.metadata.metadata().memory_size() + self.blocks.iter().map(Block::memory_bytes).sum::<usize>()
    }
}

/// The blocks of a file, from the pages of its PartitionKey column and the RowKey pages that
/// overlap them. `None` if an index is missing.
fn blocks(metadata: &ParquetMetaData) -> Option<Vec<Block>> {
    let (columns, offsets) = (metadata.column_index()?, metadata.offset_index()?);
    let mut blocks = Vec::new();
    let mut group_start = 0;
    for (row_group, group) in metadata.row_groups().iter().enumerate() {
        let group_rows = group.num_rows() as u64;
        let pages = |column: usize| {
            let ColumnIndexMetaData::BYTE_ARRAY(index) = columns.get(row_group)?.get(column)? else { return None };
            let locations = offsets.get(row_group)?.get(column)?.page_locations();
            let starts: Vec<u64> = locations.iter().map(|location| location.first_row_index as u64).collect();
            Some((index, starts))
        };
        let (partitions, partition_starts) = pages(0)?;
        let (rows, row_starts) = pages(1)?;
        for (page, &start) in partition_starts.iter().enumerate() {
            let end = partition_starts.get(page + 1).copied().unwrap_or(group_rows);
            let row_from = row_starts.partition_point(|&row_start| row_start <= start).checked_sub(1)?;
            let row_to = row_starts.partition_point(|&row_start| row_start < end);
            let row_pages = row_from..row_to;
            blocks.push(Block {
                row_group,
                rows: group_start + start..group_start + end,
                partition_min: text(partitions.min_value(page)?)?,
                partition_max: text(partitions.max_value(page)?)?,
                row_min: text(row_pages.clone().map(|page| rows.min_value(page)).min()??)?,
                row_max: text(row_pages.map(|page| rows.max_value(page)).max()??)?,
            });
        }
        group_start += group_rows;
    }
    Some(blocks)
}

fn text(bytes: &[u8]) -> Option<Box<str>> {
    std::str::from_utf8(bytes).ok().map(Box::from)
}

/// Reads the metadata of a file that is not open yet.
struct Fetch(Arc<VerifiedFile>);

impl MetadataFetch for Fetch {
    fn fetch(&mut self, range: Range<u64>) -> BoxFuture<'_, parquet::errors::Result<Bytes>> {
        read(&self.0, range)
    }
}

fn read(file: &Arc<VerifiedFile>, range: Range<u64>) -> BoxFuture<'static, parquet::errors::Result<Bytes>> {
    let file = Arc::clone(file);
    async move { file.read(range).await.map_err(|error| ParquetError::External(Box::new(error))) }.boxed()
}

/// An error of the Parquet decoder; our own ones travel inside.
pub(super) fn failed(path: &str, error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<Error>() {
            Ok(error) => *error,
            Err(source) => Error::corrupt(path, source),
        },
        error => Error::corrupt(path, error),
    }
}

/// A run file as the Parquet decoder reads it.
#[derive(Debug, Clone)]
pub struct RunFileReader {
    open: Arc<OpenRun>,
}

impl RunFileReader {
    /// The file that it reads.
    pub fn run(&self) -> &Arc<OpenRun> {
        &self.open
    }
}

impl AsyncFileReader for RunFileReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, parquet::errors::Result<Bytes>> {
        read(&self.open.file, range)
    }

    fn get_metadata<'a>(
        &'a mut self,
        _options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, parquet::errors::Result<Arc<ParquetMetaData>>> {
        std::future::ready(Ok(Arc::clone(self.open.metadata()))).boxed()
    }
}

/// The keys of a block, decoded.
#[derive(Debug)]
pub(super) struct KeyBlock {
    pub partitions: StringArray,
    pub rows: StringArray,
    /// Entities that were read from the file for it.
    pub asked: AtomicU32,
}

/// Entities of a block that are read one by one before its page is decoded whole, which takes as
/// long as several of them.
const ASKED_MAX: u32 = 4;

impl KeyBlock {
    /// An entity is about to be read: true if it is not one of the first ones.
    pub(super) fn asked_again(&self) -> bool {
        // It wraps after four thousand millions, and then a few are read one by one again.
        self.asked.fetch_add(1, Ordering::Relaxed) >= ASKED_MAX
    }

    /// Where in the block a key is; the error is where it would be.
    pub(super) fn find(&self, key: KeyRef<'_>) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.partitions.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(middle) < key { low = middle + 1 } else { high = middle }
        }
        if low < self.partitions.len() && self.key(low) == key { Ok(low) } else { Err(low) }
    }

    fn key(&self, at: usize) -> KeyRef<'_> {
        KeyRef { partition: self.partitions.value(at), row: self.rows.value(at) }
    }

    /// Whether the file has no key where `key` would be: it lies between the key at `at` and the
    /// one before it.
    fn is_before(&self, at: usize, key: KeyRef<'_>) -> bool {
        at > 0 && at < self.partitions.len() && self.key(at - 1) < key && key < self.key(at)
    }

    fn memory_bytes(&self) -> usize {
        self.partitions.get_array_memory_size() + self.rows.get_array_memory_size()
    }
}

/// Two keys of a file that follow one another, so that the file has none between them.
#[derive(Debug)]
pub struct Gap {
    block: Arc<KeyBlock>,
    /// The place of the second one.
    at: usize,
}

impl Gap {
    pub(super) fn new(block: Arc<KeyBlock>, at: usize) -> Self {
        Self { block, at }
    }

    /// Whether a key lies in the gap.
    pub fn holds(&self, key: KeyRef<'_>) -> bool {
        self.block.is_before(self.at, key)
    }

    /// The second one, if the gap holds any key.
    pub fn end(&self) -> KeyRef<'_> {
        self.block.key(self.at)
    }
}

/// The run files of a data folder, with everything cached of them under one bound.
#[derive(Debug)]
pub struct RunFiles {
    store: Arc<dyn FileStore>,
    open: Cache<u64, Arc<OpenRun>, MemoryWeight>,
    /// By file and place of the block.
    pub(super) key_blocks: Cache<(u64, u32), Arc<KeyBlock>, MemoryWeight>,
    /// Decoded pages of all columns, by file and place of the block.
    pub(super) pages: Cache<(u64, u32), Arc<RecordBatch>, MemoryWeight>,
    /// By file and row.
    pub(super) entities: Cache<(u64, u64), Arc<Entity>, MemoryWeight>,
}

impl RunFiles {
    /// `cache_bytes` bounds all that is kept of files: half is for decoded pages of all columns, a
    /// quarter for the keys of pages, the rest for metadata with page indexes and for entities.
    pub fn new(store: Arc<dyn FileStore>, cache_bytes: u64) -> Self {
        // The item count is only where the caches' hash tables start.
        Self {
            store,
            open: Cache::with_weighter(64, cache_bytes / 8, MemoryWeight),
            key_blocks: Cache::with_weighter(1024, cache_bytes / 4, MemoryWeight),
            pages: Cache::with_weighter(256, cache_bytes / 2, MemoryWeight),
            entities: Cache::with_weighter(16 * 1024, cache_bytes / 8, MemoryWeight),
        }
    }

    /// The store that holds the files.
    pub fn store(&self) -> &Arc<dyn FileStore> {
        &self.store
    }

    /// Drops what is cached of a file's metadata, and with it the handle.
    pub fn forget(&self, id: u64) {
        self.open.remove(&id);
    }

    /// A file with its metadata, from the cache if it is there.
    pub async fn open(&self, run: &Arc<RunFile>) -> Result<Arc<OpenRun>> {
        let open = match self.open.get(&run.id) {
            Some(open) if Arc::ptr_eq(&open.run, run) => return Ok(open),
            // The mask has changed, or an older snapshot asks.
            Some(open) => Arc::new(open.described_by(run)),
            None => Arc::new(Box::pin(OpenRun::open(self.store.as_ref(), run)).await?),
        };
        self.open.insert(run.id, Arc::clone(&open));
        Ok(open)
    }
}

/// Cached things weigh what they take in memory.
#[derive(Debug, Clone)]
pub(super) struct MemoryWeight;

impl Weighter<u64, Arc<OpenRun>> for MemoryWeight {
    fn weight(&self, _: &u64, open: &Arc<OpenRun>) -> u64 {
        open.memory_bytes() as u64
    }
}

impl Weighter<(u64, u32), Arc<KeyBlock>> for MemoryWeight {
    fn weight(&self, _: &(u64, u32), block: &Arc<KeyBlock>) -> u64 {
        block.memory_bytes() as u64
    }
}

impl Weighter<(u64, u32), Arc<RecordBatch>> for MemoryWeight {
    fn weight(&self, _: &(u64, u32), page: &Arc<RecordBatch>) -> u64 {
        page.get_array_memory_size() as u64
    }
}

impl Weighter<(u64, u64), Arc<Entity>> for MemoryWeight {
    fn weight(&self, _: &(u64, u64), entity: &Arc<Entity>) -> u64 {
        // Property names are shared; values and their slots are the entity's own.
        let slots = entity.properties().len() * 48 + 160;
        (slots + entity.size_bytes()) as u64
    }
}
