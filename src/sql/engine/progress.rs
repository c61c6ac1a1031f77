//! How far an import has come, for whoever wants to show it.

use std::sync::{Arc, Mutex, PoisonError};

use rowkey_formats::Progress;

/// Counters of an import under way; read them from another thread.
#[derive(Debug, Default)]
pub struct ImportProgress {
    read: Arc<Progress>,
    phase: Mutex<&'static str>,
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

    pub(super) fn decoding(&self) -> &Progress {
        &self.read
    }

    pub(super) fn enter(&self, phase: &'static str) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }
}
