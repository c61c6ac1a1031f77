//! How far decoding has come.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that another thread may read while a source is decoded. One may serve several sources.
#[derive(Debug, Default)]
pub struct Progress {
    bytes_read: AtomicU64,
    entities: AtomicU64,
    rejected: AtomicU64,
}

impl Progress {
    /// Counters at zero.
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

    /// Entities rejected so far.
    pub fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    pub(super) fn add_bytes_read(&self, bytes: u64) {
        self.bytes_read.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn add_entities(&self, entities: u64, rejected: u64) {
        self.entities.fetch_add(entities, Ordering::Relaxed);
        self.rejected.fetch_add(rejected, Ordering::Relaxed);
    }
}
