//! How far an export is, and how far the client that reads it is behind.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// An export goes on while its client is so far behind.
const BACKLOG_BYTES_MAX: usize = 1 << 20;

/// What an export has written, for other threads to read.
#[derive(Debug, Default)]
pub(super) struct OutputFlow {
    entities: AtomicU64,
    /// That a client has not taken.
    backlog_bytes: AtomicUsize,
    taken: Notify,
}

impl OutputFlow {
    /// Entities, or rows of a query, written so far.
    pub(super) fn entities(&self) -> u64 {
        self.entities.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, entities: u64) {
        self.entities.fetch_add(entities, Ordering::Relaxed);
    }

    /// Bytes go to a client.
    pub(super) fn give(&self, bytes: usize) {
        self.backlog_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A client has taken them.
    pub(super) fn take(&self, bytes: usize) {
        self.backlog_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.taken.notify_one();
    }

    /// Lets others run: a caller who wants the export to end need not wait for its last row. Waits
    /// while a client is behind.
    pub(super) async fn turn(&self) {
        tokio::task::yield_now().await;
        while self.backlog_bytes.load(Ordering::Relaxed) > BACKLOG_BYTES_MAX {
            self.taken.notified().await;
        }
    }
}
