//! Whether one task has a store to itself.
//!
//! Only then may a caller block its thread to write its own append: on few processors another one
//! would wait for the sync with it, be it only to have its request read.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task;

/// The tasks that use a store, as far as that matters: whether it is always the same one.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    last: AtomicU64,
    changes: AtomicU64,
}

impl Callers {
    /// Notes that the task that runs now uses the store. Who runs outside of tasks has a thread of
    /// its own, and waits for no other.
    pub(crate) fn note(&self) {
        let Some(id) = task::try_id() else { return };
        let caller = BuildHasherDefault::<DefaultHasher>::default().hash_one(id);
        // One that stays the same writes nothing: processors that only read share the line.
        if self.last.load(Ordering::Relaxed) != caller {
            self.last.store(caller, Ordering::Relaxed);
            self.changes.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How often another one came than before.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }
}
