//! What commits have unlinked from the newest state, and older snapshots may still read.
//!
//! It is reclaimed by those who fold and commit definitions, never by who reads: the last snapshot
//! of a large delta may end on a thread that serves sockets, where freeing hundreds of thousands of
//! versions would hold up all others.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::catalog::Catalog;
use crate::delta::{Deltas, Generation};
use crate::run::{RunFile, RunFiles};

/// What the state after a commit has no more.
#[derive(Debug, Default)]
pub struct Unlinked {
    pub(super) files: Vec<Arc<RunFile>>,
    pub(super) generations: Vec<Arc<Generation>>,
}

impl Unlinked {
    /// What the state before has and the one after it has not.
    pub(crate) fn between(before: (&Catalog, &Deltas), after: (&Catalog, &Deltas)) -> Self {
        Self { files: files_between(before.0, after.0), generations: generations_between(before.1, after.1) }
    }
}

fn files_between(before: &Catalog, after: &Catalog) -> Vec<Arc<RunFile>> {
    let kept: HashSet<u64> = after.tables().flat_map(|table| table.manifest.files()).map(|file| file.id).collect();
    let files = before.tables().flat_map(|table| table.manifest.files());
    files.filter(|file| !kept.contains(&file.id)).cloned().collect()
}

fn generations_between(before: &Deltas, after: &Deltas) -> Vec<Arc<Generation>> {
    let mut unlinked = Vec::new();
    for (table, delta) in before {
        let after = after.get(table);
        if after.is_some_and(|after| Arc::ptr_eq(after, delta)) {
            continue;
        }
        let kept: HashSet<_> = after.iter().flat_map(|after| after.generations()).map(Arc::as_ptr).collect();
        unlinked.extend(delta.generations().filter(|generation| !kept.contains(&Arc::as_ptr(generation))).cloned());
    }
    unlinked
}

/// Holds what is unlinked until no snapshot reaches it.
#[derive(Debug, Default)]
pub(super) struct Reclaimer(Mutex<Unlinked>);

impl Reclaimer {
    pub(super) fn retire(&self, unlinked: Unlinked) {
        let Unlinked { files, generations } = unlinked;
        let mut retired = self.retired();
        retired.files.extend(files);
        retired.generations.extend(generations);
    }

    /// Whether memory waits for snapshots to end.
    pub(super) fn holds_memory(&self) -> bool {
        !self.retired().generations.is_empty()
    }

    /// Removes and frees what no snapshot can reach any more. A file that cannot be removed now is
    /// swept at the next opening.
    pub(super) fn reclaim(&self, files: &RunFiles) {
        let mut retired = self.retired();
        retired.files.retain(|file| {
            files.forget(file.id);
            // The same description, or another one of the file.
            let reachable = Arc::strong_count(file) > 1 || file.holders.count() > 1;
            if !reachable {
                let _ = files.store().remove(&file.path);
            }
            reachable
        });
        let unreachable: Vec<_> =
            retired.generations.extract_if(.., |generation| Arc::strong_count(generation) == 1).collect();
        // They are freed outside the lock.
        drop(retired);
        drop(unreachable);
    }

    fn retired(&self) -> MutexGuard<'_, Unlinked> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
