//! What check finds where the manifest and the files disagree, and what a repair leaves.

use std::sync::Arc;

use futures::executor::block_on;
use roaring::RoaringBitmap;

use super::{Engine, NOW_TICKS, entities, import, open};
use rowkey_base::clock::ManualClock;
use rowkey_model::files::fault::{AfterCrash, FaultPlan, FaultStore};
use rowkey_model::files::{FileStore, MemoryStore, Operation};
use rowkey_model::{DateTime, Key, TableName};
use rowkey_storage::run::RunFile;
use rowkey_storage::{CheckReport, Edit, RangePartition, RangeStart, Store, StoreOptions, check};

fn filled() -> (Engine, MemoryStore) {
    let files = MemoryStore::new();
    let engine = open(Arc::new(files.clone())).expect("opens");
    let text: String = (0..300)
        .map(|i| {
            format!("{{\"PartitionKey\":\"p{}\",\"RowKey\":\"{i:03}\",\"Number\":{i},\"Text\":\"t{i}\"}}\n", i / 100)
        })
        .collect();
    import(&engine, "Things", &text, 4000).expect("imports");
    import(&engine, "Others", &text, 1 << 20).expect("imports");
    (engine, files)
}

fn checked(engine: &Engine) -> CheckReport {
    let store = engine.store();
    block_on(check(store.files(), &store.snapshot())).expect("reads")
}

fn ranges(engine: &Engine) -> (u64, Vec<RangePartition>) {
    let snapshot = engine.store().snapshot();
    let name = TableName::parse("Things").expect("a name");
    let table = snapshot.catalog.table(engine.account(), &name).expect("a table");
    (table.id, table.manifest.ranges().to_vec())
}

/// Commits a manifest in which one file is described otherwise.
fn describe(engine: &Engine, change: impl FnOnce(&mut RunFile)) -> Arc<RunFile> {
    let (table, mut ranges) = ranges(engine);
    let place = ranges.len() / 2;
    let mut file = RunFile::clone(&ranges[place].files[0]);
    change(&mut file);
    let file = Arc::new(file);
    ranges[place].files[0] = Arc::clone(&file);
    let edit = Edit::ReplaceRanges { table, from: place, to: place + 1, ranges: vec![ranges[place].clone()] };
    engine.store().commit(&[edit]).expect("commits");
    file
}

#[test]
fn what_the_manifest_says_is_compared_with_the_file() {
    type Change = fn(&mut RunFile);
    let changes: [(Change, bool, &str); 9] = [
        (|file| file.crc32c ^= 1, false, "its checksum is"),
        (|file| file.bytes += 1, false, "bytes, the manifest says"),
        (|file| file.rows += 1, false, "rows, the manifest says"),
        (|file| file.last = file.first.clone(), true, "lies outside the bounds in the manifest"),
        (|file| file.last.row.push('x'), true, "its first or last key is not the one in the manifest"),
        (|file| file.partitions += 1, true, "PartitionKeys, the manifest says"),
        (|file| file.columns[0].entities -= 1, true, "column Number has"),
        (|file| file.columns[1].min = Some("t999".to_owned()), true, "the least or greatest value of column Text"),
        (|file| file.mask = Some(Arc::new(RoaringBitmap::from([1_000_000]))), true, "its mask names row 1000000"),
    ];
    for (change, is_whole, wanted) in changes {
        let (engine, files) = filled();
        assert_eq!(checked(&engine).findings, []);
        let before = entities(&engine, "Things").expect("entities");
        let file = describe(&engine, change);
        let report = checked(&engine);
        let [finding] = &report.findings[..] else { panic!("{wanted}: {:?}", report.findings) };
        assert!(finding.path == file.path && finding.problem.contains(wanted), "{wanted}: {finding:?}");
        let [damaged] = &report.damaged[..] else { panic!("{wanted}: {:?}", report.damaged) };
        assert_eq!(
            (damaged.table.as_str(), damaged.path.as_str(), &damaged.first),
            ("Things", file.path.as_str(), &file.first)
        );
        let quarantined = block_on(engine.store().quarantine(&report.damaged)).expect("repairs");
        let moved_to = (!is_whole).then(|| format!("quarantine/{}", file.path));
        assert_eq!((quarantined[0].was_whole, &quarantined[0].moved_to), (is_whole, &moved_to), "{wanted}");
        drop((file, engine));
        // The rest is there, also after opening again, and the file is kept.
        let engine = open(Arc::new(files.clone())).expect("opens");
        let report = checked(&engine);
        assert_eq!((&report.findings[..], &report.damaged[..]), (&[][..], &[][..]), "{wanted}");
        let left = entities(&engine, "Things").expect("entities");
        if is_whole {
            assert_eq!(left, before, "{wanted}");
        } else {
            let is_rest = left.len() < before.len() && left.iter().all(|entity| before.contains(entity));
            assert!(is_rest && !left.is_empty(), "{wanted}");
        }
        assert_eq!(entities(&engine, "Others").map(|entities| entities.len()), Some(300), "{wanted}");
        if let Some(moved_to) = moved_to {
            assert!(files.files().contains_key(&moved_to), "{wanted}");
        }
    }
}

#[test]
fn a_key_that_is_live_twice_is_named() {
    let (engine, files) = filled();
    let (table, ranges) = ranges(&engine);
    let place = ranges.len() / 2;
    let file = &ranges[place].files[0];
    let twin = RunFile { id: engine.store().file_ids().next(), ..RunFile::clone(file) };
    let twin = RunFile { path: file.path.replace(&format!("{:012}", file.id), &format!("{:012}", twin.id)), ..twin };
    let content = files.files()[&file.path].clone();
    rowkey_model::files::publish(&files, &twin.path, &content).expect("publishes");
    let both = vec![Arc::clone(file), Arc::new(twin)];
    let range = RangePartition { start: ranges[place].start.clone(), files: both };
    let edit = Edit::ReplaceRanges { table, from: place, to: place + 1, ranges: vec![range] };
    engine.store().commit(&[edit]).expect("commits");
    let report = checked(&engine);
    let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert!(finding.problem.contains("is live here and in "), "{finding:?}");
    assert_eq!(report.damaged, [], "neither file is damaged");
}

#[test]
fn a_file_in_the_wrong_place_cannot_be_committed() {
    let (engine, _) = filled();
    let (table, ranges) = ranges(&engine);
    let last = ranges.last().expect("ranges").files[0].clone();
    let wrong = vec![
        RangePartition { start: RangeStart::Unbounded, files: vec![last] },
        RangePartition { start: RangeStart::Partition(Key::new("p0", "").partition), files: vec![] },
    ];
    let edit = Edit::ReplaceRanges { table, from: 0, to: ranges.len(), ranges: wrong };
    engine.store().commit(&[edit]).expect_err("it lies outside its range partition");
    assert_eq!(checked(&engine).findings, []);
}

/// EACCES, EMFILE, ENFILE, ENOMEM, EIO: of a file that may be whole.
const CANNOT_READ: [i32; 5] = [13, 24, 23, 12, 5];

#[test]
fn a_file_that_cannot_be_read_now_is_not_damaged() {
    let (engine, files) = filled();
    drop(engine);
    let content = files.files();
    let runs: Vec<&String> = content.keys().filter(|path| path.starts_with("tables/")).collect();
    assert!(runs.len() > 2, "{runs:?}");
    for (at, run) in runs.iter().enumerate() {
        for os_error in CANNOT_READ {
            for operation in [Operation::Open, Operation::Read] {
                let what = format!("{operation} of {run}, {os_error}");
                let files = FaultStore::over(&files, FaultPlan::none());
                let clock = Arc::new(ManualClock::new(DateTime::from_ticks(NOW_TICKS)));
                let store = block_on(Store::open(Arc::new(files.clone()), clock, StoreOptions::default()));
                let store = store.expect("opens");
                // Another one is damaged indeed, whether it is looked at before or not.
                let damaged = runs[(at + 1) % runs.len()];
                files.remove(damaged).expect("removes");
                files.fail_reading(run, operation, os_error);
                let before = files.after_crash(AfterCrash::KeepUnsynced).files();
                let error = block_on(check(store.files(), &store.snapshot())).expect_err(&what);
                assert!(error.is_unreadable(), "{what}: {error}");
                assert!(error.to_string().contains(&format!("cannot {operation} :memory:/{run}")), "{what}: {error}");
                assert_eq!(files.after_crash(AfterCrash::KeepUnsynced).files(), before, "{what}");
            }
        }
    }
}
