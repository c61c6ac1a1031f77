//! Between those who write and those who fold.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::storage::error::{Error, Result};
use crate::storage::store::Store;

/// A table with this much in its delta is folded.
const FOLD_VERSIONS: usize = 128 * 1024;
const FOLD_BYTES: u64 = 64 << 20;

/// Who waits for what: writers for room, the maintenance thread for work.
#[derive(Debug)]
pub struct MaintenanceSignals {
    delta_bytes_max: u64,
    state: Mutex<State>,
    work: Condvar,
    folded: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Tables to look at.
    wanted: BTreeSet<u64>,
    stopped: bool,
    /// Why the last fold failed, if it did.
    failure: Option<Arc<str>>,
}

impl MaintenanceSignals {
    pub fn new(delta_bytes_max: u64) -> Self {
        Self { delta_bytes_max, state: Mutex::default(), work: Condvar::new(), folded: Notify::new() }
    }

    /// Asks for a look at a table.
    pub fn want(&self, table: u64) {
        self.state().wanted.insert(table);
        self.work.notify_all();
    }

    /// Waits for work, at most as long as `patience`; `None` once it is over.
    pub fn wait(&self, patience: Duration) -> Option<BTreeSet<u64>> {
        let mut state = self.state();
        if state.wanted.is_empty() && !state.stopped {
            state = self.work.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner).0;
        }
        (!state.stopped).then(|| std::mem::take(&mut state.wanted))
    }

    /// Ends the maintenance: whoever waits for work gets none any more.
    pub fn stop(&self) {
        self.state().stopped = true;
        self.work.notify_all();
        self.folded.notify_waiters();
    }

    pub fn is_stopped(&self) -> bool {
        self.state().stopped
    }

    /// A fold has ended, well or not; writers that wait for room look again.
    pub fn folded(&self, outcome: std::result::Result<(), String>) {
        self.state().failure = outcome.err().map(Arc::from);
        self.folded.notify_waiters();
    }

    /// Why the last fold failed, if it did.
    pub fn failure(&self) -> Option<Arc<str>> {
        self.state().failure.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// Returns when the deltas of these tables have room. Waits for folds where they have not; when those fail, so does this.
    pub(in crate::storage) async fn room_for_writes(&self, tables: impl Iterator<Item = u64>) -> Result<()> {
        let signals = &self.maintenance;
        for table in tables.collect::<BTreeSet<u64>>() {
            loop {
                // Made before looking, so that a fold that ends in between is not missed.
                let folded = signals.folded.notified();
                let full = self
                    .snapshot()
                    .deltas
                    .get(&table)
                    .is_some_and(|delta| delta.memory_bytes() > signals.delta_bytes_max);
                if !full {
                    break;
                }
                if let Some(cause) = signals.failure() {
                    return Err(Error::FoldFails { cause: cause.to_string() });
                }
                if signals.is_stopped() {
                    return Err(Error::FoldFails { cause: "the database is being closed".to_owned() });
                }
                signals.want(table);
                folded.await;
            }
        }
        Ok(())
    }

    /// Asks for a fold of the tables that have enough to fold.
    pub(in crate::storage) fn after_writes(&self, tables: impl Iterator<Item = u64>) {
        let snapshot = self.snapshot();
        for table in tables.collect::<BTreeSet<u64>>() {
            let Some(delta) = snapshot.deltas.get(&table) else { continue };
            if !delta.sealed_generations().is_empty()
                && (delta.len() >= FOLD_VERSIONS || delta.memory_bytes() >= FOLD_BYTES)
            {
                self.maintenance.want(table);
            }
        }
    }
}
