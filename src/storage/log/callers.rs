//! Whether one task has a store to itself, which may then lead its own group commits.
//!
//! A leading caller blocks its thread for the sync: on few processors other tasks would wait with
//! it, if only to have their requests read.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task;

/// Counts how often the task that uses a store is another one than before.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    last: AtomicU64,
    changes: AtomicU64,
}

impl Callers {
    /// Notes that the running task uses the store. A caller outside of tasks has a thread of its
    /// own, on which nothing else waits.
    pub(crate) fn note(&self) {
        let Some(id) = task::try_id() else { return };
        let caller = BuildHasherDefault::<DefaultHasher>::default().hash_one(id);
        // One that stays the same writes nothing: processors that only read share the line.
        if self.last.load(Ordering::Relaxed) != caller {
            self.last.store(caller, Ordering::Relaxed);
            self.changes.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How often one task has followed another.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }
}
