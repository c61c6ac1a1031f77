//! Decoding a source into chunks of rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::{Error, Reject};
use super::format::Format;
use super::source::Source;
use super::{azurite, parquet, service_json, typed_csv};
use crate::rows::{PropertyNames, Rows};

/// Most rejects that a chunk lists; beyond it they are only counted.
pub const REJECTS_LISTED_MAX: usize = 1000;

/// How to decode.
#[derive(Debug, Clone, Copy)]
pub struct DecodeOptions {
    /// Threads that decode, beside the calling one that runs the sink.
    pub threads: usize,
    /// Input text that makes a chunk, in bytes. About twice as many chunks as threads are in memory.
    pub chunk_bytes: usize,
}

impl Default for DecodeOptions {
    /// One thread for each processor, and chunks of a megabyte.
    fn default() -> Self {
        Self { threads: std::thread::available_parallelism().map_or(1, |n| n.get()), chunk_bytes: 1 << 20 }
    }
}

/// Counters that another thread may read while a source is decoded. One may serve several sources.
#[derive(Debug, Default)]
pub struct Progress {
    bytes_read: AtomicU64,
    entities: AtomicU64,
    rejected: AtomicU64,
}

impl Progress {
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes of input read so far. (Of a Parquet file the compressed size of the row groups begun.)
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Entities given to the sink so far.
    pub fn entities(&self) -> u64 {
        self.entities.load(Ordering::Relaxed)
    }

    pub fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    pub(super) fn add_bytes_read(&self, bytes: u64) {
        self.bytes_read.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A stretch of the input, decoded. The rows are sorted by key (ties in the order of the input).
#[derive(Debug, Default)]
pub struct Chunk {
    pub rows: Rows,
    /// The first [`REJECTS_LISTED_MAX`] entities not taken, in the order of the input.
    pub rejects: Vec<Reject>,
    /// All entities not taken.
    pub rejected: u64,
}

impl Chunk {
    pub(super) fn reject(&mut self, reject: impl FnOnce() -> Reject) {
        self.rejected += 1;
        if self.rejects.len() < REJECTS_LISTED_MAX {
            self.rejects.push(reject());
        }
    }
}

/// What a source held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub entities: u64,
    pub rejected: u64,
}

/// Decodes a source and gives its chunks to `sink`, on the calling thread and in the order of the input. An error of
/// the sink ends the decoding and is returned.
pub fn decode<E: From<Error>>(
    source: Source,
    format: Format,
    names: &Arc<PropertyNames>,
    options: &DecodeOptions,
    progress: &Progress,
    sink: &mut dyn FnMut(Chunk) -> Result<(), E>,
) -> Result<Counts, E> {
    let mut counts = Counts::default();
    let mut counting = |chunk: Chunk| {
        let (entities, rejected) = (chunk.rows.len() as u64, chunk.rejected);
        counts.entities += entities;
        counts.rejected += rejected;
        progress.entities.fetch_add(entities, Ordering::Relaxed);
        progress.rejected.fetch_add(rejected, Ordering::Relaxed);
        sink(chunk)
    };
    match format {
        Format::ServiceJson => service_json::decode(source, names, options, progress, &mut counting)?,
        Format::Parquet => parquet::decode(source, names, options, progress, &mut counting)?,
        Format::TypedCsv => typed_csv::decode(source, names, options, progress, &mut counting)?,
        Format::AzuriteDatabase => azurite::decode(source, names, options, progress, &mut counting)?,
    }
    Ok(counts)
}
