//! One byte of the log or of a checkpoint is damaged: what a repair leaves opens, and nothing is
//! gone from the folder.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use futures::TryStreamExt;
use futures::executor::block_on;

use super::repair_log;
use crate::error::{Error, Result};
use crate::{Change, Condition, Edit, LogError, Operation, SegmentBytes, Store, StoreOptions, check};
use rowkey_base::clock::ManualClock;
use rowkey_model::files::fault::{AfterCrash, Fault, FaultPlan, FaultStore};
use rowkey_model::files::{FileStore, MemoryStore, Operation as FileOperation, paths};
use rowkey_model::{DateTime, Key, KeyRange, Value};

const TABLE: u64 = 1;
const NOW_TICKS: i64 = 17_145_504_000_000_000;

fn open(files: &(impl FileStore + Clone + 'static)) -> Result<Store> {
    let clock = Arc::new(ManualClock::new(DateTime::from_ticks(NOW_TICKS)));
    // So small that there are many.
    let options = StoreOptions {
        segment_bytes: SegmentBytes::each(4 << 10),
        checkpoint_after_bytes: 3 << 10,
        ..StoreOptions::default()
    };
    block_on(Store::open(Arc::new(files.clone()) as Arc<dyn FileStore>, clock, options))
}

type History = BTreeMap<Key, BTreeSet<i32>>;

/// A folder with several segments, a checkpoint if there are folds, and every value that each key
/// ever had.
fn filled(folds: bool) -> (MemoryStore, History) {
    let files = MemoryStore::new();
    let store = open(&files).expect("opens");
    let (account, name) = ("acme".to_owned(), "People".to_owned());
    store.commit(&[Edit::CreateTable { id: TABLE, account, name, created_ticks: 0 }]).expect("a table");
    let mut history = History::new();
    for i in 0..120_i32 {
        let key = Key::new(format!("p{}", i % 3), format!("{:02}", i % 40));
        let text = Value::String("x".repeat(80));
        let properties = vec![(Arc::from("N"), Value::Int32(i)), (Arc::from("Text"), text)];
        let change = Change::InsertOrReplace(properties.into_iter().collect());
        let operation = Operation { table: TABLE, key: Cow::Borrowed(&key), change, condition: Condition::Any };
        block_on(store.write(&[operation])).expect("a write");
        history.entry(key).or_default().insert(i);
        if folds && i % 25 == 20 && i < 80 {
            let _job = store.begin_job("acme", "People").expect("a job");
            store.fold(TABLE).expect("folds");
        }
    }
    (files, history)
}

fn entities(store: &Store) -> BTreeMap<Key, i32> {
    let snapshot = store.snapshot();
    let Some(table) = snapshot.table(TABLE) else { return BTreeMap::new() };
    let batches = snapshot.table_snapshot(table).range(Arc::clone(store.files()), KeyRange::all());
    let batches: Vec<_> = block_on(batches.try_collect()).expect("entities");
    let number = |value: Option<&Value>| match value {
        Some(Value::Int32(number)) => *number,
        other => panic!("{other:?}"),
    };
    batches.into_iter().flatten().map(|entity| (entity.key.clone(), number(entity.get("N")))).collect()
}

#[test]
fn whatever_byte_is_damaged() {
    let (mut repaired, mut whole, mut checkpoints, mut refused) = (0, 0, 0, 0);
    for folds in [false, true] {
        let (files, history) = filled(folds);
        let before = files.files();
        let damageable: Vec<&String> =
            before.keys().filter(|path| path.starts_with("log/") || path.starts_with("checkpoint/")).collect();
        assert!(damageable.len() > 2, "{damageable:?}");
        for path in damageable {
            // One of them in the first record.
            for at in (0..before[path].len()).step_by(before[path].len() / 23 + 1).chain([60]) {
                let what = format!("byte {at} of {path}, folds {folds}");
                let mut damaged = before.clone();
                damaged.entry(path.clone()).and_modify(|bytes| bytes[at] ^= 0x10);
                let files = MemoryStore::with_files(damaged.clone());
                match open(&files) {
                    Ok(_) => {
                        // It lay behind everything, or was not read any more.
                        whole += 1;
                        continue;
                    }
                    Err(Error::Log(LogError::Corrupt { .. }) | Error::Corrupt { .. }) => {}
                    Err(error) => panic!("{what}: {error}"),
                }
                assert_eq!(files.files(), damaged, "{what}: refusing changes nothing");
                let repair = block_on(repair_log(Arc::new(files.clone())));
                let repair = match repair {
                    Err(error) if path == &paths::log_segment(1) && !folds => {
                        // The table is made by the first record.
                        assert!(error.to_string().contains("a cut there would leave nothing"), "{what}: {error}");
                        assert_eq!(files.files(), damaged, "{what}: nothing is done by half");
                        refused += 1;
                        continue;
                    }
                    repair => repair.unwrap_or_else(|error| panic!("{what}: {error}")),
                };
                let repair = repair.unwrap_or_else(|| panic!("{what}: nothing is found"));
                assert!(!repair.faults.is_empty() && !repair.quarantined.is_empty(), "{what}: {repair:?}");
                // Nothing is gone: each file is where it was, or in the quarantine.
                let after = files.files();
                let contents: BTreeSet<&Vec<u8>> = after.values().collect();
                for (path, bytes) in &damaged {
                    assert!(contents.contains(bytes), "{what}: {path} is gone");
                }
                let store = open(&files).unwrap_or_else(|error| panic!("{what}: {error}\n{repair:?}"));
                // Files that later folds had replaced are missing.
                let report = block_on(check(store.files(), &store.snapshot())).expect("reads");
                block_on(store.quarantine(&report.damaged)).unwrap_or_else(|error| panic!("{what}: {error}"));
                let report = block_on(check(store.files(), &store.snapshot())).expect("reads");
                assert_eq!(report.findings, [], "{what}");
                for (key, value) in entities(&store) {
                    assert!(history[&key].contains(&value), "{what}: {key:?} never was {value}");
                }
                let kept = entities(&store);
                drop(store);
                if path.starts_with("checkpoint/") {
                    // The one before it and the log behind that have everything.
                    checkpoints += 1;
                    assert_eq!(repair.quarantined, [paths::quarantined(path, 0)], "{what}");
                    assert_eq!(kept, newest(&history), "{what}: {repair:?}");
                }
                // It goes on, and stays.
                let store = open(&files).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(entities(&store), kept, "{what}");
                repaired += 1;
            }
        }
    }
    let seen = format!("{repaired} repaired, {whole} whole, {checkpoints} checkpoints, {refused} refused");
    assert!(repaired > 60 && whole > 5 && checkpoints > 5 && refused > 0, "{seen}");
}

/// Every entity as it was written last.
fn newest(history: &History) -> BTreeMap<Key, i32> {
    history.iter().filter_map(|(key, values)| Some((key.clone(), *values.last()?))).collect()
}

fn checkpoints(files: &MemoryStore) -> Vec<String> {
    files.files().into_keys().filter(|path| paths::parse_checkpoint(path).is_some()).collect()
}

fn flip(files: &mut BTreeMap<String, Vec<u8>>, path: &str) {
    let bytes = files.get_mut(path).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
}

#[test]
fn without_the_newest_checkpoint_the_one_before_and_the_log_have_everything() {
    let (files, history) = filled(true);
    let there = checkpoints(&files);
    assert_eq!(there.len(), 2, "{there:?}");
    files.remove(&there[1]).expect("removes");
    assert_eq!(block_on(repair_log(Arc::new(files.clone()))).expect("reads"), None);
    let store = open(&files).expect("opens");
    assert_eq!(entities(&store), newest(&history));
    assert_eq!(block_on(check(store.files(), &store.snapshot())).expect("reads").findings, []);
}

#[test]
fn a_missing_checkpoint_is_named_and_everything_stays() {
    let (files, _) = filled(true);
    let log: Vec<u64> = files.files().keys().filter_map(|path| paths::parse_log_segment(path)).collect();
    assert!(log[0] > 1, "{log:?}");
    // Of both, and of the newest where the log begins behind the one before.
    for keep in [None, Some(1), Some(log[0] - 2)] {
        let mut left = files.files();
        for path in checkpoints(&files) {
            left.remove(&path);
        }
        if let Some(sequence) = keep {
            let (path, mut content) = (paths::checkpoint(sequence), files.files()[&checkpoints(&files)[0]].clone());
            content[12..20].copy_from_slice(&sequence.to_le_bytes());
            let crc = crc32c::crc32c(&content[..28]);
            content[28..32].copy_from_slice(&crc.to_le_bytes());
            left.insert(path, content);
        }
        let damaged = MemoryStore::with_files(left.clone());
        let opened = open(&damaged).map(drop).expect_err("it is missing");
        let repaired = block_on(repair_log(Arc::new(damaged.clone()))).expect_err("nobody knows the tables");
        for error in [opened, repaired] {
            assert!(matches!(error, Error::Log(LogError::CheckpointMissing { .. })), "{keep:?}: {error}");
            let wanted = format!(":memory:/{} is missing", paths::checkpoint(log[0] - 1));
            assert!(error.to_string().starts_with(&wanted), "{keep:?}: {error}");
            let newest = keep.map_or("there is no checkpoint".to_owned(), |keep| format!("that of record {keep}"));
            assert!(error.to_string().ends_with(&newest), "{keep:?}: {error}");
        }
        assert_eq!(damaged.files(), left, "{keep:?}: nothing is moved, cut or swept");
    }
}

#[test]
fn a_damaged_checkpoint_is_not_given_up_for_a_log_that_ends_before_it() {
    let (files, _) = filled(true);
    let there = checkpoints(&files);
    let newest = paths::parse_checkpoint(&there[1]).expect("a checkpoint");
    let mut left = files.files();
    flip(&mut left, &there[1]);
    let log: Vec<u64> = left.keys().filter_map(|path| paths::parse_log_segment(path)).collect();
    let holds_it = log.partition_point(|first| *first <= newest) - 1;
    let last = log[holds_it - 1];
    left.retain(|path, _| paths::parse_log_segment(path).is_none_or(|first| first <= last));
    // And one whose log is damaged before the record that it is of.
    let mut spoilt = files.files();
    flip(&mut spoilt, &there[1]);
    flip(&mut spoilt, &paths::log_segment(last));
    for left in [left, spoilt] {
        let damaged = MemoryStore::with_files(left.clone());
        let error = block_on(repair_log(Arc::new(damaged.clone()))).expect_err("records would be lost");
        assert!(error.to_string().contains(&format!(":memory:/{} is damaged", there[1])), "{error}");
        assert_eq!(damaged.files(), left);
    }
}

/// EACCES, EMFILE, ENFILE, ENOMEM, EIO: of a file that may be whole.
const CANNOT_READ: [i32; 5] = [13, 24, 23, 12, 5];

#[test]
fn what_cannot_be_read_now_ends_a_repair_before_anything_is_moved() {
    let (files, _) = filled(true);
    let there = checkpoints(&files);
    let segments: Vec<String> =
        files.files().into_keys().filter(|path| paths::parse_log_segment(path).is_some()).collect();
    let [.., mended, fault, last] = &segments[..] else { panic!("{segments:?}") };
    for (damaged, unreadable) in [
        (&there[1], &there[0]),
        (&there[1], last),
        (fault, &there[1]),
        (fault, mended),
        (fault, fault),
        (fault, last),
        (fault, &"checkpoint".to_owned()),
        (fault, &"log".to_owned()),
        (fault, &"tables".to_owned()),
    ] {
        let mut left = files.files();
        flip(&mut left, damaged);
        if damaged == fault {
            // There is more to do, and it comes first: a header that is written anew.
            left.get_mut(mended).expect("a segment")[3] ^= 1;
        }
        let operations = match unreadable.contains('.') {
            true => &[FileOperation::Open, FileOperation::Read][..],
            false => &[FileOperation::List],
        };
        for (operation, os_error) in
            operations.iter().flat_map(|operation| CANNOT_READ.map(|error| (*operation, error)))
        {
            let what = format!("{damaged} damaged, {operation} of {unreadable} fails with {os_error}");
            let store = FaultStore::over(&MemoryStore::with_files(left.clone()), FaultPlan::none());
            store.fail_reading(unreadable, operation, os_error);
            let error = block_on(repair_log(Arc::new(store.clone()))).expect_err(&what);
            assert!(error.is_unreadable(), "{what}: {error}");
            assert!(error.to_string().contains(unreadable.as_str()), "{what}: {error}");
            assert_eq!(store.after_crash(AfterCrash::KeepUnsynced).files(), left, "{what}");
        }
        // It is for the reading alone that nothing was done.
        let repair = block_on(repair_log(Arc::new(MemoryStore::with_files(left)))).expect("repairs");
        let faults = repair.map_or(0, |repair| repair.faults.len());
        assert_eq!(faults, if damaged == fault { 2 } else { 1 }, "{damaged}");
    }
}

/// A folder whose newest checkpoint knows of later records than it covers, and the history of its
/// first table. In the second a write is held back in the log.
fn held_back() -> (MemoryStore, History) {
    let files = MemoryStore::new();
    let store = open(&files).expect("opens");
    let mut history = History::new();
    for (id, name) in [(TABLE, "People"), (TABLE + 1, "Others")] {
        let (account, name) = ("acme".to_owned(), name.to_owned());
        store.commit(&[Edit::CreateTable { id, account, name, created_ticks: 0 }]).expect("a table");
    }
    for i in 0..120_i32 {
        let table = if i == 40 { TABLE + 1 } else { TABLE };
        let key = Key::new("p", format!("{i:03}"));
        let text = Value::String("x".repeat(80));
        let properties = vec![(Arc::from("N"), Value::Int32(i)), (Arc::from("Text"), text)];
        let change = Change::InsertOrReplace(properties.into_iter().collect());
        let operation = Operation { table, key: Cow::Borrowed(&key), change, condition: Condition::Any };
        block_on(store.write(&[operation])).expect("a write");
        if table == TABLE {
            history.entry(key).or_default().insert(i);
        }
    }
    let _job = store.begin_job("acme", "People").expect("a job");
    store.fold(TABLE).expect("folds");
    drop(store);
    (files, history)
}

/// What is left of a folder when the newest segments are gone, as many as there are; with a damaged
/// last record as well.
fn without_newest_segments(files: &MemoryStore) -> Vec<(String, BTreeMap<String, Vec<u8>>)> {
    let segments: Vec<String> =
        files.files().into_keys().filter(|path| paths::parse_log_segment(path).is_some()).collect();
    assert!(segments.len() > 3, "{segments:?}");
    let mut cases = Vec::new();
    for kept in 0..segments.len() {
        let mut left = files.files();
        left.retain(|path, _| !segments[kept..].contains(path));
        cases.push((format!("{kept} of {} segments", segments.len()), left.clone()));
        if let Some(last) = kept.checked_sub(1) {
            let bytes = left.get_mut(&segments[last]).expect("a segment");
            let end = bytes.iter().rposition(|byte| *byte != 0).expect("records");
            bytes[end] ^= 0x10;
            cases.push((format!("{kept} of {} segments, the last damaged", segments.len()), left));
        }
    }
    cases
}

#[test]
fn an_opening_that_is_refused_writes_nothing() {
    let (files, _) = held_back();
    for (what, left) in without_newest_segments(&files) {
        let damaged = MemoryStore::with_files(left.clone());
        let error = open(&damaged).map(drop).expect_err(&what);
        assert!(matches!(error, Error::Log(LogError::Corrupt { .. })), "{what}: {error}");
        assert_eq!(damaged.files(), left, "{what}: {error}");
    }
    // Nor does one that cannot look through the folder once the log is known to be whole.
    let (mut left, plan) = (files.files(), FaultPlan::none());
    left.insert(paths::temporary(&paths::checkpoint(1)), Vec::new());
    let store = FaultStore::over(&MemoryStore::with_files(left.clone()), plan);
    store.fail_reading("", FileOperation::List, CANNOT_READ[0]);
    let clock = Arc::new(ManualClock::new(DateTime::from_ticks(NOW_TICKS)));
    let opened = block_on(Store::open(Arc::new(store.clone()), clock, StoreOptions::default()));
    assert!(opened.map(drop).expect_err("no list").is_unreadable());
    assert_eq!(store.after_crash(AfterCrash::KeepUnsynced).files(), left);
}

/// A repair that failed is begun again by a process that reads from memory what is not on the disk.
#[test]
fn what_is_repaired_after_a_failure_survives_a_crash() {
    let (files, _) = held_back();
    let mut cases = without_newest_segments(&files);
    // With records to make up, and with some to cut before them.
    cases.retain(|(what, _)| what.starts_with('1'));
    // A record in the middle, with segments behind it.
    let mut left = files.files();
    let segments: Vec<String> = left.keys().filter(|path| paths::parse_log_segment(path).is_some()).cloned().collect();
    flip(&mut left, &segments[segments.len() - 2]);
    cases.push(("a segment damaged in its middle".to_owned(), left));
    for (what, left) in cases {
        let damaged = MemoryStore::with_files(left);
        for n in 1.. {
            let disk = FaultStore::over(&damaged, FaultPlan::at(n, Fault::Fail(io::ErrorKind::Other)));
            let what = format!("{what}, an error at {n}");
            let first = block_on(repair_log(Arc::new(disk.clone())));
            if disk.faults() == 0 {
                assert!(n > 1 && first.is_ok(), "{what}: {first:?}");
                break;
            }
            block_on(repair_log(Arc::new(disk.clone()))).unwrap_or_else(|error| panic!("{what}, again: {error}"));
            let store = open(&disk).unwrap_or_else(|error| panic!("{what}, repaired: {error}"));
            let found = entities(&store);
            for mode in [AfterCrash::LoseUnsynced, AfterCrash::KeepUnsynced, AfterCrash::TearUnsynced(n)] {
                let store = open(&disk.after_crash(mode)).unwrap_or_else(|error| panic!("{what}, {mode:?}: {error}"));
                assert_eq!(entities(&store), found, "{what}, {mode:?}");
            }
        }
    }
}

#[test]
fn a_whole_log_is_left_alone() {
    let (files, _) = filled(true);
    let before = files.files();
    assert_eq!(block_on(repair_log(Arc::new(files.clone()))).expect("reads"), None);
    assert_eq!(files.files(), before);
}
