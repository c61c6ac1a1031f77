//! How a store is opened.

use super::log::{Durability, SegmentBytes};

/// Encoded bytes of the entities of one run file by default: some tens of megabytes of Parquet.
pub const FILE_BYTES: usize = 128 << 20;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Bound of everything cached of files, in bytes.
    pub cache_bytes: u64,
    /// How long segments of the log are.
    pub segment_bytes: SegmentBytes,
    /// A checkpoint is made once this many bytes of records follow the last one.
    pub checkpoint_after_bytes: u64,
    /// Memory of one table's recent writes, in bytes, beyond which writers wait for the fold.
    pub delta_bytes_max: u64,
    /// Encoded bytes of the entities of one run file: a writer buffers the entities of two.
    pub file_bytes: usize,
    /// When single writes are acknowledged; everything else is synced first.
    pub durability: Durability,
    /// Leave everything as it is: for object stores, and beside others who read.
    pub read_only: bool,
    /// Leave run files that the catalog does not name where they are:
    /// [`Store::unnamed_files`](crate::Store::unnamed_files) lists them.
    pub keep_unnamed: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            cache_bytes: 256 << 20,
            segment_bytes: SegmentBytes { min: 1 << 20, max: 16 << 20 },
            checkpoint_after_bytes: 1 << 20,
            delta_bytes_max: 128 << 20,
            file_bytes: FILE_BYTES,
            durability: Durability::Sync,
            read_only: false,
            keep_unnamed: false,
        }
    }
}
