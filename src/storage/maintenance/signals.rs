//! Between those who write and those who fold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::plan::Compaction;
use super::status::TableMaintenance;
use crate::delta::TableDelta;
use crate::error::{Error, Result};
use crate::store::Store;
use crate::write::{Operation, TableHold};
use rowkey_model::DateTime;

/// A table with this much in its delta is folded.
const FOLD_VERSIONS: usize = 128 * 1024;
const FOLD_BYTES: u64 = 64 << 20;

/// This part of a fold is much for the time that one takes: few seconds bring the next one.
const PRESSING_PART: usize = 16;
/// With this part, the next one is near.
const HARD_PRESSING_PART: usize = 4;

/// How it went.
pub(super) type Outcome = std::result::Result<(), Failure>;

/// Why it did not go well.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// In words.
    pub cause: Arc<str>,
    /// Whether the disk is full.
    pub no_space: bool,
}

impl Failure {
    pub(crate) fn of(error: &Error) -> Self {
        Self { cause: Arc::from(error.to_string()), no_space: error.is_no_space() }
    }
}

/// Whether there is enough to fold.
pub(super) fn is_due(delta: &Arc<TableDelta>) -> bool {
    !delta.sealed_generations().is_empty() && (delta.len() >= FOLD_VERSIONS || delta.memory_bytes() >= FOLD_BYTES)
}

/// What a compaction should do: it depends on how much has come while a fold was at work, which
/// takes some tenths of a second.
pub(super) fn compaction_beside(delta: &Arc<TableDelta>) -> Compaction {
    let has = |part: usize| delta.len() >= FOLD_VERSIONS / part || delta.memory_bytes() >= FOLD_BYTES / part as u64;
    if has(HARD_PRESSING_PART) {
        Compaction::HardPressed
    } else if has(PRESSING_PART) {
        Compaction::Pressed
    } else {
        Compaction::Thorough
    }
}

/// Who waits for what: writers for room, the maintenance thread for work.
#[derive(Debug)]
pub(crate) struct MaintenanceSignals {
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
    /// By table, how folds and compactions went.
    tables: BTreeMap<u64, TableMaintenance>,
    /// Tables whose last fold failed, and why.
    unfolded: BTreeMap<u64, Failure>,
    /// Why the last checkpoint failed, if it did.
    checkpoint_failure: Option<Arc<str>>,
}

impl MaintenanceSignals {
    pub(crate) fn new(delta_bytes_max: u64) -> Self {
        Self { delta_bytes_max, state: Mutex::default(), work: Condvar::new(), folded: Notify::new() }
    }

    /// Asks for a look at a table.
    pub(crate) fn want(&self, table: u64) {
        self.state().wanted.insert(table);
        self.work.notify_all();
    }

    /// Waits for work, at most as long as `patience`; `None` once it is over.
    pub(crate) fn wait(&self, patience: Duration) -> Option<BTreeSet<u64>> {
        let mut state = self.state();
        if state.wanted.is_empty() && !state.stopped {
            state = self.work.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner).0;
        }
        (!state.stopped).then(|| std::mem::take(&mut state.wanted))
    }

    /// Ends the maintenance: whoever waits for work gets none any more.
    pub(crate) fn stop(&self) {
        self.state().stopped = true;
        self.work.notify_all();
        self.folded.notify_waiters();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.state().stopped
    }

    /// A fold has ended, well or not; writers that wait for room look again.
    pub(crate) fn folded(&self, table: u64, outcome: Outcome, now: DateTime) {
        {
            let mut state = self.state();
            match &outcome {
                Ok(()) => state.unfolded.remove(&table),
                Err(failure) => state.unfolded.insert(table, failure.clone()),
            };
            let entry = state.tables.entry(table).or_default();
            if outcome.is_ok() {
                entry.folds += 1;
                entry.last_fold = Some(now);
            }
            entry.failure = outcome.err().map(|failure| (failure.cause, now));
        }
        self.folded.notify_waiters();
    }

    /// There may be room without a fold, as after a TRUNCATE.
    pub(crate) fn look_again(&self) {
        self.folded.notify_waiters();
    }

    /// Whether writers wait for a fold of this delta.
    pub(crate) fn is_full(&self, delta: &TableDelta) -> bool {
        delta.memory_bytes() > self.delta_bytes_max
    }

    /// A step of a compaction has ended, well or not.
    pub(crate) fn compacted(&self, table: u64, outcome: Outcome, now: DateTime) {
        let mut state = self.state();
        let entry = state.tables.entry(table).or_default();
        if outcome.is_ok() {
            entry.compactions += 1;
            entry.last_compaction = Some(now);
        }
        entry.failure = outcome.err().map(|failure| (failure.cause, now));
    }

    /// Why the last fold of a table failed, if it did.
    pub(crate) fn failure(&self, table: u64) -> Option<Failure> {
        self.state().unfolded.get(&table).cloned()
    }

    /// How it went, by table.
    pub(crate) fn tables(&self) -> BTreeMap<u64, TableMaintenance> {
        self.state().tables.clone()
    }

    /// Forgets tables that are gone.
    pub(crate) fn retain(&self, exists: impl Fn(u64) -> bool) {
        let mut state = self.state();
        state.tables.retain(|table, _| exists(*table));
        state.unfolded.retain(|table, _| exists(*table));
    }

    /// A checkpoint was due; how that went.
    pub(crate) fn checkpointed(&self, outcome: Outcome) {
        self.state().checkpoint_failure = outcome.err().map(|failure| failure.cause);
    }

    /// Why the last checkpoint failed, if it did.
    pub(crate) fn checkpoint_failure(&self) -> Option<Arc<str>> {
        self.state().checkpoint_failure.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// Returns when nobody else holds the tables that some operations write to, and their deltas
    /// have room. Waits for folds where they have not; when those fail, so does this.
    pub async fn wait_for_room(&self, operations: &[Operation<'_>], hold: Option<&TableHold>) -> Result<()> {
        self.room_for_writes(operations.iter().map(|operation| operation.table), hold).await
    }

    /// The same for some tables.
    pub(crate) async fn room_for_writes(
        &self,
        tables: impl Iterator<Item = u64>,
        hold: Option<&TableHold>,
    ) -> Result<()> {
        let signals = &self.maintenance;
        for table in changes_of(tables) {
            self.not_held(table, hold).await;
            loop {
                // Made before looking, so that a fold that ends in between is not missed.
                let folded = signals.folded.notified();
                if !self.snapshot().deltas.get(&table).is_some_and(|delta| signals.is_full(delta)) {
                    break;
                }
                if let Some(Failure { cause, no_space }) = signals.failure(table) {
                    return Err(Error::FoldFails { cause: cause.to_string(), no_space });
                }
                if signals.is_stopped() {
                    let cause = "the database is being closed".to_owned();
                    return Err(Error::FoldFails { cause, no_space: false });
                }
                signals.want(table);
                folded.await;
            }
        }
        Ok(())
    }

    /// Asks for a fold of the tables that have enough to fold.
    pub(crate) fn after_writes(&self, tables: impl Iterator<Item = u64>) {
        let snapshot = self.snapshot();
        for table in changes_of(tables) {
            let Some(delta) = snapshot.deltas.get(&table) else { continue };
            if is_due(delta) {
                self.maintenance.want(table);
            }
        }
    }
}

/// The tables without those that come again at once: most writes are to one.
fn changes_of(tables: impl Iterator<Item = u64>) -> impl Iterator<Item = u64> {
    let mut before = None;
    tables.filter(move |table| before.replace(*table) != Some(*table))
}
