use super::*;
use crate::KeyHash;
use crate::snapshot::Gaps;
use rowkey_model::rows::key_bytes;

#[test]
fn keys_inserted_replaced_deleted_and_inserted_again_over_several_folds() {
    let (files, mut store) = with_table();
    let mut model = Model::new();
    for round in 0..6 {
        for row in 0..30 {
            let key = key("p", row);
            match (row + round) % 4 {
                0 if model.contains_key(&key) => write(&store, &mut model, &[delete(key)]),
                1 => write(&store, &mut model, &[put(key, &content(round as i32))]),
                2 => {
                    let set = vec![(Arc::from("B"), Value::Int64(round as i64))];
                    write(&store, &mut model, &[operation(key, Change::InsertOrMerge(set.into()))]);
                }
                _ => {}
            }
        }
        expect(&store, &model, &format!("round {round}, before the fold"));
        fold(&store).expect("folds");
        expect(&store, &model, &format!("round {round}, after the fold"));
        if round % 2 == 0 {
            drop(store);
            store = open(&files);
            expect(&store, &model, &format!("round {round}, opened again"));
        }
    }
    assert!(manifest(&store).files().count() > 1, "files overlap");
    let live: u64 = manifest(&store).files().map(|file| file.live_rows()).sum();
    assert_eq!(live, model.len() as u64);
}

#[test]
fn a_fold_of_deletions_alone_leaves_no_file() {
    let (files, store) = with_table();
    let mut model = Model::new();
    let puts: Vec<Operation<'static>> = (0..20).map(|row| put(key("p", row), &content(1))).collect();
    write(&store, &mut model, &puts);
    fold(&store).expect("folds");
    assert_eq!(run_files(&files), 1);
    let deletions: Vec<Operation<'static>> = (0..20).map(|row| delete(key("p", row))).collect();
    write(&store, &mut model, &deletions);
    fold(&store).expect("folds");
    expect(&store, &Model::new(), "all deleted");
    store.state.reclaim();
    assert_eq!((manifest(&store).files().count(), run_files(&files)), (0, 0));
    // And a fold of nothing changes nothing.
    let before = store.snapshot().sequence;
    fold(&store).expect("folds");
    assert_eq!(store.snapshot().sequence, before);
}

#[test]
fn a_snapshot_reads_its_state_over_folds_and_compactions() {
    let (files, store) = with_table();
    let mut model = Model::new();
    let mut held = Vec::new();
    for round in 0..12 {
        for row in 0..40 {
            if (row * 7 + round * 3) % 5 < 2 {
                write(&store, &mut model, &[put(key("p", row), &content((round * 100 + row) as i32))]);
            }
        }
        if model.contains_key(&key("p", round)) {
            write(&store, &mut model, &[delete(key("p", round))]);
        }
        held.push((store.snapshot(), model.clone()));
        fold(&store).expect("folds");
        held.push((store.snapshot(), model.clone()));
        if round % 3 == 2 {
            store.vacuum(ID, round == 11, FILE_BYTES).expect("compacts");
        }
    }
    for (snapshot, seen) in &held {
        assert_eq!(&entities(&store, snapshot), seen, "of record {}", snapshot.sequence);
        for key in seen.keys() {
            let found = block_on(snapshot.table_snapshot(&table(snapshot)).get(store.files(), key.as_ref()));
            assert!(found.expect("a read").is_some(), "of record {}: {key:?}", snapshot.sequence);
        }
    }
    assert!(run_files(&files) > manifest(&store).files().count(), "old snapshots keep their files");
    held.clear();
    store.state.reclaim();
    assert_eq!(run_files(&files), manifest(&store).files().count(), "and nobody keeps them longer");
    expect(&store, &model, "at the end");
}

#[test]
fn folded_writes_are_not_freed_by_their_last_reader() {
    let (_, store) = with_table();
    let mut model = Model::new();
    write(&store, &mut model, &[put(key("p", 1), &content(1))]);
    let reader = store.snapshot();
    fold(&store).expect("folds");
    let weak: Vec<_> = reader.deltas[&ID].generations().map(std::sync::Arc::downgrade).collect();
    assert!(!weak.is_empty());
    store.state.reclaim();
    assert!(store.state.holds_retired_memory(), "the reader may still read them");
    drop(reader);
    assert!(weak.iter().any(|generation| generation.strong_count() == 1), "reading ends without freeing");
    store.state.reclaim();
    assert!(!store.state.holds_retired_memory());
}

#[test]
fn a_table_emptied_during_a_fold_stays_empty() {
    let (_, store) = with_table();
    let mut model = Model::new();
    write(&store, &mut model, &[put(key("p", 1), &content(1))]);
    let base = table(&store.snapshot());
    let sequence = store.snapshot().sequence;
    store.commit(&[Edit::TruncateTable { table: ID, sequence }]).expect("truncates");
    let error = store.commit_job(&base, Vec::new()).expect_err("the table is another one");
    assert!(matches!(error, crate::Error::Conflict(_)), "{error}");
    fold(&store).expect("folds");
    expect(&store, &Model::new(), "emptied");
}

#[test]
fn opening_with_a_large_delta_is_quick() {
    const ENTITIES: usize = 100_000;
    let files = MemoryStore::new();
    let options = StoreOptions::default();
    let store = open_with(Arc::new(files.clone()), options.clone()).expect("opens");
    create(&store).expect("a table");
    for from in (0..ENTITIES).step_by(1000) {
        let puts: Vec<Operation<'static>> =
            (from..from + 1000).map(|row| put(key("p", row), &content(row as i32))).collect();
        block_on(store.write(&puts)).expect("a write");
    }
    drop(store);
    let began = std::time::Instant::now();
    let store = open_with(Arc::new(files), options).expect("opens");
    let took = began.elapsed();
    let snapshot = store.snapshot();
    let entities = block_on(snapshot.table_snapshot(&table(&snapshot)).live_rows(store.files())).expect("a count");
    assert_eq!(entities, ENTITIES as u64);
    println!("opened with {ENTITIES} recent writes in {took:?}");
    // Far above what it takes, for slow machines and builds without optimisation.
    assert!(took < std::time::Duration::from_secs(20), "{took:?}");
}

#[test]
fn rows_that_replayed_writes_replace_are_found_one_by_one_and_in_one_walk() {
    let mut dice = Dice(7);
    for changed in [1, 5, 30, 60, 900] {
        let what = format!("{changed} changes");
        let (files, store) = with_table();
        let mut model = Model::new();
        let puts: Vec<Operation<'static>> =
            (0..1500).map(|i| put(key(["a", "b", "c"][i % 3], 2 * (i / 3)), &content(i as i32))).collect();
        write(&store, &mut model, &puts);
        fold(&store).expect("folds");
        for _ in 0..changed {
            // Half of the keys are new.
            let key = key(["a", "b", "c"][dice.below(3)], dice.below(1010));
            let operation =
                if model.contains_key(&key) && dice.below(3) == 0 { delete(key) } else { put(key, &content(-1)) };
            write(&store, &mut model, &[operation]);
        }
        drop(store);
        // What is read from the log knows nothing of run files.
        let store = open(&MemoryStore::with_files(files.files()));
        expect(&store, &model, &what);
        fold(&store).expect("folds");
        expect(&store, &model, &what);
    }
}

#[test]
fn a_large_fold_writes_several_range_partitions_at_a_time() {
    const CHANGES: usize = 20_000;
    let (files, store) = with_table();
    let mut model = Model::new();
    let at = |i: usize| key(&format!("p{:02}", i % 40), i / 40);
    let puts: Vec<Operation<'static>> = (0..9000).map(|i| put(at(i), &content(1))).collect();
    write(&store, &mut model, &puts);
    store.vacuum(ID, true, 100 << 10).expect("writes it anew");
    let ranges = manifest(&store).ranges().len();
    assert!((3..20).contains(&ranges), "{ranges} range partitions");
    let changes: Vec<Operation<'static>> = (0..CHANGES)
        .map(|i| i * 7 % 24_001)
        .map(|i| if i < 9000 && i % 5 == 0 { delete(at(i)) } else { put(at(i), &content(2)) })
        .collect();
    let before: std::collections::BTreeSet<Key> = model.keys().cloned().collect();
    write(&store, &mut model, &changes);
    let report = {
        let _job = store.begin_job(ACCOUNT, TABLE).expect("the job");
        store.fold(ID).expect("folds")
    };
    let deleted = changes.iter().filter(|change| matches!(change.change, Change::Delete)).count();
    assert_eq!((report.written, report.files), ((CHANGES - deleted) as u64, ranges as u64));
    let replaced = changes.iter().filter(|change| before.contains(change.key.as_ref())).count();
    assert_eq!(report.masked, replaced as u64);
    expect(&store, &model, "folded");
    drop(store);
    let store = open(&MemoryStore::with_files(files.files()));
    assert_eq!(manifest(&store).ranges().len(), ranges);
    expect(&store, &model, "opened again");
}

#[test]
fn keys_that_lie_close_to_one_looked_for_in_vain_are_found_or_not_as_if_it_had_not_been() {
    for seed in 1..=8 {
        let mut dice = Dice(seed);
        let (files, mut store) = with_table();
        let mut model = Model::new();
        let partitions = ["a", "b", "c", "d"];
        // Files that overlap, with rows masked in them; after a compaction several range partitions
        // as well.
        for round in 0..8 {
            let some: std::collections::BTreeSet<Key> =
                (0..40).map(|_| key(partitions[dice.below(4)], dice.below(300))).collect();
            for key in some {
                let is_gone = model.contains_key(&key) && dice.below(2) == 0;
                let operation = if is_gone { delete(key) } else { put(key, &content(round)) };
                write(&store, &mut model, &[operation]);
            }
            fold(&store).expect("folds");
            if round == 3 {
                let _job = store.begin_job(ACCOUNT, TABLE).expect("a job");
                while store.compact_step(ID, FILE_BYTES, Compaction::Thorough).expect("compacts").is_some() {}
            }
        }
        if seed % 2 == 0 {
            // Of files that it has not folded itself, it does not know the keys.
            drop(store);
            store = open(&MemoryStore::with_files(files.files()));
        }
        let known = manifest(&store).files().filter(|file| file.keys.are_known()).count();
        assert_eq!(known > 0, seed % 2 == 1, "seed {seed}");
        let snapshot = store.snapshot();
        let table = snapshot.table_snapshot(&table(&snapshot));
        assert!(manifest(&store).ranges().len() > 1 && manifest(&store).files().count() > 5, "seed {seed}");
        let find = |key: &Key, gaps: &mut Gaps| {
            let hash = KeyHash::of(&key_bytes(key.as_ref()));
            let found = block_on(table.find_in_files(store.files(), key.as_ref(), hash, gaps)).expect("reads");
            found.map(|(entity, ..)| entity.key.clone())
        };
        for _ in 0..60 {
            let (partition, from, step) = (partitions[dice.below(4)], dice.below(300), dice.below(4));
            let mut keys: Vec<Key> = (0..30).map(|i| key(partition, from + i * step + dice.below(3))).collect();
            match dice.below(3) {
                0 => keys.sort(),
                1 => keys.sort_by(|a, b| b.cmp(a)),
                _ => keys.push(key(partitions[dice.below(4)], dice.below(300))),
            }
            let mut gaps = Gaps::default();
            for key in &keys {
                let wanted = model.contains_key(key).then(|| key.clone());
                assert_eq!(find(key, &mut gaps), wanted, "seed {seed}, {key:?} among {keys:?}");
                assert_eq!(find(key, &mut Gaps::default()), wanted, "seed {seed}, {key:?} alone");
                let read = block_on(table.get(store.files(), key.as_ref())).expect("reads");
                assert_eq!(read.map(|entity| entity.key.clone()), wanted, "seed {seed}, {key:?} read");
            }
        }
    }
}
