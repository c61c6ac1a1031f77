//! What statements have cost, by their normalized texts: `rowkey.access_statistics` and
//! `pg_stat_statements`.
//!
//! A prepared statement keeps its entry, so that the next run of it adds to counters and no more.
//! The entries are bounded in number and length; where they are too many, those that ran least go.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use datafusion::physical_plan::ExecutionPlan;
use tokio::time::Instant;

use crate::access::AccessPath;
use crate::provider::{ReadTotals, scans_of};
use rowkey_base::clock::timer_now;
use rowkey_postgres::syntax::{Normalized, normalized};

#[cfg(test)]
mod tests;

/// As many as `pg_stat_statements.max` is by default.
const STATEMENTS_MAX: usize = 5_000;
/// One of so many goes at a time.
const EVICTED_PART: usize = 20;

/// The statements of all sessions.
#[derive(Debug, Default)]
pub(crate) struct StatementStatistics {
    entries: Mutex<HashMap<Arc<Statement>, Arc<StatementEntry>>>,
}

/// What one entry is about.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Statement {
    account: String,
    /// A hash of the normalized text, whatever the case of its words.
    id: i64,
}

/// A statement and its counters.
#[derive(Debug)]
pub(crate) struct StatementEntry {
    statement: Arc<Statement>,
    /// As it was written first.
    text: String,
    totals: Mutex<StatementTotals>,
    /// False where it was evicted or reset since it ran last.
    is_listed: AtomicBool,
}

/// What all runs of a statement have cost. Runs that failed do not count.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct StatementTotals {
    pub calls: u64,
    pub total: Duration,
    pub least: Duration,
    pub most: Duration,
    /// Of milliseconds: the sum of the squares of their differences from the mean.
    squares: f64,
    /// Returned, or written.
    pub rows: u64,
    pub reads: ReadTotals,
}

impl StatementTotals {
    fn add(&mut self, took: Duration, rows: u64, reads: ReadTotals) {
        let before = self.mean_ms();
        self.calls += 1;
        self.total += took;
        self.least = if self.calls == 1 { took } else { self.least.min(took) };
        self.most = self.most.max(took);
        self.squares += (milliseconds(took) - before) * (milliseconds(took) - self.mean_ms());
        self.rows += rows;
        self.reads += reads;
    }

    pub(crate) fn mean_ms(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { milliseconds(self.total) / self.calls as f64 }
    }

    /// Of all runs, in milliseconds.
    pub(crate) fn standard_deviation_ms(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { (self.squares / self.calls as f64).sqrt() }
    }
}

pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// What a statement has cost.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StatementCost {
    /// A hash of the normalized text.
    pub id: i64,
    pub text: String,
    pub totals: StatementTotals,
}

impl StatementStatistics {
    /// The entry of a statement of an account.
    pub(crate) fn entry(&self, account: &str, text: &str) -> Arc<StatementEntry> {
        let Normalized { text, folded } = normalized(text);
        let statement = Arc::new(Statement { account: account.to_owned(), id: id_of(&folded) });
        let mut entries = self.entries();
        if let Some(entry) = entries.get(&statement) {
            return Arc::clone(entry);
        }
        let is_listed = AtomicBool::new(false);
        let entry = Arc::new(StatementEntry { statement, text, totals: Mutex::default(), is_listed });
        self.list(&mut entries, &entry);
        entry
    }

    /// A statement that begins to run now.
    pub(crate) fn begin(self: &Arc<Self>, entry: Arc<StatementEntry>) -> RunningStatement {
        RunningStatement { statistics: Arc::clone(self), entry, began: timer_now(), returns_rows: true }
    }

    /// Those of an account that have run, the most expensive ones first.
    pub(crate) fn costs(&self, account: &str) -> Vec<StatementCost> {
        let of_account = |entry: &&Arc<StatementEntry>| entry.statement.account == account;
        let entries: Vec<_> = self.entries().values().filter(of_account).map(Arc::clone).collect();
        let cost = |entry: Arc<StatementEntry>| StatementCost {
            id: entry.statement.id,
            text: entry.text.clone(),
            totals: *entry.totals(),
        };
        let mut costs: Vec<_> = entries.into_iter().map(cost).filter(|cost| cost.totals.calls > 0).collect();
        costs.sort_by(|a, b| b.totals.total.cmp(&a.totals.total).then_with(|| a.text.cmp(&b.text)));
        costs
    }

    /// Forgets what the statements of an account have cost.
    pub(crate) fn reset(&self, account: &str) {
        let mut entries = self.entries();
        entries.retain(|statement, entry| {
            if statement.account != account {
                return true;
            }
            entry.is_listed.store(false, Ordering::Relaxed);
            *entry.totals() = StatementTotals::default();
            false
        });
    }

    fn list(&self, entries: &mut HashMap<Arc<Statement>, Arc<StatementEntry>>, entry: &Arc<StatementEntry>) {
        if entries.len() >= STATEMENTS_MAX {
            let mut by_calls: Vec<_> =
                entries.iter().map(|(statement, entry)| (entry.totals().calls, Arc::clone(statement))).collect();
            let evicted = by_calls.len() / EVICTED_PART;
            by_calls.select_nth_unstable_by_key(evicted, |(calls, _)| *calls);
            for (_, statement) in &by_calls[..evicted] {
                if let Some(entry) = entries.remove(statement) {
                    entry.is_listed.store(false, Ordering::Relaxed);
                    *entry.totals() = StatementTotals::default();
                }
            }
        }
        entry.is_listed.store(true, Ordering::Relaxed);
        entries.insert(Arc::clone(&entry.statement), Arc::clone(entry));
    }

    fn record(&self, entry: &Arc<StatementEntry>, took: Duration, rows: u64, reads: ReadTotals) {
        if !entry.is_listed.load(Ordering::Relaxed) {
            let mut entries = self.entries();
            // Another statement of the same text may have taken its place.
            if let Some(listed) = entries.get(&entry.statement) {
                return listed.totals().add(took, rows, reads);
            }
            self.list(&mut entries, entry);
        }
        entry.totals().add(took, rows, reads);
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<Arc<Statement>, Arc<StatementEntry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StatementEntry {
    fn totals(&self) -> MutexGuard<'_, StatementTotals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same in all processes of a build: tools tell statements apart by it.
fn id_of(text: &str) -> i64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish().cast_signed()
}

/// The entry of a prepared statement, once it has run.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownEntry(Arc<OnceLock<Arc<StatementEntry>>>);

impl KnownEntry {
    pub(crate) fn get_or_init(&self, entry: impl FnOnce() -> Arc<StatementEntry>) -> Arc<StatementEntry> {
        Arc::clone(self.0.get_or_init(entry))
    }
}

/// What the statement of a session reads, from where it runs to where it is counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct StatementReads(Arc<Mutex<Reads>>);

#[derive(Debug, Default)]
struct Reads {
    by_key: ReadTotals,
    /// That have counted once their plans have run.
    scans: Vec<Arc<dyn ExecutionPlan>>,
}

impl StatementReads {
    /// A read by key found so many entities.
    pub(crate) fn add_by_key(&self, path: AccessPath, entities: u64) {
        self.lock().by_key += ReadTotals::by_key(path, entities);
    }

    /// A plan runs. To look for its scans takes as long as it is large: not where sockets are
    /// served.
    pub(crate) fn add_plan(&self, plan: &Arc<dyn ExecutionPlan>) {
        let scans = scans_of(plan);
        self.lock().scans.extend(scans);
    }

    /// Forgets what a statement has added that failed.
    pub(crate) fn clear(&self) {
        self.take();
    }

    /// What was added since it was taken last.
    fn take(&self) -> Reads {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Reads> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A statement that runs.
#[derive(Debug)]
pub(crate) struct RunningStatement {
    statistics: Arc<StatementStatistics>,
    entry: Arc<StatementEntry>,
    began: Instant,
    returns_rows: bool,
}

impl RunningStatement {
    /// It has run, and has written so many rows.
    pub(crate) fn wrote(self, rows: u64, reads: &StatementReads) {
        let mut counted = self.answers(reads);
        counted.took = Some(counted.running.began.elapsed());
        counted.rows = rows;
    }

    /// What comes is said of it: EXPLAIN.
    pub(crate) fn without_rows(self) -> Self {
        Self { returns_rows: false, ..self }
    }

    /// It has run, and its rows come.
    pub(crate) fn answers(self, reads: &StatementReads) -> CountedRows {
        CountedRows { running: self, reads: reads.take(), rows: 0, took: None, has_failed: false }
    }
}

/// The rows that a statement gives. It is counted when they end or are dropped, unless an error
/// came in their place.
#[derive(Debug)]
pub(crate) struct CountedRows {
    running: RunningStatement,
    reads: Reads,
    rows: u64,
    /// Up to the last rows, if there were any.
    took: Option<Duration>,
    has_failed: bool,
}

impl CountedRows {
    pub(crate) fn add(&mut self, rows: usize) {
        self.rows += if self.running.returns_rows { rows as u64 } else { 0 };
        self.took = Some(self.running.began.elapsed());
    }

    pub(crate) fn fail(&mut self) {
        self.has_failed = true;
    }
}

impl Drop for CountedRows {
    fn drop(&mut self) {
        if self.has_failed {
            return;
        }
        let Reads { by_key, scans } = std::mem::take(&mut self.reads);
        let mut reads = by_key;
        reads += ReadTotals::of_scans(&scans);
        let took = self.took.unwrap_or_else(|| self.running.began.elapsed());
        self.running.statistics.record(&self.running.entry, took, self.rows, reads);
    }
}
