//! Manifests that jobs leave as they are for a while.
//!
//! A write looks its keys up in run files before it is committed, and anew where a job has
//! committed others meanwhile. One whose look-ups take longer than jobs do would never come to its
//! end beside jobs that follow one another: after some attempts it holds the manifest, and jobs
//! wait.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a job waits at most: a write that takes longer begins anew.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// How many writes hold each table's manifest.
#[derive(Debug, Default)]
pub(crate) struct ManifestHolds {
    held: Mutex<BTreeMap<u64, usize>>,
    released: Condvar,
}

/// A table's manifest, held until this is dropped.
#[derive(Debug)]
pub(crate) struct ManifestHold {
    holds: Arc<ManifestHolds>,
    table: u64,
}

impl ManifestHolds {
    pub(crate) fn hold(self: &Arc<Self>, table: u64) -> ManifestHold {
        *self.held().entry(table).or_default() += 1;
        ManifestHold { holds: Arc::clone(self), table }
    }

    /// Returns when no write holds a table's manifest, or after a while. Blocks.
    pub(crate) fn wait(&self, table: u64) {
        let is_held = |held: &mut BTreeMap<u64, usize>| held.contains_key(&table);
        let waited = self.released.wait_timeout_while(self.held(), WAIT_MAX, is_held);
        drop(waited.map_err(PoisonError::into_inner));
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<u64, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ManifestHold {
    fn drop(&mut self) {
        let mut held = self.holds.held();
        if let Some(count) = held.get_mut(&self.table) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.table);
                self.holds.released.notify_all();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn a_job_waits_for_the_writes_that_hold_its_table() {
        let holds = Arc::new(ManifestHolds::default());
        let (first, second) = (holds.hold(1), holds.hold(1));
        holds.wait(2);
        let (waited, has_waited) = mpsc::channel();
        let waiting = Arc::clone(&holds);
        let job = thread::spawn(move || {
            waiting.wait(1);
            waited.send(()).expect("awaited");
        });
        drop(first);
        assert!(has_waited.recv_timeout(Duration::from_millis(50)).is_err(), "one is left");
        drop(second);
        has_waited.recv().expect("goes on");
        job.join().expect("ends");
    }
}
