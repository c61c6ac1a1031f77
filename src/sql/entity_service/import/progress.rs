//! How far an import has come, and its cancellation.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rowkey_base::{Error, Result, SqlState};
use rowkey_formats::Progress;

/// Counters of an import under way; read them from another thread.
#[derive(Debug, Default)]
pub struct ImportProgress {
    read: Arc<Progress>,
    phase: Mutex<&'static str>,
    cancelled: AtomicBool,
}

impl ImportProgress {
    pub fn new() -> Self {
        Self::default()
    }

    /// Entities decoded so far.
    pub fn entities(&self) -> u64 {
        self.read.entities()
    }

    /// Bytes of the inputs read so far.
    pub fn bytes(&self) -> u64 {
        self.read.bytes_read()
    }

    /// What is being done: `reading`, `merging` or `writing`; nothing before it begins.
    pub fn phase(&self) -> &'static str {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the import to end with an error before it commits; its table stays as it is. What is
    /// being committed is committed.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub(super) fn refuse_if_cancelled(&self) -> Result<()> {
        match self.cancelled.load(Ordering::Relaxed) {
            true => Err(Error::new(SqlState::QUERY_CANCELED, "the import was cancelled, its table is as it was")),
            false => Ok(()),
        }
    }

    pub(super) fn decoding(&self) -> &Progress {
        &self.read
    }

    pub(super) fn enter(&self, phase: &'static str) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }
}
