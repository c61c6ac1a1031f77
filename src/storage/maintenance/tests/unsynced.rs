//! Durability of the operating system: what a crash of the machine may take, and what it may not.

use super::*;
use rowkey_model::files::fault::{AfterCrash, Fault, FaultPlan, FaultStore};

/// States in the order in which they were acknowledged, and the place of the last that was made
/// durable.
struct Known {
    states: Vec<Model>,
    durable: usize,
    /// The last one may not be acknowledged.
    perhaps: Option<Model>,
}

fn workload(files: Arc<FaultStore>) -> Known {
    let mut known = Known { states: vec![Model::new()], durable: 0, perhaps: None };
    let Ok(store) = open_with(files, durability(Durability::Os)) else { return known };
    let _ = create(&store);
    for round in 0..40 {
        let operations = [put(key("p", round % 7), &content(round as i32)), put(key("q", round), &content(0))];
        let mut after = known.states.last().cloned().unwrap_or_default();
        apply(&mut after, &operations);
        match block_on(store.write(&operations)) {
            Ok(_) => known.states.push(after),
            Err(crate::Error::Log(crate::LogError::OutcomeUnknown { .. })) => {
                known.perhaps = Some(after);
            }
            Err(_) => {}
        }
        if round % 15 == 14 && fold(&store).is_ok() {
            known.durable = known.states.len() - 1;
        }
    }
    known
}

#[test]
fn a_crash_takes_the_last_writes_at_most_and_never_some_before_others() {
    let whole = Arc::new(FaultStore::new(FaultPlan::none()));
    let known = workload(Arc::clone(&whole));
    assert_eq!((known.states.len(), known.durable), (41, 30));
    let operations = whole.operations();
    let (mut lost, mut torn) = (0, 0);
    for n in 1..=operations {
        for fault in [Fault::Stop, Fault::Tear] {
            let failing = Arc::new(FaultStore::new(FaultPlan::at(n, fault)));
            let known = workload(Arc::clone(&failing));
            for mode in [AfterCrash::LoseUnsynced, AfterCrash::KeepUnsynced, AfterCrash::TearUnsynced(n)] {
                let what = format!("{fault:?} at {n} of {operations}, {mode:?}");
                let files = failing.after_crash(mode);
                let store =
                    open_with(Arc::new(files.clone()), small()).unwrap_or_else(|error| panic!("{what}: {error}"));
                torn += u64::from(store.torn_tail().is_some());
                let found = entities(&store, &store.snapshot());
                let place = known.states.iter().rposition(|state| *state == found);
                let place = place.or((known.perhaps.as_ref() == Some(&found)).then_some(known.states.len()));
                let Some(place) = place else { panic!("{what}: {found:#?}") };
                assert!(place >= known.durable, "{what}: state {place}, and {} was durable", known.durable);
                lost += u64::from(place + 1 < known.states.len());
                expect(&store, &found, &what);
            }
        }
    }
    assert!(lost > 20 && torn > 20, "{lost} crashes took writes, {torn} tore the log: the test does not reach them");
}

#[test]
fn closing_syncs() {
    let files = Arc::new(FaultStore::new(FaultPlan::none()));
    let store = open_with(Arc::clone(&files) as _, durability(Durability::Os)).expect("opens");
    create(&store).expect("a table");
    let mut model = Model::new();
    let before = files.operations();
    for row in 0..20 {
        write(&store, &mut model, &[put(key("p", row), &content(1))]);
    }
    assert_eq!(files.operations() - before, 20, "one write each, no sync");
    let crashed = open(&files.after_crash(AfterCrash::LoseUnsynced));
    expect(&crashed, &Model::new(), "nothing was synced");
    drop(store);
    let closed = open(&files.after_crash(AfterCrash::LoseUnsynced));
    expect(&closed, &model, "closed");
    assert_eq!(closed.torn_tail(), None);
}

#[test]
fn a_killed_process_loses_nothing() {
    let files = Arc::new(FaultStore::new(FaultPlan::none()));
    let store = open_with(Arc::clone(&files) as _, durability(Durability::Os)).expect("opens");
    create(&store).expect("a table");
    let mut model = Model::new();
    for row in 0..200 {
        write(&store, &mut model, &[put(key("p", row), &content(1))]);
    }
    assert!(store.log_bytes() > 2 * small().segment_bytes.max, "several segments");
    // The machine goes on, so what was written is there.
    expect(&open(&files.after_crash(AfterCrash::KeepUnsynced)), &model, "killed");
}
