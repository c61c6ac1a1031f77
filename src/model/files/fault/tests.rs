use super::*;

const ALL_MODES: [AfterCrash; 3] = [AfterCrash::LoseUnsynced, AfterCrash::KeepUnsynced, AfterCrash::TearUnsynced(1)];

fn durable(store: &FaultStore, path: &str) -> Option<Vec<u8>> {
    store.after_crash(AfterCrash::LoseUnsynced).files().remove(path)
}

#[test]
fn content_needs_a_sync_and_names_one_of_the_folder() {
    let store = FaultStore::new(FaultPlan::none());
    let mut file = store.create("f/a").unwrap();
    file.write_at(0, b"one").unwrap();
    file.sync().unwrap();
    assert_eq!(durable(&store, "f/a"), None, "the name is not durable");
    store.sync_folder("").unwrap();
    assert_eq!(durable(&store, "f/a"), None, "that was another folder");
    store.sync_folder("f").unwrap();
    assert_eq!(durable(&store, "f/a").unwrap(), b"one");

    file.write_at(3, b" two").unwrap();
    file.set_bytes(5).unwrap();
    assert_eq!(durable(&store, "f/a").unwrap(), b"one");
    assert_eq!(store.after_crash(AfterCrash::KeepUnsynced).files()["f/a"], b"one t");

    store.rename("f/a", "f/b").unwrap();
    assert_eq!((durable(&store, "f/a").is_some(), durable(&store, "f/b")), (true, None));
    store.sync_folder("f").unwrap();
    assert_eq!((durable(&store, "f/a"), durable(&store, "f/b").unwrap()), (None, b"one".to_vec()));

    store.remove("f/b").unwrap();
    assert!(durable(&store, "f/b").is_some());
    store.sync_folder("f").unwrap();
    assert_eq!(durable(&store, "f/b"), None);
    assert_eq!(store.operations(), 11);
}

#[test]
fn tearing_makes_prefixes_holes_and_old_names() {
    let store = FaultStore::new(FaultPlan::none());
    let mut file = store.create("a").unwrap();
    store.sync_folder("").unwrap();
    file.write_at(0, b"first").unwrap();
    file.write_at(5, b"second").unwrap();
    store.rename("a", "b").unwrap();
    let outcomes: Vec<_> = (0..2000).map(|seed| store.after_crash(AfterCrash::TearUnsynced(seed)).files()).collect();
    let seen =
        |path: &str, content: &[u8]| outcomes.iter().any(|files| files.get(path).is_some_and(|found| found == content));
    assert!(seen("a", b"") && seen("b", b"") && seen("b", b"firstsecond") && seen("a", b"first"));
    assert!(seen("a", b"\0\0\0\0\0second") || seen("b", b"\0\0\0\0\0second"), "writes survive in any order");
    assert!(seen("a", b"firs") || seen("b", b"firs"));
    assert!(seen("a", b"fi\0st") || seen("b", b"fi\0st"), "a write survives with a hole");
    assert!(outcomes.iter().all(|files| files.len() == 1), "a rename within a folder is atomic");
    assert_eq!(outcomes[7], store.after_crash(AfterCrash::TearUnsynced(7)).files(), "the same seed, the same outcome");
}

#[test]
fn after_a_stop_everything_fails() {
    let store = FaultStore::new(FaultPlan::at(3, Fault::Stop));
    let mut file = store.create("a").unwrap();
    file.write_at(0, b"one").unwrap();
    let read = store.open("a").now_or_never().unwrap().unwrap();
    assert_eq!(&read.read(0..3).now_or_never().unwrap().unwrap()[..], b"one");
    assert!(!store.is_stopped());
    let errors = [
        file.sync(),
        file.write_at(0, b"x"),
        store.create("b").map(drop),
        store.remove("a"),
        store.sync_folder(""),
        store.open("a").now_or_never().unwrap().map(drop),
        store.list("").now_or_never().unwrap().map(drop),
        read.read(0..3).now_or_never().unwrap().map(drop),
        store.lock().map(drop),
    ];
    for error in errors.map(Result::unwrap_err) {
        assert!(matches!(error, Error::Stopped { .. }), "{error}");
    }
    assert!(store.is_stopped());
    assert_eq!(store.operations(), 3);
}

#[test]
fn a_torn_write_reaches_the_disk_in_part() {
    let before = MemoryStore::with_files([("a".to_owned(), vec![b'0'; 100])]);
    let store = FaultStore::over(&before, FaultPlan::at(1, Fault::Tear));
    let error = store.open_for_write("a").unwrap().write_at(0, &[b'1'; 100]).unwrap_err();
    assert!(matches!(error, Error::Stopped { .. }), "{error}");
    for mode in ALL_MODES {
        let content = store.after_crash(mode).files()["a"].clone();
        let ones = content.iter().take_while(|byte| **byte == b'1').count();
        assert!(ones > 0 && ones < 100 && content[ones..].iter().all(|byte| *byte == b'0'), "{content:?}");
    }
}

#[test]
fn a_failed_operation_is_the_only_one() {
    let before = MemoryStore::with_files([("a".to_owned(), vec![b'0'; 100])]);
    let plan = FaultPlan::at(1, Fault::Fail(io::ErrorKind::StorageFull)).and(3, Fault::Fail(io::ErrorKind::Other));
    let store = FaultStore::over(&before, plan);
    let mut file = store.open_for_write("a").unwrap();
    let error = file.write_at(0, &[b'1'; 100]).unwrap_err();
    assert!(matches!(error, Error::NoSpace { .. }), "{error}");
    file.write_at(0, &[b'2'; 10]).unwrap();
    assert!(matches!(file.sync().unwrap_err(), Error::Io { .. }));
    file.sync().unwrap();
    let content = durable(&store, "a").unwrap();
    assert_eq!(content, vec![b'0'; 100], "what a failed sync dropped, a later one does not bring back");
    assert_eq!(store.after_crash(AfterCrash::KeepUnsynced).files()["a"][..10], [b'2'; 10]);
}

#[test]
fn the_end_of_a_process_loses_nothing_and_makes_nothing_durable() {
    let store = FaultStore::new(FaultPlan::at(5, Fault::Fail(io::ErrorKind::Other)).and(7, Fault::Stop));
    let mut file = store.create("a").unwrap();
    store.sync_folder("").unwrap();
    file.write_at(0, b"one").unwrap();
    file.sync().unwrap();
    assert!(file.sync().is_err());
    file.write_at(3, b" two").unwrap();
    assert!(file.sync().is_err() && store.is_stopped());
    assert_eq!(store.faults(), 2);
    let next = store.after_kill(FaultPlan::none());
    assert!(!next.is_stopped() && next.lock().is_ok());
    assert_eq!(durable(&next, "a").unwrap(), b"one");
    let read = next.open("a").now_or_never().unwrap().unwrap();
    assert_eq!(&read.read(0..7).now_or_never().unwrap().unwrap()[..], b"one two");
    next.open_for_write("a").unwrap().sync().unwrap();
    assert_eq!(durable(&next, "a").unwrap(), b"one two");
    assert_eq!(durable(&store, "a").unwrap(), b"one", "the machine of the one before is another");
}
