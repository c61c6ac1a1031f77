//! When a table is folded and compacted without being asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::Maintenance;
use super::jobs::Work;
use super::plan::{Compaction, next_rewrite};
use super::pressure::{compaction_beside, is_due};
use super::stalls::{Failure, Outcome};
use crate::delta::TableDelta;
use crate::error::{Error, Result};

/// How often tables are looked at without being asked.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How often tables are looked at whose compaction was put off.
const PUT_OFF: Duration = Duration::from_secs(1);
/// How often what was unlinked is looked at, while snapshots still reach it.
const RETIRED: Duration = Duration::from_secs(1);
/// A table to which nothing was written for so long is folded.
const QUIET: Duration = Duration::from_secs(60);
/// A log of so many bytes is shortened: the tables that hold it back are folded.
const LOG_BYTES_MAX: u64 = 64 << 20;
/// Between two attempts at a table that another job has.
const BUSY_PAUSE: Duration = Duration::from_secs(1);
/// Between two attempts after a failure, at first and at most.
const FAILURE_PAUSE_MIN: Duration = Duration::from_secs(1);
const FAILURE_PAUSE_MAX: Duration = Duration::from_secs(60);
/// At most where the disk is full: writers are refused until there is room.
const NO_SPACE_PAUSE_MAX: Duration = Duration::from_secs(4);

/// Folds and compacts the tables of a store.
#[derive(Debug)]
pub struct Maintainer {
    maintenance: Maintenance,
    file_bytes: usize,
    log_bytes_max: u64,
    /// By table: its last write when it was looked at, and since when there was no later one.
    seen: BTreeMap<u64, (u64, Duration)>,
    /// By table: when to try again, and the pause after the failure behind that.
    again: BTreeMap<u64, (Duration, Duration)>,
    /// Tables whose compaction waits until writes press no more.
    put_off: BTreeSet<u64>,
}

impl Maintainer {
    pub(crate) fn of(maintenance: Maintenance, file_bytes: usize) -> Self {
        Self::with_sizes(maintenance, file_bytes, LOG_BYTES_MAX)
    }

    pub(super) fn with_sizes(maintenance: Maintenance, file_bytes: usize, log_bytes_max: u64) -> Self {
        Self {
            maintenance,
            file_bytes,
            log_bytes_max,
            seen: BTreeMap::new(),
            again: BTreeMap::new(),
            put_off: BTreeSet::new(),
        }
    }

    /// Works until [`Store::stop_maintenance`](crate::Store::stop_maintenance). Blocks.
    pub fn run(mut self) {
        while let Some(wanted) = self.maintenance.stalls.wait(self.pause()) {
            let wanted = self.still_wanted(wanted);
            self.round(wanted);
        }
    }

    /// Without the tables that were folded since they were asked for: what has come in since then
    /// would be a small file.
    pub(super) fn still_wanted(&self, wanted: BTreeSet<u64>) -> BTreeSet<u64> {
        let snapshot = self.maintenance.state.snapshot();
        let signals = &self.maintenance.stalls;
        let has_enough = |delta: &Arc<TableDelta>| is_due(delta) || signals.is_full(delta);
        let (wanted, folded): (BTreeSet<u64>, BTreeSet<u64>) =
            wanted.into_iter().partition(|table| snapshot.deltas.get(table).is_some_and(has_enough));
        if !folded.is_empty() {
            signals.look_again();
        }
        wanted
    }

    pub(super) fn pause(&self) -> Duration {
        let now = self.maintenance.state.clock().elapsed();
        let next = self.again.values().map(|(at, _)| at.saturating_sub(now)).min();
        let mut longest = if self.put_off.is_empty() { LOOK_EVERY } else { PUT_OFF };
        if self.maintenance.state.holds_retired_memory() {
            longest = longest.min(RETIRED);
        }
        next.map_or(longest, |next| next.clamp(Duration::from_millis(10), longest))
    }

    /// Folds and compacts the tables that were asked for, and those that are due by themselves.
    pub(super) fn round(&mut self, wanted: BTreeSet<u64>) {
        let now = self.maintenance.state.clock().elapsed();
        let snapshot = self.maintenance.state.snapshot();
        let exists = |table: u64| snapshot.table(table).is_some();
        self.seen.retain(|table, _| exists(*table));
        self.again.retain(|table, _| exists(*table));
        self.put_off.retain(|table| exists(*table));
        self.maintenance.stalls.retain(exists);
        let held_back = self.holding_back_the_log(&snapshot.deltas);
        let mut due = Vec::new();
        for (&table, delta) in snapshot.deltas.iter() {
            let quiet = self.is_quiet(table, delta, now);
            let waits = self.put_off.contains(&table) && compaction_beside(delta) == Compaction::Thorough;
            let wanted = is_due(delta) || wanted.contains(&table) || quiet || waits || held_back == Some(table);
            // After a failure there is a pause, and then it is tried again without being asked.
            if self.again.get(&table).map_or(wanted, |(at, _)| *at <= now) {
                due.push(table);
            }
        }
        // What it holds must not stay in memory or on disk for as long as the work takes.
        drop(snapshot);
        for table in due {
            self.fold_with_retry(table);
            if self.maintenance.stalls.is_stopped() {
                return;
            }
        }
        self.maintenance.state.reclaim();
    }

    /// The table with the oldest write that is not in run files, if the log is too long.
    fn holding_back_the_log(&self, deltas: &BTreeMap<u64, Arc<TableDelta>>) -> Option<u64> {
        if self.maintenance.state.uncovered_log_bytes() <= self.log_bytes_max {
            return None;
        }
        let oldest = deltas.iter().filter_map(|(table, delta)| Some((delta.first_sequence()?, *table))).min();
        oldest.map(|(_, table)| table)
    }

    fn is_quiet(&mut self, table: u64, delta: &TableDelta, now: Duration) -> bool {
        if delta.is_empty() {
            self.seen.remove(&table);
            return false;
        }
        let last = delta.last_sequence();
        let (seen, since) = self.seen.entry(table).or_insert((last, now));
        if *seen != last {
            (*seen, *since) = (last, now);
        }
        now.saturating_sub(*since) >= QUIET
    }

    fn fold_with_retry(&mut self, table: u64) {
        let now = self.maintenance.state.clock().elapsed();
        match self.fold_and_compact(table) {
            Ok(()) => {
                self.again.remove(&table);
            }
            Err(Error::Busy(_)) => {
                self.again.insert(table, (now + BUSY_PAUSE, Duration::ZERO));
            }
            // Dropped or emptied meanwhile, or the store is being closed.
            Err(Error::NoSuchTable(_) | Error::Closing) => {}
            Err(error) => {
                let longest = if error.is_no_space() { NO_SPACE_PAUSE_MAX } else { FAILURE_PAUSE_MAX };
                let before = self.again.get(&table).map_or(Duration::ZERO, |(_, pause)| *pause);
                let pause = (before * 2).clamp(FAILURE_PAUSE_MIN, longest);
                self.again.insert(table, (self.maintenance.state.clock().elapsed() + pause, pause));
            }
        }
    }

    fn fold_and_compact(&mut self, table: u64) -> Result<()> {
        let maintenance = self.maintenance.clone();
        let (state, stalls) = (&maintenance.state, &maintenance.stalls);
        let job = {
            let named = maintenance.table(table)?;
            maintenance.claim(&named.account, &named.name, Work::Fold, false)?
        };
        let mut had_stalled = self.fold(table)?;
        loop {
            job.goes_on_with(Work::Compaction, state.clock().now());
            // Writers that stalled have written nothing meanwhile, but begin again at once.
            let compaction = match had_stalled {
                true => Compaction::HardPressed,
                false => state.snapshot().deltas.get(&table).map_or(Compaction::Thorough, compaction_beside),
            };
            let step = maintenance.compact_step(table, self.file_bytes, compaction);
            if let Ok(None) = &step {
                self.note_put_off(table, compaction != Compaction::Thorough)?;
                return Ok(());
            }
            stalls.compacted(table, outcome(&step), state.clock().now());
            step?;
            // Writers must not wait for all of a long compaction.
            let due = state.snapshot().deltas.get(&table).is_some_and(is_due);
            if due {
                job.goes_on_with(Work::Fold, state.clock().now());
            }
            had_stalled = due && self.fold(table)?;
        }
    }

    /// Remembers whether there is something left to do once writes press no more.
    pub(super) fn note_put_off(&mut self, table: u64, pressed: bool) -> Result<()> {
        let manifest = &self.maintenance.table(table)?.manifest;
        if pressed && next_rewrite(manifest, self.file_bytes as u64, Compaction::Thorough).is_some() {
            self.put_off.insert(table);
        } else {
            self.put_off.remove(&table);
        }
        Ok(())
    }

    /// True if writers were stalled when it began.
    fn fold(&self, table: u64) -> Result<bool> {
        let signals = &self.maintenance.stalls;
        let snapshot = self.maintenance.state.snapshot();
        let delta = snapshot.deltas.get(&table);
        let is_full = delta.is_some_and(|delta| signals.is_full(delta));
        if delta.is_some_and(|delta| delta.is_empty()) {
            signals.look_again();
            return Ok(false);
        }
        // Its memory is to be free when the fold ends.
        drop(snapshot);
        let folded = self.maintenance.fold(table);
        signals.folded(table, outcome(&folded), self.maintenance.state.clock().now());
        folded.map(|_| is_full)
    }
}

fn outcome<T>(result: &Result<T>) -> Outcome {
    result.as_ref().map(|_| ()).map_err(Failure::of)
}
