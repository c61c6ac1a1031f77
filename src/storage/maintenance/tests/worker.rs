//! When the background does what.

use std::collections::BTreeSet;
use std::time::Duration;

use super::*;
use crate::maintenance::{Maintainer, Work};
use rowkey_model::files::fault::{Fault, FaultPlan, FaultStore};

const LOG_BYTES_MAX: u64 = 64 << 10;

struct Bench {
    store: Arc<Store>,
    clock: Arc<ManualClock>,
    maintainer: Maintainer,
    model: Model,
}

impl Bench {
    fn over(files: Arc<dyn FileStore>) -> Self {
        let clock = clock();
        let store = block_on(Store::open(files, Arc::clone(&clock) as _, small())).expect("opens");
        let store = Arc::new(store);
        create(&store).expect("a table");
        let maintainer = Maintainer::with_sizes(store.maintenance.clone(), FILE_BYTES, LOG_BYTES_MAX);
        Self { store, clock, maintainer, model: Model::new() }
    }

    fn put(&mut self, row: usize) {
        write(&self.store, &mut self.model, &[put(key("p", row), &content(row as i32))]);
    }

    fn round(&mut self) {
        self.maintainer.round(BTreeSet::new());
    }

    fn is_settled(&self) -> bool {
        let snapshot = self.store.snapshot();
        snapshot.table_snapshot(&table(&snapshot)).is_settled()
    }
}

#[test]
fn a_quiet_table_is_folded_after_a_minute() {
    let mut bench = Bench::over(Arc::new(MemoryStore::new()));
    bench.put(1);
    bench.round();
    bench.clock.advance(Duration::from_secs(40));
    bench.put(2);
    bench.round();
    bench.clock.advance(Duration::from_secs(59));
    bench.round();
    assert!(!bench.is_settled(), "not a minute since the last write");
    bench.clock.advance(Duration::from_secs(1));
    bench.round();
    assert!(bench.is_settled());
    expect(&bench.store, &bench.model, "folded");
    let status = bench.store.maintenance_status();
    assert_eq!((status.tables[&ID].folds, status.tables[&ID].failure.clone()), (1, None));
    assert_eq!(status.tables[&ID].last_fold.map(|at| at.ticks()), Some(NOW_TICKS + 100 * 10_000_000));
    // Nothing to do.
    let sequence = bench.store.snapshot().sequence;
    bench.clock.advance(Duration::from_secs(3600));
    bench.round();
    assert_eq!(bench.store.snapshot().sequence, sequence);
}

#[test]
fn a_long_log_folds_the_table_that_holds_it_back() {
    let mut bench = Bench::over(Arc::new(MemoryStore::new()));
    bench.put(0);
    let other = Edit::CreateTable { id: 2, account: ACCOUNT.to_owned(), name: "Other".to_owned(), created_ticks: 0 };
    bench.store.commit(&[other]).expect("a table");
    for row in 0.. {
        let operation = Operation { table: 2, ..put(key("p", row % 50), &content(1)) };
        block_on(bench.store.write(&[operation])).expect("a write");
        if bench.store.state.uncovered_log_bytes() > LOG_BYTES_MAX {
            break;
        }
    }
    bench.round();
    assert!(bench.is_settled(), "it has the oldest write");
    bench.round();
    assert!(
        bench.store.state.uncovered_log_bytes() < LOG_BYTES_MAX,
        "{} bytes",
        bench.store.state.uncovered_log_bytes()
    );
    assert_eq!(entities(&bench.store, &bench.store.snapshot()), bench.model);
    let report = block_on(check(bench.store.files(), &bench.store.snapshot())).expect("reads");
    assert_eq!((report.findings, report.entities, report.unfolded), (Vec::new(), 51, 0));
}

#[test]
fn a_wanted_table_is_folded_and_compacted() {
    let mut bench = Bench::over(Arc::new(MemoryStore::new()));
    for round in 0..12 {
        for row in 0..10 {
            bench.put((round * 7 + row * 13) % 100);
        }
        bench.maintainer.round(BTreeSet::from([ID]));
        assert!(bench.is_settled());
        super::compactions::expect_compact(&manifest(&bench.store), "after a round");
    }
    expect(&bench.store, &bench.model, "folded");
    assert!(bench.store.maintenance_status().tables[&ID].compactions > 0);
}

#[test]
fn what_was_put_off_is_compacted_when_writes_press_no_more() {
    let mut bench = Bench::over(Arc::new(MemoryStore::new()));
    for row in 0..8 {
        bench.put(row);
        fold(&bench.store).expect("folds");
    }
    bench.round();
    assert_eq!(manifest(&bench.store).files().count(), 8, "nobody asked");
    bench.maintainer.note_put_off(ID, true).expect("noted");
    assert_eq!(bench.maintainer.pause(), Duration::from_secs(1));
    bench.round();
    super::compactions::expect_compact(&manifest(&bench.store), "made up for");
    assert_eq!(bench.maintainer.pause(), Duration::from_secs(5));
    bench.maintainer.note_put_off(ID, true).expect("noted");
    assert_eq!(bench.maintainer.pause(), Duration::from_secs(5), "there is nothing to do");
    expect(&bench.store, &bench.model, "compacted");
}

#[test]
fn a_table_that_an_import_has_is_tried_again() {
    let mut bench = Bench::over(Arc::new(MemoryStore::new()));
    bench.put(1);
    let job = bench.store.begin_work(ACCOUNT, TABLE, Work::Import).expect("the job");
    bench.maintainer.round(BTreeSet::from([ID]));
    assert!(!bench.is_settled());
    drop(job);
    bench.round();
    assert!(!bench.is_settled(), "not at once");
    bench.clock.advance(Duration::from_secs(1));
    bench.round();
    assert!(bench.is_settled());
    assert_eq!(bench.store.maintenance_status().tables[&ID].failure, None);
}

#[test]
fn a_fold_that_fails_is_tried_again_and_writers_without_room_are_told() {
    let probe = Arc::new(FaultStore::new(FaultPlan::none()));
    let mut bench = Bench::over(Arc::clone(&probe) as _);
    bench.put(1);
    let next = probe.operations() + 3;
    drop(bench);
    let files = Arc::new(FaultStore::new(FaultPlan::at(next, Fault::Fail(std::io::ErrorKind::StorageFull))));
    let mut bench = Bench::over(files);
    bench.put(1);
    bench.maintainer.round(BTreeSet::from([ID]));
    assert!(!bench.is_settled());
    let failure = bench.store.maintenance_status().tables[&ID].failure.clone().expect("a failure").0;
    assert!(bench.store.maintenance.stalls.failure(ID).is_some_and(|failure| failure.no_space), "{failure}");
    // There is room, so writers do not mind.
    bench.put(2);
    bench.round();
    assert!(!bench.is_settled(), "after a pause");
    bench.clock.advance(Duration::from_secs(1));
    bench.round();
    assert!(bench.is_settled());
    assert!(bench.store.maintenance.stalls.failure(ID).is_none());
    expect(&bench.store, &bench.model, "folded");
}

#[test]
fn writers_wait_for_room_and_go_on_when_there_is_some() {
    let options = StoreOptions { delta_bytes_max: 20_000, ..small() };
    let store = open_with(Arc::new(MemoryStore::new()), options).expect("opens");
    create(&store).expect("a table");
    let maintainer = Maintainer::with_sizes(store.maintenance.clone(), FILE_BYTES, LOG_BYTES_MAX);
    let mut model = Model::new();
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| maintainer.run());
        for row in 0..600 {
            write(&store, &mut model, &[put(key("p", row), &content(row as i32))]);
        }
        store.stop_maintenance();
        thread.join().expect("ends");
    });
    assert!(store.maintenance_status().tables[&ID].folds > 3);
    expect(&store, &model, "all written");
    // Without folds the delta fills up.
    let error = (0..600).find_map(|row| block_on(store.write(&[put(key("q", row), &content(0))])).err());
    assert!(matches!(error, Some(crate::Error::FoldFails { .. })), "{error:?}");
}

#[test]
fn where_writers_waited_for_a_fold_compactions_wait_and_nothing_is_folded_twice() {
    let options = StoreOptions { delta_bytes_max: 20_000, ..small() };
    let clock = clock();
    let store = block_on(Store::open(Arc::new(MemoryStore::new()), Arc::clone(&clock) as _, options)).expect("opens");
    let store = Arc::new(store);
    create(&store).expect("a table");
    let mut maintainer = Maintainer::with_sizes(store.maintenance.clone(), FILE_BYTES, LOG_BYTES_MAX);
    let mut model = Model::new();
    let files = || table(&store.snapshot()).manifest.files().count();
    let is_full = || store.maintenance.stalls.is_full(&store.snapshot().deltas[&ID]);
    let asked = || BTreeSet::from([ID]);
    for round in 0..5 {
        for row in 0.. {
            if is_full() {
                break;
            }
            assert_eq!(maintainer.still_wanted(asked()), BTreeSet::new(), "what there is is little");
            write(&store, &mut model, &[put(key("p", round * 1000 + row), &content(row as i32))]);
        }
        let wanted = maintainer.still_wanted(asked());
        assert_eq!(wanted, asked());
        maintainer.round(wanted);
        assert_eq!(files(), round + 1, "as many as folds");
    }
    expect(&store, &model, "folded");
    let compactions = || store.maintenance_status().tables[&ID].compactions;
    assert_eq!(compactions(), 0);
    clock.advance(Duration::from_secs(1));
    maintainer.round(BTreeSet::new());
    assert!(compactions() > 0, "nobody waits any more");
    expect(&store, &model, "compacted");
}

#[test]
fn what_is_stopped_gives_its_work_up() {
    let mut bench = Bench::over(Arc::new(MemoryStore::new()));
    bench.put(1);
    bench.store.stop_maintenance();
    bench.maintainer.round(BTreeSet::from([ID]));
    assert!(!bench.is_settled());
    expect(&bench.store, &bench.model, "as it was");
}
