//! Damaged folders: opened, they give an error, or what was there up to the damage.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::TryStreamExt;
use futures::executor::block_on;

use super::choices;
use super::disk::stored;
use super::model::{Model, Predicted, TableModel, stamp};
use crate::error::Result;
use crate::{Edit, Snapshot, Store, StoreOptions, Work, check, repair_log};
use rowkey_base::clock::ManualClock;
use rowkey_base::testing::{Dice, Mutator, fuzz};
use rowkey_model::files::MemoryStore;
use rowkey_model::{DateTime, Entity, KeyRange};

const ACCOUNT: &str = "acme";
const TABLE: &str = "Table1";
const FILE_BYTES: usize = 1500;

/// A folder of several segments, checkpoints and run files, and all states that it has had.
struct Whole {
    files: BTreeMap<String, Vec<u8>>,
    states: Vec<Model>,
}

fn open(files: &MemoryStore, options: StoreOptions) -> Result<Store> {
    let clock = Arc::new(ManualClock::new(DateTime::from_ticks(0)));
    block_on(Store::open(Arc::new(files.clone()), clock, options))
}

/// With a stamp at its end, or without, as after a crash.
fn whole(dice: &mut Dice) -> Whole {
    let files = MemoryStore::new();
    let store = open(&files, choices::options(dice)).expect("opens");
    let table = Edit::CreateTable { id: 1, account: ACCOUNT.to_owned(), name: TABLE.to_owned(), created_ticks: 0 };
    store.commit(&[table]).expect("commits");
    let empty = Model([(1, TableModel { name: TABLE.to_owned(), ..TableModel::default() })].into());
    let mut states = vec![Model::default(), empty];
    for _ in 0..10 + dice.below(40) {
        let model = states.last().expect("a state");
        let operations = choices::operations(dice, model, true);
        if let Predicted::Written(mut commit) = model.predict(&operations) {
            let written = block_on(store.write(&operations)).expect("a write");
            stamp(&mut commit, written.timestamp);
            let mut next = model.clone();
            next.apply(&commit);
            states.push(next);
        }
        match dice.below(12) {
            0 => {
                let _job = store.begin_work(ACCOUNT, TABLE, Work::Fold).expect("the job");
                store.fold(1).expect("folds");
            }
            1 => drop(store.vacuum(1, dice.chance(2), FILE_BYTES).expect("compacts")),
            _ => {}
        }
    }
    let unclosed = dice.chance(2).then(|| files.files());
    drop(store);
    Whole { files: unclosed.unwrap_or_else(|| files.files()), states }
}

/// What a snapshot sees, as far as it can be read.
fn content(store: &Store, snapshot: &Snapshot) -> Result<Model> {
    let mut model = Model::default();
    for table in snapshot.catalog.tables() {
        let batches = snapshot.table_snapshot(table).range(Arc::clone(store.files()), KeyRange::all());
        let batches: Vec<Vec<Entity>> = block_on(batches.try_collect())?;
        let rows =
            batches.into_iter().flatten().map(|entity| (entity.key.clone(), Arc::new(stored(&entity)))).collect();
        model.0.insert(table.id, TableModel { name: table.name.clone(), rows });
    }
    Ok(model)
}

/// Damages one file, or takes it away, or puts another one in its place.
fn damage(dice: &mut Dice, files: &mut BTreeMap<String, Vec<u8>>) -> String {
    let paths: Vec<String> = files.keys().cloned().collect();
    let of_log: Vec<&String> = paths.iter().filter(|path| !path.ends_with(".parquet")).collect();
    let path = match dice.chance(4) || of_log.is_empty() {
        true => paths[dice.below(paths.len())].clone(),
        false => of_log[dice.below(of_log.len())].clone(),
    };
    let other = &paths[dice.below(paths.len())];
    match dice.below(16) {
        0 => {
            files.remove(&path);
            format!("{path} is gone")
        }
        1 => {
            let content = files[other].clone();
            files.insert(path.clone(), content);
            format!("{path} is as {other}")
        }
        2 => {
            let content = files.remove(&path).unwrap_or_default();
            files.insert(other.clone(), content);
            format!("{path} is called {other}")
        }
        3 => {
            // Zeros, as of a block that was never written.
            let content = files.get_mut(&path).expect("the file");
            let from = dice.below(content.len().max(1));
            let to = content.len().min(from + dice.pick(&[1, 64, 512, 4096]));
            content[from.min(to)..to].fill(0);
            format!("{path} has zeros from {from} to {to}")
        }
        _ => {
            let seeds: Vec<Vec<u8>> = std::iter::once(&path).chain([other]).map(|path| files[path].clone()).collect();
            let one = [seeds[0].clone()];
            let mutator =
                Mutator::new(if dice.chance(8) { &seeds } else { &one }, &[b"rowkeylg", b"PAR1", b"\0\0\0\0"]);
            let content = mutator.next(dice);
            let what = format!("{path} of {} bytes has {} and is another one", files[&path].len(), content.len());
            files.insert(path, content);
            what
        }
    }
}

/// What a store gives that opens in spite of the damage.
fn expect_known_state(store: &Store, states: &[Model], what: &str) {
    let snapshot = store.snapshot();
    let whole = block_on(check(store.files(), &snapshot)).is_ok_and(|report| report.findings.is_empty());
    match content(store, &snapshot) {
        Ok(found) => assert!(states.contains(&found), "{what}: no state it ever had: {found:#?}"),
        Err(error) => assert!(!whole, "{what}: the check finds nothing, and yet: {error}"),
    }
}

#[test]
fn fuzz_damaged_folders_give_an_error_or_what_was_there_up_to_the_damage() {
    let (mut refused, mut opened) = (0, 0);
    fuzz("damaged folders", |dice| {
        let Whole { files, states } = whole(dice);
        for _ in 0..40 {
            let mut damaged = files.clone();
            let mut what = vec![damage(dice, &mut damaged)];
            if dice.chance(4) && !damaged.is_empty() {
                what.push(damage(dice, &mut damaged));
            }
            let what = what.join(", ");
            let disk = MemoryStore::with_files(damaged.clone());
            match open(&disk, StoreOptions { read_only: true, ..StoreOptions::default() }) {
                Ok(store) => expect_known_state(&store, &states, &format!("{what}, for reading only")),
                Err(error) => assert!(!error.to_string().is_empty(), "{what}"),
            }
            assert_eq!(disk.files(), damaged, "{what}: opened for reading only");
            match open(&disk, StoreOptions::default()) {
                Ok(store) => {
                    opened += 1;
                    expect_known_state(&store, &states, &what);
                }
                Err(error) => {
                    refused += 1;
                    assert_eq!(disk.files(), damaged, "{what}: refused by {error}");
                }
            }
            // What it has kept need not be a state of one moment: files are ahead of the log then.
            if let Ok(Some(_)) = block_on(repair_log(Arc::new(disk.clone()))) {
                let store = open(&disk, StoreOptions::default());
                let store = store.unwrap_or_else(|error| panic!("{what}: repaired, and then: {error}"));
                let _ = content(&store, &store.snapshot());
            }
        }
    });
    assert!(refused > 20 && opened > 20, "{refused} refused, {opened} opened");
}
