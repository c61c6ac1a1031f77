//! Random writes, folds, compactions, imports and reopenings against a model.

use super::compactions::{expect_compact, import};
use super::*;

const PARTITIONS: [&str; 6] = ["", "a", "ab", "b", "é", "\u{10000}"];

fn value(dice: &mut Dice) -> Value {
    match dice.below(5) {
        0 => Value::Int32(dice.below(100) as i32),
        1 => Value::Int64(dice.below(100) as i64),
        2 => Value::Double(dice.below(100) as f64),
        3 => Value::Boolean(true),
        _ => Value::String("y".repeat(dice.below(120))),
    }
}

fn random_key(dice: &mut Dice) -> Key {
    let partition = PARTITIONS[dice.below(PARTITIONS.len())];
    // One partition is much larger than the others.
    key(partition, dice.below(if partition == "b" { 150 } else { 25 }))
}

fn random_operation(dice: &mut Dice, model: &Model) -> Operation<'static> {
    let key = random_key(dice);
    let mut content = Content::new();
    for name in ["A", "B", "C"] {
        if dice.below(2) == 0 {
            content.insert(name.to_owned(), value(dice));
        }
    }
    let set = properties(&content);
    match (dice.below(6), model.contains_key(&key)) {
        (0 | 1, true) => delete(key),
        (2, true) => operation(key, Change::Merge(set)),
        (2, false) => operation(key, Change::Insert(set)),
        (3, _) => operation(key, Change::InsertOrMerge(set)),
        (4, true) => operation(key, Change::Replace(set)),
        _ => operation(key, Change::InsertOrReplace(set)),
    }
}

fn run(seed: u64, steps: usize) {
    let mut dice = Dice(seed);
    let (mut files, mut store) = with_table();
    let mut model = Model::new();
    let mut held: Vec<(Snapshot, Model)> = Vec::new();
    for step in 0..steps {
        let what = format!("seed {seed}, step {step}");
        match dice.below(100) {
            0..6 => fold(&store).unwrap_or_else(|error| panic!("{what}: {error}")),
            6..10 => {
                let report = store.vacuum(ID, false, FILE_BYTES);
                report.unwrap_or_else(|error| panic!("{what}: {error}"));
                expect_compact(&manifest(&store), &what);
            }
            10 => {
                let report = store.vacuum(ID, true, FILE_BYTES);
                report.unwrap_or_else(|error| panic!("{what}: {error}"));
            }
            11..13 => {
                let _job = store.begin_job(ACCOUNT, TABLE).expect("the job");
                let compaction = [Compaction::Thorough, Compaction::Pressed, Compaction::HardPressed][dice.below(3)];
                let step = store.compact_step(ID, FILE_BYTES, compaction);
                step.unwrap_or_else(|error| panic!("{what}: {error}"));
            }
            13..15 => {
                let keys: std::collections::BTreeSet<Key> = (0..20).map(|_| random_key(&mut dice)).collect();
                import(&store, keys.iter().cloned(), "I", step as i32, || {})
                    .unwrap_or_else(|error| panic!("{what}: {error}"));
                for key in keys {
                    model.insert(key, Content::from([("I".to_owned(), Value::Int32(step as i32))]));
                }
            }
            15..18 => {
                held.clear();
                drop(store);
                files = MemoryStore::with_files(files.files());
                store = open(&files);
                expect(&store, &model, &what);
                assert_eq!(run_files(&files), manifest(&store).files().count(), "{what}: swept");
            }
            18..22 => held.push((store.snapshot(), model.clone())),
            22..26 if !held.is_empty() => {
                let (snapshot, seen) = held.swap_remove(dice.below(held.len()));
                assert_eq!(entities(&store, &snapshot), seen, "{what}: held since record {}", snapshot.sequence);
            }
            26..30 => {
                let mut group: Vec<Operation<'static>> = Vec::new();
                let mut after = model.clone();
                for _ in 0..30 {
                    let operation = random_operation(&mut dice, &after);
                    if group.iter().all(|other| other.key != operation.key) {
                        apply(&mut after, std::slice::from_ref(&operation));
                        group.push(operation);
                    }
                }
                write(&store, &mut model, &group);
            }
            30 => expect(&store, &model, &what),
            _ => {
                let operation = random_operation(&mut dice, &model);
                write(&store, &mut model, &[operation]);
            }
        }
    }
    expect(&store, &model, &format!("seed {seed}, at the end"));
    for (snapshot, seen) in held {
        assert_eq!(entities(&store, &snapshot), seen, "seed {seed}: held since record {}", snapshot.sequence);
    }
    drop(store);
    expect(&open(&files), &model, &format!("seed {seed}, opened at the end"));
}

#[test]
fn random_work_agrees_with_a_model() {
    for seed in 1..=6 {
        run(seed, 400);
    }
}

#[test]
#[ignore = "the long version"]
fn much_random_work_agrees_with_a_model() {
    for seed in 100..=160 {
        run(seed, 3000);
    }
}
