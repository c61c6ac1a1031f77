//! One byte of the log or of a checkpoint is damaged: what a repair leaves opens, and nothing is gone from the folder.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::TryStreamExt;
use futures::executor::block_on;

use super::repair_log;
use crate::clock::ManualClock;
use crate::files::{FileStore, MemoryStore};
use crate::model::{DateTime, Key, KeyRange, Value};
use crate::storage::error::{Error, Result};
use crate::storage::{Change, Condition, Edit, LogError, Operation, SegmentBytes, Store, StoreOptions, check};

const TABLE: u64 = 1;
const NOW_TICKS: i64 = 17_145_504_000_000_000;

fn open(files: &MemoryStore) -> Result<Store> {
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

/// A folder with several segments, a checkpoint if there are folds, and every value that each key ever had.
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
    let (mut repaired, mut whole, mut hopeless) = (0, 0, 0);
    for folds in [false, true] {
        let (files, history) = filled(folds);
        let before = files.files();
        let damageable: Vec<&String> =
            before.keys().filter(|path| path.starts_with("log/") || path.starts_with("checkpoint/")).collect();
        assert!(damageable.len() > 2, "{damageable:?}");
        for path in damageable {
            for at in (0..before[path].len()).step_by(before[path].len() / 23 + 1) {
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
                let repair = match block_on(repair_log(Arc::new(files.clone()))) {
                    Ok(repair) => repair.unwrap_or_else(|| panic!("{what}: nothing is found")),
                    Err(_) if path.starts_with("checkpoint/") => {
                        hopeless += 1;
                        assert_eq!(files.files(), damaged, "{what}: nothing is done by half");
                        continue;
                    }
                    Err(error) => panic!("{what}: {error}"),
                };
                assert!(!repair.faults.is_empty() && !repair.quarantined.is_empty(), "{what}: {repair:?}");
                // Nothing is gone: each file is where it was, or in the quarantine.
                let after = files.files();
                let contents: BTreeSet<&Vec<u8>> = after.values().collect();
                for (path, bytes) in &damaged {
                    assert!(contents.contains(bytes), "{what}: {path} is gone");
                }
                let store = open(&files).unwrap_or_else(|error| panic!("{what}: {error}\n{repair:?}"));
                // Files that later folds had replaced are missing.
                let report = block_on(check(store.files(), &store.snapshot()));
                block_on(store.quarantine(&report.damaged)).unwrap_or_else(|error| panic!("{what}: {error}"));
                let report = block_on(check(store.files(), &store.snapshot()));
                assert_eq!(report.findings, [], "{what}");
                for (key, value) in entities(&store) {
                    assert!(history[&key].contains(&value), "{what}: {key:?} never was {value}");
                }
                let kept = entities(&store);
                drop(store);
                // It goes on, and stays.
                let store = open(&files).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(entities(&store), kept, "{what}");
                repaired += 1;
            }
        }
    }
    assert!(repaired > 60 && whole > 5 && hopeless > 5, "{repaired} {whole} {hopeless}");
}

#[test]
fn a_whole_log_is_left_alone() {
    let (files, _) = filled(true);
    let before = files.files();
    assert_eq!(block_on(repair_log(Arc::new(files.clone()))).expect("reads"), None);
    assert_eq!(files.files(), before);
}
