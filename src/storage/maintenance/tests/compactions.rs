use super::*;
use crate::ingest::{Ingest, IngestOptions};
use crate::maintenance::Work;
use crate::maintenance::plan::next_rewrite;
use crate::{Error, RangeStart};
use rowkey_model::rows::{PropertyNames, Rows};

/// A range partition has no more files than this after a compaction: sizes grow threefold from the
/// fourth on, up to one and a half full files, from a 512th of one.
const FILES_MAX: usize = 8;

/// Nothing is left to do, and what is left is in shape.
pub(super) fn expect_compact(manifest: &Manifest, what: &str) {
    assert_eq!(next_rewrite(manifest, FILE_BYTES as u64, Compaction::Thorough), None, "{what}");
    for range in manifest.ranges() {
        assert!(range.files.len() <= FILES_MAX, "{what}: {} files", range.files.len());
        assert!(range.files.iter().all(|file| file.masked_rows() * 3 <= file.rows), "{what}: masked rows");
    }
}

fn bytes(range: &crate::RangePartition) -> u64 {
    range.files.iter().map(|file| file.live_encoded_bytes()).sum()
}

#[test]
fn many_folds_end_in_few_files_of_sensible_sizes() {
    let (files, store) = with_table();
    let mut model = Model::new();
    for round in 0..40 {
        let puts: Vec<Operation<'static>> = (0..25)
            .map(|i| put(key(["a", "b", "c"][i % 3], (round * 37 + i * 11) % 200), &content(round as i32)))
            .collect();
        write(&store, &mut model, &puts);
        fold(&store).expect("folds");
        while store.compact_step(ID, FILE_BYTES, Compaction::Thorough).expect("compacts").is_some() {}
        expect_compact(&manifest(&store), &format!("round {round}"));
        expect(&store, &model, &format!("round {round}"));
    }
    let after = manifest(&store);
    assert!(after.ranges().len() > 5, "{} range partitions", after.ranges().len());
    assert!(after.ranges().iter().all(|range| bytes(range) <= 2 * FILE_BYTES as u64));
    store.state.reclaim();
    assert_eq!(run_files(&files), after.files().count());
}

#[test]
fn a_small_table_is_cut_while_writes_press_hard_and_becomes_whole_again() {
    const FILE_BYTES: usize = 4 << 20;
    let (files, store) = with_table();
    let mut model = Model::new();
    for round in 0..3 {
        let puts: Vec<Operation<'static>> =
            (0..2000).map(|i| put(key(&format!("p{:02}", i % 50), (i * 7 + round) % 9000), &content(1))).collect();
        write(&store, &mut model, &puts);
        fold(&store).expect("folds");
        assert_eq!(store.compact_step(ID, FILE_BYTES, Compaction::Pressed).expect("compacts"), None, "round {round}");
        let step = store.compact_step(ID, FILE_BYTES, Compaction::HardPressed).expect("compacts");
        assert_eq!(step.is_some(), model.len() >= 4096, "round {round}");
    }
    let cut = manifest(&store).ranges().len();
    assert!((8..=12).contains(&cut), "{cut} range partitions");
    assert_eq!(store.compact_step(ID, FILE_BYTES, Compaction::HardPressed).expect("compacts"), None, "it is cut");
    expect(&store, &model, "cut");
    let puts: Vec<Operation<'static>> =
        (0..500).map(|i| put(key(&format!("p{:02}", i % 60), i), &content(2))).collect();
    write(&store, &mut model, &puts);
    fold(&store).expect("folds");
    assert!(manifest(&store).files().count() >= 2 * cut, "a fold writes a file for each");
    expect(&store, &model, "folded");
    while store.compact_step(ID, FILE_BYTES, Compaction::Thorough).expect("compacts").is_some() {}
    assert_eq!(manifest(&store).ranges().len(), 1);
    expect(&store, &model, "whole");
    store.state.reclaim();
    assert_eq!(run_files(&files), manifest(&store).files().count());
}

#[test]
fn a_table_that_shrinks_gets_fewer_range_partitions() {
    let (_, store) = with_table();
    let mut model = Model::new();
    let puts: Vec<Operation<'static>> =
        (0..200).map(|i| put(key(&format!("p{:02}", i / 10), i), &content(1))).collect();
    write(&store, &mut model, &puts);
    store.vacuum(ID, true, FILE_BYTES).expect("writes it anew");
    let many = manifest(&store).ranges().len();
    assert!(many > 8, "{many} range partitions");
    let deletions: Vec<Operation<'static>> =
        model.keys().enumerate().filter(|(i, _)| i % 20 != 0).map(|(_, key)| delete(key.clone())).collect();
    write(&store, &mut model, &deletions);
    store.vacuum(ID, false, FILE_BYTES).expect("compacts");
    expect(&store, &model, "after deletions");
    expect_compact(&manifest(&store), "after deletions");
    assert!(manifest(&store).ranges().len() < many / 3, "{} range partitions", manifest(&store).ranges().len());
    let rest: Vec<Operation<'static>> = model.keys().map(|key| delete(key.clone())).collect();
    write(&store, &mut model, &rest);
    store.vacuum(ID, false, FILE_BYTES).expect("compacts");
    assert_eq!(manifest(&store).ranges().len(), 1);
    expect(&store, &model, "empty");
}

#[test]
fn a_partition_larger_than_a_file_is_cut_by_row_key_and_becomes_whole_again() {
    let (_, store) = with_table();
    let mut model = Model::new();
    let puts: Vec<Operation<'static>> = (0..60).map(|i| put(key("big", i), &content(1))).collect();
    write(&store, &mut model, &[put(key("a", 0), &content(1)), put(key("z", 0), &content(1))]);
    write(&store, &mut model, &puts);
    store.vacuum(ID, true, FILE_BYTES).expect("writes it anew");
    expect(&store, &model, "written anew");
    let starts: Vec<RangeStart> = manifest(&store).ranges().iter().map(|range| range.start.clone()).collect();
    let inside = starts.iter().filter(|start| matches!(start, RangeStart::Key(partition, _) if partition == "big"));
    assert!(inside.count() > 1, "{starts:?}");
    assert_eq!(starts.last(), Some(&RangeStart::Partition("z".to_owned())), "it shares no range partition");
    let deletions: Vec<Operation<'static>> = (1..60).map(|i| delete(key("big", i))).collect();
    write(&store, &mut model, &deletions);
    store.vacuum(ID, false, FILE_BYTES).expect("compacts");
    expect(&store, &model, "shrunk");
    assert_eq!(manifest(&store).ranges().len(), 1);
}

#[test]
fn vacuum_full_leaves_one_file_a_range_partition_without_masked_rows() {
    let (_, store) = with_table();
    let mut model = Model::new();
    for round in 0..5 {
        let puts: Vec<Operation<'static>> = (0..80).map(|i| put(key(["a", "b"][i % 2], i), &content(round))).collect();
        write(&store, &mut model, &puts[..80 - round as usize * 10]);
        fold(&store).expect("folds");
    }
    write(&store, &mut model, &[put(key("a", 500), &content(9)), delete(key("a", 0))]);
    let report = store.vacuum(ID, true, FILE_BYTES).expect("writes it anew");
    assert_eq!(report.fold.written, 1);
    assert!(report.compaction.entities >= model.len() as u64);
    let after = manifest(&store);
    assert!(after.ranges().iter().all(|range| range.files.len() == 1 && range.files[0].mask.is_none()));
    assert_eq!(after.partitions(), Some(2));
    expect(&store, &model, "written anew");
    expect_compact(&after, "written anew");
}

#[test]
fn vacuum_full_of_many_files_goes_step_by_step() {
    let (_, store) = with_table();
    let mut model = Model::new();
    let puts: Vec<Operation<'static>> = (0..900).map(|i| put(key(&format!("p{:03}", i / 3), i), &content(1))).collect();
    write(&store, &mut model, &puts);
    for _ in 0..3 {
        store.vacuum(ID, true, FILE_BYTES).expect("writes it anew");
        expect(&store, &model, "written anew");
        let sizes: Vec<u64> = manifest(&store).ranges().iter().map(bytes).collect();
        let (_, but_last) = sizes.split_last().expect("range partitions");
        assert!(sizes.len() > 30 && but_last.iter().all(|bytes| *bytes * 2 >= FILE_BYTES as u64), "{sizes:?}");
    }
}

#[test]
fn writers_go_on_during_folds_and_compactions() {
    let (files, store) = with_table();
    let mut model = Model::new();
    std::thread::scope(|scope| {
        let writer = {
            let store = Arc::clone(&store);
            scope.spawn(move || {
                let (mut model, mut dice) = (Model::new(), Dice(7));
                for i in 0..1500 {
                    let key = key(["a", "b", "c"][dice.below(3)], dice.below(80));
                    let operation = match model.contains_key(&key) && dice.below(3) == 0 {
                        true => delete(key),
                        false => put(key, &content(i)),
                    };
                    write(&store, &mut model, &[operation]);
                }
                model
            })
        };
        let mut rounds = 0;
        while !writer.is_finished() {
            rounds += 1;
            store.vacuum(ID, rounds % 3 == 0, FILE_BYTES).expect("maintains");
            let snapshot = store.snapshot();
            let first = entities(&store, &snapshot);
            assert_eq!(entities(&store, &snapshot), first, "a snapshot is what it is");
        }
        assert!(rounds > 2, "{rounds} rounds beside the writer");
        model = writer.join().expect("the writer");
    });
    expect(&store, &model, "both done");
    drop(store);
    expect(&open(&files), &model, "opened again");
}

/// Rows of keys in one partition, sorted.
fn rows(names: &Arc<PropertyNames>, keys: impl Iterator<Item = Key>, property: &str, value: i32) -> Rows {
    let mut rows = Rows::new();
    let id = names.intern(property);
    let mut builder = rows.builder(names);
    for key in keys {
        builder.begin();
        builder.set(id, rowkey_model::ValueRef::Int32(value));
        builder.finish(&key.partition, &key.row, None).expect("an entity");
    }
    drop(builder);
    rows
}

/// Imports rows; `meanwhile` happens before the commit.
pub(super) fn import(
    store: &Store,
    keys: impl Iterator<Item = Key>,
    property: &str,
    value: i32,
    meanwhile: impl FnOnce(),
) -> Result<()> {
    let _job = store.wait_for_job(ACCOUNT, TABLE, Work::Import)?;
    store.fold(ID)?;
    let base = table(&store.snapshot());
    let names = Arc::new(PropertyNames::new());
    let options = IngestOptions { file_bytes: FILE_BYTES, timestamp: DateTime::from_ticks(NOW_TICKS), dry_run: false };
    let mut ingest = Ingest::begin(store.files(), &names, &base, store.file_ids(), &options);
    ingest.push(&rows(&names, keys, property, value))?;
    let (edits, _) = ingest.finish(&base)?;
    meanwhile();
    store.commit_job(&base, edits).map(|_| ())
}

#[test]
fn an_import_merges_with_overlapping_masked_files_and_leaves_what_is_written_meanwhile_on_top() {
    let (files, store) = with_table();
    let mut model = Model::new();
    for round in 0..3 {
        let puts: Vec<Operation<'static>> =
            (0..40).filter(|i| i % (round + 1) == 0).map(|i| put(key("p", i), &content(i as i32))).collect();
        write(&store, &mut model, &puts);
        write(&store, &mut model, &[delete(key("p", round * 6))]);
        fold(&store).expect("folds");
    }
    assert!(manifest(&store).files().count() > 1 && manifest(&store).files().any(|file| file.mask.is_some()));
    write(&store, &mut model, &[put(key("p", 30), &content(-1))]);
    let imported: Vec<Key> = (20..60).step_by(2).map(|row| key("p", row)).collect();
    let mut after = Model::new();
    let on_top = |model: &mut Model| {
        let new = Content::from([("Meanwhile".to_owned(), Value::Boolean(true))]);
        write(&store, model, &[put(key("p", 22), &new), delete(key("p", 24)), put(key("p", 99), &content(5))]);
    };
    for key in &imported {
        model.insert(key.clone(), Content::from([("Imported".to_owned(), Value::Int32(8))]));
    }
    let mut before = model.clone();
    import(&store, imported.into_iter(), "Imported", 8, || {
        // Those of the import are not there yet: only keys written here change in the model.
        on_top(&mut after);
    })
    .expect("imports");
    before.remove(&key("p", 24));
    before.extend(after);
    expect(&store, &before, "imported");
    let names: Vec<String> = table(&store.snapshot()).columns.iter().map(|column| column.name.to_string()).collect();
    for name in ["Imported", "Meanwhile", "A", "Text"] {
        assert!(names.iter().any(|known| known == name), "{name} among {names:?}");
    }
    drop(store);
    let store = open(&files);
    expect(&store, &before, "opened again");
    store.vacuum(ID, true, FILE_BYTES).expect("writes it anew");
    expect(&store, &before, "written anew");
}

#[test]
fn one_job_at_a_time_and_who_asks_waits_for_the_background_alone() {
    let (_, store) = with_table();
    let import = store.begin_work(ACCOUNT, TABLE, Work::Import).expect("an import");
    let status = store.maintenance_status();
    assert_eq!(status.tables[&ID].work.map(|(work, _)| work), Some(Work::Import));
    assert!(matches!(store.begin_work(ACCOUNT, "PEOPLE", Work::Fold), Err(Error::Busy(_))));
    assert!(matches!(store.vacuum(ID, false, FILE_BYTES), Err(Error::Busy(_))));
    drop(import);
    let background = store.begin_work(ACCOUNT, TABLE, Work::Fold).expect("a fold");
    std::thread::scope(|scope| {
        let vacuum = scope.spawn(|| store.vacuum(ID, false, FILE_BYTES).map(|_| ()));
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!vacuum.is_finished(), "it waits");
        drop(background);
        vacuum.join().expect("ends").expect("vacuums");
    });
    assert_eq!(store.maintenance_status().tables[&ID].work, None);
}

#[test]
fn a_key_live_twice_is_found_and_never_compacted_away() {
    let (_, store) = with_table();
    let mut model = Model::new();
    for value in 0..2 {
        let puts: Vec<Operation<'static>> = (0..10).map(|row| put(key("p", row), &content(value))).collect();
        write(&store, &mut model, &puts);
        // The first file keeps one row, so that it stays.
        write(&store, &mut model, &[put(key("p", 50 + value as usize), &content(value))]);
        fold(&store).expect("folds");
    }
    let before = manifest(&store);
    let masked = before.files().find(|file| file.mask.is_some()).expect("a masked file").clone();
    let unmasked = crate::run::RunFile { mask: None, ..crate::run::RunFile::clone(&masked) };
    store.commit(&[Edit::MaskRows { table: ID, file: Box::new(unmasked) }]).expect("unmasks");
    let report = block_on(check(store.files(), &store.snapshot())).expect("reads");
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
    assert!(report.findings[0].problem.contains("(\"p\", \"0000\") is live here and in"), "{:?}", report.findings);
    let error = store.vacuum(ID, true, FILE_BYTES).expect_err("refuses");
    assert!(matches!(&error, Error::Corrupt { .. }), "{error}");
}
