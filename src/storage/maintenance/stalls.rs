//! Write stalls: writers that outrun the fold of a table wait for it.
//!
//! The maintenance thread waits here for tables to fold, writers for room in the delta of theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::pressure::is_due;
use super::status::TableMaintenance;
use crate::delta::TableDelta;
use crate::error::{Error, Result};
use crate::state::State;
use rowkey_model::DateTime;

/// How a fold or a step of a compaction went.
pub(super) type Outcome = std::result::Result<(), Failure>;

/// Why one failed.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    /// In words.
    pub cause: Arc<str>,
    /// Whether the disk is full.
    pub no_space: bool,
}

impl Failure {
    pub(super) fn of(error: &Error) -> Self {
        Self { cause: Arc::from(error.to_string()), no_space: error.is_no_space() }
    }
}

/// The back-pressure between writers and the maintenance thread.
#[derive(Debug)]
pub(crate) struct WriteStalls {
    delta_bytes_max: u64,
    signals: Mutex<Signals>,
    /// There are tables to fold, or maintenance has ended.
    work: Condvar,
    /// A fold has ended.
    folded: Notify,
}

#[derive(Debug, Default)]
struct Signals {
    /// Tables that the maintenance thread is asked to fold.
    wanted: BTreeSet<u64>,
    stopped: bool,
    /// By table, how folds and compactions went.
    tables: BTreeMap<u64, TableMaintenance>,
    /// Tables whose last fold failed, and why.
    unfolded: BTreeMap<u64, Failure>,
}

impl WriteStalls {
    pub(crate) fn new(delta_bytes_max: u64) -> Self {
        Self { delta_bytes_max, signals: Mutex::default(), work: Condvar::new(), folded: Notify::new() }
    }

    /// Asks for a fold of a table that was written to, if there is enough to fold.
    pub(crate) fn fold_if_due(&self, table: u64, delta: &Arc<TableDelta>) {
        if is_due(delta) {
            self.want(table);
        }
    }

    /// Returns when the delta of a table has room. A writer stalls until a fold has made it; when
    /// that fails, so does this.
    pub(crate) async fn wait_for_room(&self, state: &State, table: u64) -> Result<()> {
        loop {
            // Made before looking, so that a fold that ends in between is not missed.
            let folded = self.folded.notified();
            if !state.snapshot().deltas.get(&table).is_some_and(|delta| self.is_full(delta)) {
                return Ok(());
            }
            if let Some(Failure { cause, no_space }) = self.failure(table) {
                return Err(Error::FoldFails { cause: cause.to_string(), no_space });
            }
            if self.is_stopped() {
                let cause = "the database is being closed".to_owned();
                return Err(Error::FoldFails { cause, no_space: false });
            }
            self.want(table);
            folded.await;
        }
    }

    /// Asks for a fold of a table.
    fn want(&self, table: u64) {
        self.signals().wanted.insert(table);
        self.work.notify_all();
    }

    /// Waits for work, at most so long; `None` once maintenance has ended.
    pub(super) fn wait(&self, timeout: Duration) -> Option<BTreeSet<u64>> {
        let mut signals = self.signals();
        if signals.wanted.is_empty() && !signals.stopped {
            signals = self.work.wait_timeout(signals, timeout).unwrap_or_else(PoisonError::into_inner).0;
        }
        (!signals.stopped).then(|| std::mem::take(&mut signals.wanted))
    }

    /// Ends maintenance: the thread gets no more work, and stalled writers are refused.
    pub(super) fn stop(&self) {
        self.signals().stopped = true;
        self.work.notify_all();
        self.folded.notify_waiters();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.signals().stopped
    }

    /// A fold has ended, well or not; stalled writers look again.
    pub(super) fn folded(&self, table: u64, outcome: Outcome, now: DateTime) {
        {
            let mut signals = self.signals();
            match &outcome {
                Ok(()) => signals.unfolded.remove(&table),
                Err(failure) => signals.unfolded.insert(table, failure.clone()),
            };
            let entry = signals.tables.entry(table).or_default();
            if outcome.is_ok() {
                entry.folds += 1;
                entry.last_fold = Some(now);
            }
            entry.failure = outcome.err().map(|failure| (failure.cause, now));
        }
        self.folded.notify_waiters();
    }

    /// There may be room without a fold, as after a TRUNCATE.
    pub(super) fn look_again(&self) {
        self.folded.notify_waiters();
    }

    /// Whether writers wait for a fold of this delta.
    pub(super) fn is_full(&self, delta: &TableDelta) -> bool {
        delta.memory_bytes() > self.delta_bytes_max
    }

    /// A step of a compaction has ended, well or not.
    pub(super) fn compacted(&self, table: u64, outcome: Outcome, now: DateTime) {
        let mut signals = self.signals();
        let entry = signals.tables.entry(table).or_default();
        if outcome.is_ok() {
            entry.compactions += 1;
            entry.last_compaction = Some(now);
        }
        entry.failure = outcome.err().map(|failure| (failure.cause, now));
    }

    /// Why the last fold of a table failed, if it did.
    pub(super) fn failure(&self, table: u64) -> Option<Failure> {
        self.signals().unfolded.get(&table).cloned()
    }

    /// How it went, by table.
    pub(super) fn tables(&self) -> BTreeMap<u64, TableMaintenance> {
        self.signals().tables.clone()
    }

    /// Forgets tables that are gone.
    pub(super) fn retain(&self, exists: impl Fn(u64) -> bool) {
        let mut signals = self.signals();
        signals.tables.retain(|table, _| exists(*table));
        signals.unfolded.retain(|table, _| exists(*table));
    }

    fn signals(&self) -> MutexGuard<'_, Signals> {
        self.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
