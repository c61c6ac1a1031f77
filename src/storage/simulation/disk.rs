//! Ends of processes and machines, and what is found on the disk afterwards.

use std::sync::Arc;

use futures::TryStreamExt;
use futures::executor::block_on;

use super::Reached;
use super::choices;
use super::model::{History, Model, Stored, TableModel};
use crate::{Error, LogError, Snapshot, Store, StoreOptions, check};
use rowkey_base::clock::ManualClock;
use rowkey_base::testing::Dice;
use rowkey_model::files::fault::{AfterCrash, FaultStore};
use rowkey_model::{Entity, KeyRange};

/// How a store came to its end.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    /// The process: what was written is there, synced or not.
    OfProcess,
    /// The machine.
    Crash(AfterCrash),
}

impl End {
    pub(super) fn of(dice: &mut Dice) -> Self {
        match dice.below(6) {
            0 | 1 => End::OfProcess,
            2 => End::Crash(AfterCrash::KeepUnsynced),
            3 => End::Crash(AfterCrash::LoseUnsynced),
            _ => End::Crash(AfterCrash::TearUnsynced(dice.next_u64())),
        }
    }

    /// Whether what was not synced may be gone.
    fn loses_unsynced(self) -> bool {
        !matches!(self, End::OfProcess | End::Crash(AfterCrash::KeepUnsynced))
    }

    /// The disk that the next process finds.
    fn leaves(self, disk: &FaultStore, dice: &mut Dice) -> FaultStore {
        let plan = choices::faults(dice);
        match self {
            End::OfProcess => disk.after_kill(plan),
            End::Crash(mode) => FaultStore::over(&disk.after_crash(mode), plan),
        }
    }
}

/// What it takes to open a store after an end.
pub(super) struct Opening<'a> {
    pub options: &'a StoreOptions,
    pub clock: &'a Arc<ManualClock>,
    pub dice: &'a mut Dice,
    pub history: &'a mut History,
    pub reached: &'a mut Reached,
    /// Where the run is.
    pub what: String,
}

impl Opening<'_> {
    /// Opens what an end left behind, again and again until no fault keeps it from that; what it
    /// then holds is what the history allows.
    pub(super) fn after(self, left: &FaultStore, end: End) -> (FaultStore, Arc<Store>) {
        let Self { options, clock, dice, history, reached, what } = self;
        let mut ends = vec![end];
        let mut disk = end.leaves(left, dice);
        loop {
            let opened = block_on(Store::open(Arc::new(disk.clone()), Arc::clone(clock) as _, options.clone()));
            match opened {
                Ok(store) if !disk.is_stopped() => {
                    let store = Arc::new(store);
                    reached.torn_tails += u64::from(store.torn_tail().is_some());
                    reached.losses += u64::from(expect_recovered(&disk, &store, &ends, history, &what));
                    return (disk, store);
                }
                Ok(_) => {}
                Err(error) => {
                    reached.failed_openings += 1;
                    assert!(disk.faults() > 0, "{what}, {ends:?}: it does not open: {error}");
                    assert!(!is_damage(&error), "{what}, {ends:?}: {error}");
                }
            }
            let end = End::of(dice);
            ends.push(end);
            disk = end.leaves(&disk, dice);
        }
    }
}

/// The store holds what it should after these ends, and nothing is wrong with its files; says
/// whether something is gone that was acknowledged and not synced.
fn expect_recovered(disk: &FaultStore, store: &Store, ends: &[End], history: &mut History, what: &str) -> bool {
    let snapshot = store.snapshot();
    let found = content(store, &snapshot);
    let may_lose = ends.iter().any(|end| end.loses_unsynced());
    let recovered = history.recovered(found.clone(), may_lose);
    if let Err(least) = &recovered {
        panic!("{what}, {ends:?}: there should be at least, and is: {:#?}", least.differences(&found));
    }
    let report = block_on(check(store.files(), &snapshot)).expect("reads");
    assert_eq!(report.findings, [], "{what}, {ends:?}");
    if disk.faults() == 0 {
        let files = disk.after_crash(AfterCrash::KeepUnsynced).files();
        let runs = files.keys().filter(|path| path.ends_with(".parquet")).count();
        let named: usize = snapshot.catalog.tables().map(|table| table.manifest.files().count()).sum();
        assert_eq!(runs, named, "{what}, {ends:?}: files that no table names are swept");
    }
    recovered.is_ok_and(|is_loss| is_loss)
}

/// Whether an error says that what is stored is not what was written: no fault here makes that so.
pub(super) fn is_damage(error: &Error) -> bool {
    matches!(
        error,
        Error::Corrupt { .. }
            | Error::LogLost { .. }
            | Error::Conflict(_)
            | Error::Log(LogError::Corrupt { .. } | LogError::CheckpointMissing { .. } | LogError::Apply { .. })
    )
}

/// All that a snapshot sees.
pub(super) fn content(store: &Store, snapshot: &Snapshot) -> Model {
    let of_table = |table: &Arc<crate::Table>| {
        let batches = snapshot.table_snapshot(table).range(Arc::clone(store.files()), KeyRange::all());
        let batches: Vec<Vec<Entity>> = block_on(batches.try_collect()).expect("entities");
        let found: Vec<Entity> = batches.into_iter().flatten().collect();
        assert!(found.is_sorted_by(|a, b| a.key < b.key), "in key order, each once");
        let rows = found.into_iter().map(|entity| (entity.key.clone(), Arc::new(stored(&entity)))).collect();
        (table.id, TableModel { name: table.name.clone(), rows })
    };
    Model(snapshot.catalog.tables().map(of_table).collect())
}

/// An entity as the model has it.
pub(super) fn stored(entity: &Entity) -> Stored {
    let content = entity.properties().map(|(name, value)| (name.to_owned(), value.clone())).collect();
    Stored { etag: Some(entity.timestamp), content }
}
