//! The steps of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::executor::block_on;

use super::Reached;
use super::choices;
use super::disk::{End, Opening, content, is_damage, stored};
use super::model::{Commit, Content, Effect, History, Model, Predicted, Stored, stamp};
use crate::error::Result;
use crate::ingest::{Ingest, IngestOptions};
use crate::maintenance::Compaction;
use crate::{
    Definitions, Durability, Edit, Error, LogError, Operation, Refusal, Snapshot, Store, StoreOptions, Unlinked, Work,
    Written,
};
use rowkey_base::clock::{Clock, ManualClock};
use rowkey_base::testing::Dice;
use rowkey_model::files::fault::{FaultPlan, FaultStore};
use rowkey_model::rows::{PropertyNames, Rows};
use rowkey_model::{DateTime, Key, ValueRef};

const ACCOUNT: &str = "acme";
/// 2024-05-01T08:00:00Z.
const NOW_TICKS: i64 = 17_145_504_000_000_000;
/// Files so small that tables are cut.
const FILE_BYTES: usize = 1500;
const TABLES_MAX: usize = 3;

pub(super) struct Simulation<'a> {
    reached: &'a mut Reached,
    seed: u64,
    step: u64,
    dice: Dice,
    clock: Arc<ManualClock>,
    disk: FaultStore,
    /// Open but for the moment between two processes.
    store: Option<Arc<Store>>,
    options: StoreOptions,
    history: History,
    /// Snapshots, and what they saw when they were taken.
    held: Vec<(Snapshot, Model)>,
    tables_made: u64,
}

/// Before a call.
struct Before {
    faults: u64,
    is_poisoned: bool,
}

impl<'a> Simulation<'a> {
    pub(super) fn begin(seed: u64, reached: &'a mut Reached) -> Self {
        let mut dice = Dice(seed);
        let clock = Arc::new(ManualClock::new(DateTime::from_ticks(NOW_TICKS)));
        let options = choices::options(&mut dice);
        let mut history = History::default();
        let none = FaultStore::new(FaultPlan::none());
        let what = format!("seed {seed}, at the beginning");
        let (disk, store) =
            Opening { options: &options, clock: &clock, dice: &mut dice, history: &mut history, reached, what }
                .after(&none, End::OfProcess);
        let store = Some(store);
        Self { reached, seed, step: 0, dice, clock, disk, store, options, history, held: Vec::new(), tables_made: 0 }
    }

    pub(super) fn step(&mut self, step: u64) {
        self.step = step;
        match self.dice.below(100) {
            _ if self.visible().0.is_empty() => self.create(),
            0..36 => self.write_one(),
            36..48 => self.write_group(true),
            48..54 => self.write_group(false),
            54..59 => self.write_together(),
            59..65 => self.fold(),
            65..69 => self.compact(),
            69..72 => self.vacuum(false),
            72 => self.vacuum(true),
            73..76 => self.import(),
            76..78 => self.checkpoint(),
            78..80 => self.settle(),
            80..84 => self.move_clock(),
            84..88 => self.define(),
            88 => self.define_and_write(),
            89..91 => self.held.push((self.store().snapshot(), self.history.visible.clone())),
            91..93 => self.expect_held(),
            93..96 => self.expect_visible(),
            96 => self.close(),
            _ => {
                let end = End::of(&mut self.dice);
                self.end_by(end);
            }
        }
        if self.disk.is_stopped() {
            let end = End::of(&mut self.dice);
            self.end_by(end);
        } else {
            self.expect_some_rows();
        }
    }

    /// What is there at the end is what a last process finds.
    pub(super) fn end(&mut self) {
        self.expect_visible();
        self.end_by(End::OfProcess);
        self.close();
    }

    fn what(&self) -> String {
        format!("seed {}, step {}", self.seed, self.step)
    }

    fn store(&self) -> Arc<Store> {
        Arc::clone(self.store.as_ref().expect("open"))
    }

    fn visible(&self) -> &Model {
        &self.history.visible
    }

    fn a_table(&mut self) -> u64 {
        let tables: Vec<u64> = self.visible().0.keys().copied().collect();
        self.dice.pick(&tables)
    }

    fn is_poisoned(&self) -> bool {
        self.store().state.log().poisoned().is_some()
    }

    fn before(&self) -> Before {
        Before { faults: self.disk.faults(), is_poisoned: self.is_poisoned() }
    }

    /// A call may fail for a fault of the disk, never for what is stored.
    fn expect_fault(&self, before: &Before, error: &Error) {
        let what = self.what();
        assert!(before.is_poisoned || self.disk.faults() > before.faults, "{what}: without a fault: {error}");
        assert!(!is_damage(error), "{what}: {error}");
    }

    /// Enters what came of a commit that should succeed.
    fn took<T>(&mut self, before: &Before, outcome: &Result<T>, commit: Commit, is_synced: bool) {
        match outcome {
            Ok(_) => self.history.acknowledge(commit, is_synced),
            Err(error) => {
                self.expect_fault(before, error);
                if matches!(error, Error::Log(LogError::OutcomeUnknown { .. })) {
                    self.reached.unknown_outcomes += 1;
                    self.history.unknown(commit);
                }
            }
        }
    }

    fn is_synced(&self) -> bool {
        self.options.durability == Durability::Sync
    }

    fn write_one(&mut self) {
        let table = self.a_table();
        let key = choices::key(&mut self.dice);
        let operation = choices::operation(&mut self.dice, &self.history.visible, table, key);
        self.write(&[operation]);
    }

    fn write_group(&mut self, is_group: bool) {
        let operations = choices::operations(&mut self.dice, &self.history.visible, is_group);
        self.write(&operations);
    }

    fn write(&mut self, operations: &[Operation<'_>]) {
        let before = self.before();
        let predicted = self.visible().predict(operations);
        let outcome = block_on(self.store().write(operations));
        let visible = self.history.visible.clone();
        if let Some(commit) = self.expect_written(&before, &visible, operations, predicted, &outcome) {
            let is_synced = self.is_synced();
            self.took(&before, &outcome, commit, is_synced);
        }
    }

    /// What was predicted of a write has come, unless the disk kept it from that; gives the commit.
    fn expect_written(
        &self,
        before: &Before,
        model: &Model,
        operations: &[Operation<'_>],
        predicted: Predicted,
        outcome: &Result<Written>,
    ) -> Option<Commit> {
        let what = self.what();
        // Nothing can be read any more.
        if self.disk.is_stopped() && matches!(outcome, Err(Error::Files(_))) {
            return None;
        }
        if before.is_poisoned {
            // Nothing is said of conditions that writes without an outcome have met or not.
            assert!(matches!(outcome, Err(Error::Log(LogError::Poisoned { .. }))), "{what}: {outcome:?}");
            return None;
        }
        match (predicted, outcome) {
            (Predicted::Refused(index, refusal), Err(Error::Refused { index: found, refusal: actual, .. })) => {
                let is_same = match (refusal, *actual) {
                    (Refusal::EtagDiffers { actual: wanted }, Refusal::EtagDiffers { actual }) => {
                        let current = model.get(operations[index].table, &operations[index].key);
                        wanted == actual || current.is_some_and(|stored| stored.etag.is_none())
                    }
                    (refusal, actual) => refusal == actual,
                };
                assert!(is_same && index == *found, "{what}: {outcome:?} instead of {refusal:?} at {index}");
                None
            }
            (Predicted::Rejected(index), Err(Error::RejectedAt { index: found, .. })) => {
                assert_eq!(index, *found, "{what}");
                None
            }
            (Predicted::Written(mut commit), Ok(written)) => {
                for operation in operations {
                    let etag = model.get(operation.table, &operation.key).and_then(|stored| stored.etag);
                    assert!(etag < Some(written.timestamp), "{what}: {etag:?}, then {:?}", written.timestamp);
                }
                stamp(&mut commit, written.timestamp);
                Some(commit)
            }
            (Predicted::Written(commit), Err(Error::Log(_) | Error::Files(_))) => Some(commit),
            (predicted, outcome) => panic!("{what}: {outcome:?} instead of {predicted:?} for {operations:?}"),
        }
    }

    /// Writes that wait for the log together, each on top of those before. One that is refused for
    /// what another is about to write waits for that one.
    fn write_together(&mut self) {
        let store = self.store();
        let mut model = self.history.visible.clone();
        let mut writes = Vec::new();
        for _ in 0..2 + self.dice.below(3) {
            let operations = choices::operations(&mut self.dice, &self.history.visible, true);
            let predicted = model.predict(&operations);
            let seen = model.clone();
            if let Predicted::Written(commit) = &predicted {
                model.apply(commit);
            }
            writes.push((operations, predicted, seen));
        }
        let gathering = store.state.log().gather();
        // To gather takes a sync, which may fail.
        let before = self.before();
        let mut futures: Vec<_> = writes.iter().map(|(operations, ..)| Box::pin(store.write(operations))).collect();
        let polled: Vec<_> = futures.iter_mut().map(poll_once).collect();
        drop(gathering);
        let is_synced = self.is_synced();
        let mut waiting = Vec::new();
        for (place, polled) in polled.into_iter().enumerate() {
            let (operations, predicted, seen) = &writes[place];
            if polled.is_none() && !matches!(predicted, Predicted::Written(_)) {
                waiting.push(place);
                continue;
            }
            let outcome = polled.unwrap_or_else(|| block_on(&mut futures[place]));
            if let Some(commit) = self.expect_written(&before, seen, operations, predicted.clone(), &outcome) {
                self.took(&before, &outcome, commit, is_synced);
            }
        }
        for place in waiting {
            let operations = &writes[place].0;
            // A fault of the first group may have stopped the disk, or the log: it keeps these from
            // it too.
            let before = Before { is_poisoned: self.before().is_poisoned, ..before };
            let seen = self.history.visible.clone();
            let outcome = block_on(&mut futures[place]);
            if let Some(commit) = self.expect_written(&before, &seen, operations, seen.predict(operations), &outcome) {
                self.reached.refusals_lifted += 1;
                self.took(&before, &outcome, commit, is_synced);
            }
        }
    }

    fn fold(&mut self) {
        let table = self.a_table();
        let before = self.before();
        let store = self.store();
        let had_writes = !store.snapshot().deltas[&table].is_empty();
        let outcome = self.claimed(table, Work::Fold, |store| store.fold(table).map(drop));
        self.maintained(&before, outcome, had_writes);
    }

    fn compact(&mut self) {
        let table = self.a_table();
        let compaction = self.dice.pick(&[Compaction::Thorough, Compaction::Pressed, Compaction::HardPressed]);
        let before = self.before();
        let outcome =
            self.claimed(table, Work::Compaction, |store| store.compact_step(table, FILE_BYTES, compaction).map(drop));
        self.maintained(&before, outcome, false);
    }

    fn vacuum(&mut self, full: bool) {
        let table = self.a_table();
        let before = self.before();
        let store = self.store();
        let had_writes = !store.snapshot().deltas[&table].is_empty();
        let outcome = store.vacuum(table, full, FILE_BYTES).map(drop);
        self.maintained(&before, outcome, had_writes);
    }

    fn claimed(&self, table: u64, work: Work, job: impl FnOnce(&Store) -> Result<()>) -> Result<()> {
        let store = self.store();
        let _job = store.begin_work(ACCOUNT, &self.visible().0[&table].name, work)?;
        job(&store)
    }

    /// It changes nothing that is seen, done or not; what it commits is synced, and all before it.
    fn maintained(&mut self, before: &Before, outcome: Result<()>, commits: bool) {
        match outcome {
            Ok(()) if commits => self.history.synced(),
            Ok(()) => {}
            Err(error) => self.expect_fault(before, &error),
        }
    }

    fn import(&mut self) {
        let table = self.a_table();
        let keys: BTreeSet<Key> = (0..1 + self.dice.below(12)).map(|_| choices::key(&mut self.dice)).collect();
        let rows: BTreeMap<Key, Content> =
            keys.into_iter().map(|key| (key, choices::content(&mut self.dice))).collect();
        let before = self.before();
        let now = self.clock.now();
        let mut folded = false;
        let outcome = self.claimed(table, Work::Import, |store| {
            folded = store.fold(table).is_ok_and(|report| report.written + report.masked > 0);
            let base = Arc::clone(store.snapshot().table(table).ok_or_else(|| Error::NoSuchTable(String::new()))?);
            if !store.snapshot().table_snapshot(&base).is_settled() {
                return Err(Error::Closing);
            }
            let names = Arc::new(PropertyNames::new());
            let options = IngestOptions { file_bytes: FILE_BYTES, timestamp: now, dry_run: false };
            let mut ingest = Ingest::begin(store.files(), &names, &base, store.file_ids(), &options);
            ingest.push(&encoded(&names, &rows))?;
            let (edits, _) = ingest.finish(&base)?;
            store.commit_job(&base, edits).map(drop)
        });
        if folded {
            self.history.synced();
        }
        let commit = self.imported(table, rows, now);
        self.took(&before, &outcome, commit, true);
    }

    /// What an import of entities without a Timestamp brings.
    fn imported(&self, table: u64, rows: BTreeMap<Key, Content>, now: DateTime) -> Commit {
        let mut commit = Commit::new();
        for (key, content) in rows {
            let mut etag = now;
            if let Some(stored) = self.visible().get(table, &key) {
                if stored.content == content {
                    continue;
                }
                if let Some(before) = stored.etag.filter(|before| now <= *before) {
                    etag = DateTime::from_micros(before.micros() + 1, 0);
                }
            }
            commit.push(Effect::Put(table, key, Arc::new(Stored { etag: Some(etag), content })));
        }
        commit
    }

    /// Makes a checkpoint if one is due.
    fn checkpoint(&mut self) {
        self.store().clean_up(Unlinked::default());
    }

    fn settle(&mut self) {
        let before = self.before();
        let outcome = block_on(self.store().settled());
        self.maintained(&before, outcome, true);
    }

    fn move_clock(&mut self) {
        let by = Duration::from_micros(self.dice.pick(&[0, 1, 1000, 3_600_000_000]));
        match self.dice.chance(6) {
            true => self.clock.set(DateTime::from_ticks(self.clock.now().ticks() - by.as_micros() as i64 * 10)),
            false => self.clock.advance(by),
        }
    }

    fn new_table(&mut self) -> (Edit, Effect) {
        let id = self.store().snapshot().catalog.next_table_id();
        self.tables_made += 1;
        let name = format!("Table{}", self.tables_made);
        let edit = Edit::CreateTable { id, account: ACCOUNT.to_owned(), name: name.clone(), created_ticks: 0 };
        (edit, Effect::Create(id, name))
    }

    fn create(&mut self) {
        let (edit, effect) = self.new_table();
        self.commit(edit, effect);
    }

    fn define(&mut self) {
        let table = self.a_table();
        match self.dice.below(4) {
            0 | 1 if self.visible().0.len() < TABLES_MAX => self.create(),
            0 | 2 => self.commit(Edit::TruncateTable { table, sequence: 0 }, Effect::Truncate(table)),
            1 => self.commit(Edit::DropTable { id: table }, Effect::Drop(table)),
            _ => {
                self.tables_made += 1;
                let name = format!("Table{}", self.tables_made);
                self.commit(Edit::RenameTable { id: table, name: name.clone() }, Effect::Rename(table, name));
            }
        }
    }

    fn commit(&mut self, edit: Edit, effect: Effect) {
        let before = self.before();
        let store = self.store();
        let outcome = store.commit_definition(vec![edit], &store.snapshot().catalog);
        self.took(&before, &outcome, vec![effect], true);
    }

    /// A transaction that makes or empties a table and writes.
    fn define_and_write(&mut self) {
        let table = self.a_table();
        let (edit, effect) = match self.dice.chance(2) && self.visible().0.len() < TABLES_MAX {
            true => self.new_table(),
            false => (Edit::TruncateTable { table, sequence: 0 }, Effect::Truncate(table)),
        };
        let mut model = self.history.visible.clone();
        model.apply(&vec![effect.clone()]);
        let operations = choices::operations(&mut self.dice, &model, false);
        let predicted = model.predict(&operations);
        let before = self.before();
        let store = self.store();
        let definitions = Definitions { edits: vec![edit], base: store.snapshot(), unwritten: BTreeSet::new() };
        let outcome = block_on(store.commit_definitions(&definitions, &operations, None));
        let outcome = outcome.map(|(written, gone)| {
            store.clean_up(gone);
            written
        });
        if let Some(writes) = self.expect_written(&before, &model, &operations, predicted, &outcome) {
            let commit = [vec![effect], writes].concat();
            self.took(&before, &outcome, commit, true);
        }
    }

    fn expect_visible(&self) {
        let store = self.store();
        assert_eq!(content(&store, &store.snapshot()), self.history.visible, "{}", self.what());
    }

    fn expect_held(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let (snapshot, seen) = self.held.swap_remove(self.dice.below(self.held.len()));
        let what = self.what();
        assert_eq!(content(&self.store(), &snapshot), seen, "{what}: held since record {}", snapshot.sequence);
    }

    /// Reads a few entities by their keys, and counts.
    fn expect_some_rows(&mut self) {
        if self.visible().0.is_empty() {
            return;
        }
        let table = self.a_table();
        let (store, snapshot) = (self.store(), self.store().snapshot());
        let seen = snapshot.table_snapshot(snapshot.table(table).expect("a table that is visible"));
        for _ in 0..3 {
            let key = choices::key(&mut self.dice);
            let found = block_on(seen.get(store.files(), key.as_ref())).expect("reads");
            let found = found.map(|entity| Arc::new(stored(&entity)));
            assert_eq!(found.as_ref(), self.visible().get(table, &key), "{}: {key:?} of {table}", self.what());
        }
        let live = block_on(seen.live_rows(store.files())).expect("a count");
        assert_eq!(live, self.visible().0[&table].rows.len() as u64, "{}", self.what());
    }

    /// The process ends well, and the next one may find another machine.
    fn close(&mut self) {
        let is_well = !self.is_poisoned();
        self.held.clear();
        let faults = self.disk.faults();
        self.store = None;
        if is_well && self.disk.faults() == faults {
            // The log is synced when it is closed.
            self.history.synced();
        }
        let end = End::of(&mut self.dice);
        self.open_after(end);
    }

    fn end_by(&mut self, end: End) {
        self.held.clear();
        let left = self.disk.after_kill(FaultPlan::none());
        // The store lives on beside its disk, and closes on it.
        let _gone = self.store.take();
        self.disk = left;
        self.open_after(end);
    }

    fn open_after(&mut self, end: End) {
        let what = self.what();
        self.options = choices::options(&mut self.dice);
        let Self { disk, options, clock, dice, history, reached, .. } = self;
        let (disk, store) = Opening { options, clock, dice, history, reached, what }.after(disk, end);
        (self.disk, self.store) = (disk, Some(store));
        if self.disk.is_stopped() {
            let end = End::of(&mut self.dice);
            self.end_by(end);
        }
    }
}

/// The first poll of a write, which hands it to the log.
fn poll_once(future: &mut Pin<Box<impl Future<Output = Result<Written>>>>) -> Option<Result<Written>> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => Some(outcome),
        Poll::Pending => None,
    }
}

/// Rows as an import brings them.
fn encoded(names: &Arc<PropertyNames>, entities: &BTreeMap<Key, Content>) -> Rows {
    let mut rows = Rows::new();
    let mut builder = rows.builder(names);
    for (key, content) in entities {
        builder.begin();
        for (name, value) in content {
            builder.set(names.intern(name), ValueRef::from(value));
        }
        builder.finish(&key.partition, &key.row, None).expect("an entity");
    }
    drop(builder);
    rows
}
