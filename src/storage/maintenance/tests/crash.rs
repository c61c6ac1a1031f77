//! A fault at every write, sync, rename and removal of writes, folds, compactions and an import.

use super::compactions::import;
use super::*;
use crate::{Error, LogError};
use rowkey_model::files::fault::{AfterCrash, Fault, FaultPlan, FaultStore};

/// Files so small that the table is cut.
const CUT_BYTES: usize = 500;

enum Step {
    Create,
    Write(Vec<Operation<'static>>),
    Fold,
    Compact,
    Import(Vec<Key>),
    Full,
}

/// A group, then single writes, so often folded that there is something to compact.
fn steps() -> Vec<Step> {
    let mut steps = vec![Step::Create, Step::Write((0..8).map(|row| put(key("p", row), &content(0))).collect())];
    steps.push(Step::Fold);
    for round in 1..4 {
        steps.push(Step::Write(vec![put(key("p", round), &content(round as i32)), delete(key("p", 7 - round))]));
        steps.push(Step::Write(vec![put(key("q", round), &content(round as i32))]));
        steps.push(Step::Fold);
    }
    steps.push(Step::Write(vec![delete(key("q", 1))]));
    steps.push(Step::Compact);
    steps.push(Step::Write(vec![put(key("q", 9), &content(9))]));
    steps.push(Step::Import(vec![key("p", 2), key("p", 3), key("r", 0)]));
    steps.push(Step::Write(vec![put(key("a", 0), &content(1)), put(key("r", 0), &content(2))]));
    steps.push(Step::Full);
    steps.push(Step::Write(vec![delete(key("p", 2))]));
    steps
}

/// What the caller knows at the end: the state of which all is acknowledged, and the one that may
/// be in its place.
#[derive(Default)]
struct Known {
    certain: Model,
    perhaps: Option<Model>,
}

impl Known {
    fn took(&mut self, outcome: &Result<()>, after: Model) {
        match outcome {
            Ok(()) => self.certain = after,
            Err(Error::Log(LogError::OutcomeUnknown { .. })) => self.perhaps = Some(after),
            // Nothing was written.
            Err(_) => {}
        }
    }
}

fn imported(model: &Model, keys: &[Key]) -> Model {
    let mut after = model.clone();
    let content = Content::from([("Imported".to_owned(), Value::Int32(4))]);
    after.extend(keys.iter().map(|key| (key.clone(), content.clone())));
    after
}

fn workload(files: Arc<FaultStore>) -> Known {
    let mut known = Known::default();
    let Ok(store) = open_with(Arc::clone(&files) as _, small()) else { return known };
    for step in steps() {
        match step {
            Step::Create => drop(create(&store)),
            Step::Write(operations) => {
                let mut after = known.certain.clone();
                apply(&mut after, &operations);
                known.took(&block_on(store.write(&operations)).map(|_| ()), after);
            }
            Step::Import(keys) => {
                let after = imported(&known.certain, &keys);
                let outcome = match store.snapshot().table(ID) {
                    Some(_) => import(&store, keys.into_iter(), "Imported", 4, || {}),
                    None => Err(Error::NoSuchTable(TABLE.to_owned())),
                };
                known.took(&outcome, after);
            }
            // They change nothing that is seen, done or not.
            Step::Fold => drop(fold(&store)),
            Step::Compact => drop(store.vacuum(ID, false, CUT_BYTES)),
            Step::Full => drop(store.vacuum(ID, true, CUT_BYTES)),
        }
        // A store that has stopped cannot be read either.
        if !files.is_stopped() {
            let seen = entities(&store, &store.snapshot());
            assert_eq!(seen, known.certain, "what is seen is what was acknowledged");
        }
    }
    known
}

fn operations() -> u64 {
    let whole = Arc::new(FaultStore::new(FaultPlan::none()));
    let known = workload(Arc::clone(&whole));
    assert!(known.perhaps.is_none() && known.certain.len() > 8, "{} entities", known.certain.len());
    let store = open(&whole.after_crash(AfterCrash::LoseUnsynced));
    expect(&store, &known.certain, "without faults");
    whole.operations()
}

/// A fault at one place, and what is found after a crash.
fn run(n: u64, fault: Fault, modes: &[AfterCrash]) {
    let failing = Arc::new(FaultStore::new(FaultPlan::at(n, fault)));
    let known = workload(Arc::clone(&failing));
    for &mode in modes {
        let what = format!("{fault:?} at {n}, {mode:?}");
        let files = failing.after_crash(mode);
        let store = open_with(Arc::new(files.clone()), small()).unwrap_or_else(|error| panic!("{what}: {error}"));
        let found = entities(&store, &store.snapshot());
        let whole = found == known.certain || known.perhaps.as_ref() == Some(&found);
        assert!(whole, "{what}: {found:#?} instead of {:#?} or {:#?}", known.certain, known.perhaps);
        expect(&store, &found, &what);
        // It goes on from there.
        if store.snapshot().table(ID).is_none() {
            create(&store).unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        let mut model = found;
        write(&store, &mut model, &[put(key("p", 0), &content(77)), put(key("z", 0), &content(78))]);
        store.vacuum(ID, false, CUT_BYTES).unwrap_or_else(|error| panic!("{what}: {error}"));
        expect(&store, &model, &what);
    }
}

const FAULTS: [Fault; 3] = [Fault::Stop, Fault::Tear, Fault::Fail(std::io::ErrorKind::StorageFull)];

#[test]
fn a_fault_anywhere_keeps_what_was_acknowledged_and_shows_nothing_half() {
    let operations = operations();
    assert!(operations > 150, "only {operations} operations");
    for n in 1..=operations {
        for fault in FAULTS {
            run(n, fault, &[AfterCrash::LoseUnsynced, AfterCrash::TearUnsynced(n), AfterCrash::KeepUnsynced]);
        }
    }
}

#[test]
#[ignore = "the long version"]
fn every_fault_anywhere_with_many_kinds_of_crash_after_it() {
    for n in 1..=operations() {
        let torn: Vec<AfterCrash> = (0..12).map(|more| AfterCrash::TearUnsynced(n * 12 + more)).collect();
        for fault in FAULTS {
            run(n, fault, &torn);
        }
    }
}

#[test]
fn a_full_disk_fails_folds_and_compactions_and_costs_nothing() {
    let failing = Arc::new(FaultStore::new(FaultPlan::none()));
    let store = open_with(Arc::clone(&failing) as _, small()).expect("opens");
    create(&store).expect("a table");
    let mut model = Model::new();
    write(&store, &mut model, &[put(key("p", 1), &content(1))]);
    // The record that seals the generation is written and synced, then the file is created.
    let next = failing.operations() + 3;
    drop(store);
    let failing = Arc::new(FaultStore::new(FaultPlan::at(next, Fault::Fail(std::io::ErrorKind::StorageFull))));
    let store = open_with(Arc::clone(&failing) as _, small()).expect("opens");
    create(&store).expect("a table");
    write(&store, &mut Model::new(), &[put(key("p", 1), &content(1))]);
    let error = fold(&store).expect_err("no space");
    assert!(matches!(error, Error::Files(_)), "{error}");
    expect(&store, &model, "after the failure");
    write(&store, &mut model, &[put(key("p", 2), &content(2))]);
    fold(&store).expect("there is space again");
    expect(&store, &model, "folded");
}

#[test]
fn where_there_is_no_room_for_a_whole_fold_the_oldest_writes_are_folded_first() {
    let written = |files: &Arc<FaultStore>| {
        let store = open_with(Arc::clone(files) as _, small()).expect("opens");
        create(&store).expect("a table");
        let mut model = Model::new();
        for row in 1..5 {
            write(&store, &mut model, &[put(key("p", 0), &content(row as i32)), put(key("p", row), &content(0))]);
            if row < 4 {
                store.state.head().expect("open for writing").seal(ID);
            }
        }
        (store, model)
    };
    let probe = Arc::new(FaultStore::new(FaultPlan::none()));
    let (store, _) = written(&probe);
    // The record that seals the last generation is written and synced, then the file is created.
    let first_file = probe.operations() + 3;
    drop(store);
    let failing = Arc::new(FaultStore::new(FaultPlan::at(first_file, Fault::Fail(std::io::ErrorKind::StorageFull))));
    let (store, model) = written(&failing);
    let job = store.begin_job(ACCOUNT, TABLE).expect("the job");
    let report = store.fold(ID).expect("one generation after another");
    drop(job);
    assert_eq!((report.files, report.written, report.masked), (4, 8, 3));
    assert!(store.snapshot().deltas[&ID].is_empty());
    expect(&store, &model, "folded");
    drop(store);
    expect(&open(&failing.after_crash(AfterCrash::LoseUnsynced)), &model, "opened again");
}

#[test]
fn a_write_that_finds_no_room_for_the_log_was_not_begun_and_the_next_one_goes_on() {
    let writes = 60;
    let write_all = |files: &Arc<FaultStore>| {
        let (mut model, mut refused, mut sealed) = (Model::new(), 0, false);
        let options = StoreOptions { segment_bytes: SegmentBytes::each(600), ..small() };
        let store = open_with(Arc::clone(files) as _, options).expect("opens");
        if create(&store).is_err() {
            return (model, 0, true);
        }
        for number in 0..writes {
            let operations = [put(key("p", number % 7), &content(number as i32)), put(key("q", number), &content(0))];
            // The log is long where writes wait for each other: these are in flight together.
            let other = [put(key("r", number), &content(1))];
            let (first, second) = block_on(async { futures::join!(store.write(&operations), store.write(&other)) });
            for (outcome, operations) in [(first, &operations[..]), (second, &other[..])] {
                match outcome {
                    Ok(_) if !sealed => apply(&mut model, operations),
                    Err(Error::Log(LogError::NoSegment { .. })) => refused += 1,
                    Err(Error::Log(LogError::OutcomeUnknown { .. } | LogError::Poisoned { .. })) => sealed = true,
                    other => panic!("{other:?} after {refused} refusals"),
                }
            }
            if !sealed {
                expect(&store, &model, "while it writes");
            }
        }
        (model, refused, sealed)
    };
    let whole = Arc::new(FaultStore::new(FaultPlan::none()));
    write_all(&whole);
    let mut times = 0;
    for n in 8..whole.operations() {
        let failing = Arc::new(FaultStore::new(FaultPlan::at(n, Fault::Fail(std::io::ErrorKind::StorageFull))));
        let (model, refused, sealed) = write_all(&failing);
        times += u32::from(refused > 0);
        if !sealed {
            let files = failing.after_crash(AfterCrash::LoseUnsynced);
            expect(&open(&files), &model, &format!("after a failure at {n}"));
        }
    }
    assert!(times > 20, "only {times} places where the log could not grow");
}
