//! Numbers of run files to be written.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Hands out the numbers of run files. Clones share the counter.
#[derive(Debug, Clone)]
pub struct FileIds(Arc<AtomicU64>);

impl FileIds {
    /// Numbers from this one on.
    pub(crate) fn from(next: u64) -> Self {
        Self(Arc::new(AtomicU64::new(next)))
    }

    /// A number that no file has.
    pub fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    /// No file handed out from now on has a smaller number.
    pub fn lower_bound(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
