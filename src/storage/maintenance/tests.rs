//! Folds, compactions and the thread behind them, on memory and on failing files.

mod compactions;
mod crash;
mod folds;
mod random;
mod unsynced;
mod worker;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use futures::TryStreamExt;
use futures::executor::block_on;

use crate::error::Result;
use crate::maintenance::plan::Compaction;
use crate::{
    Change, Condition, Durability, Edit, Manifest, Operation, SegmentBytes, Snapshot, Store, StoreOptions, Table, check,
};
use rowkey_base::clock::ManualClock;
use rowkey_base::testing::Dice;
use rowkey_model::files::{FileStore, MemoryStore};
use rowkey_model::{DateTime, Entity, Key, KeyRange, Value};

const ACCOUNT: &str = "acme";
const TABLE: &str = "People";
const ID: u64 = 1;
/// 2024-05-01T08:00:00Z.
const NOW_TICKS: i64 = 17_145_504_000_000_000;
/// Files so small that there are many.
const FILE_BYTES: usize = 2000;

type Content = BTreeMap<String, Value>;
type Model = BTreeMap<Key, Content>;

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(DateTime::from_ticks(NOW_TICKS)))
}

/// With segments and checkpoints so small that there are many.
fn small() -> StoreOptions {
    StoreOptions {
        segment_bytes: SegmentBytes::each(8 << 10),
        checkpoint_after_bytes: 4 << 10,
        ..StoreOptions::default()
    }
}

fn open_with(files: Arc<dyn FileStore>, options: StoreOptions) -> Result<Arc<Store>> {
    Ok(Arc::new(block_on(Store::open(files, clock(), options))?))
}

fn open(files: &MemoryStore) -> Arc<Store> {
    open_with(Arc::new(files.clone()), small()).expect("opens")
}

fn create(store: &Store) -> Result<()> {
    let edit = Edit::CreateTable { id: ID, account: ACCOUNT.to_owned(), name: TABLE.to_owned(), created_ticks: 0 };
    store.commit(&[edit]).map(|_| ())
}

/// A new store with an empty table.
fn with_table() -> (MemoryStore, Arc<Store>) {
    let files = MemoryStore::new();
    let store = open(&files);
    create(&store).expect("a table");
    (files, store)
}

fn fold(store: &Store) -> Result<()> {
    let _job = store.begin_job(ACCOUNT, TABLE)?;
    store.fold(ID).map(|_| ())
}

fn table(snapshot: &Snapshot) -> Arc<Table> {
    Arc::clone(snapshot.table(ID).expect("the table"))
}

fn manifest(store: &Store) -> Manifest {
    table(&store.snapshot()).manifest.clone()
}

fn key(partition: &str, row: usize) -> Key {
    Key::new(partition, format!("{row:04}"))
}

fn content(value: i32) -> Content {
    Content::from([("A".to_owned(), Value::Int32(value)), ("Text".to_owned(), Value::String("x".repeat(60)))])
}

fn operation(key: Key, change: Change<'static>) -> Operation<'static> {
    Operation { table: ID, key: Cow::Owned(key), change, condition: Condition::Any }
}

fn properties(content: &Content) -> crate::Content<'static> {
    let properties = content.iter().map(|(name, value)| (Arc::from(name.as_str()), value.clone()));
    Cow::Owned(properties.collect())
}

fn put(key: Key, content: &Content) -> Operation<'static> {
    operation(key, Change::InsertOrReplace(properties(content)))
}

fn delete(key: Key) -> Operation<'static> {
    operation(key, Change::Delete)
}

/// What operations make of a model.
fn apply(model: &mut Model, operations: &[Operation<'_>]) {
    for Operation { key, change, .. } in operations {
        let content = |properties: &crate::Content<'_>| -> Content {
            properties.iter().map(|(name, value)| (name.to_string(), value.clone())).collect()
        };
        match change {
            Change::Keep => {}
            Change::Delete => {
                model.remove(key.as_ref());
            }
            Change::Insert(set) | Change::Replace(set) | Change::InsertOrReplace(set) => {
                model.insert(Key::clone(key), content(set));
            }
            Change::Merge(set) | Change::InsertOrMerge(set) => {
                model.entry(Key::clone(key)).or_default().extend(content(set));
            }
        }
    }
}

/// Writes and keeps the model up.
fn write(store: &Store, model: &mut Model, operations: &[Operation<'_>]) {
    block_on(store.write(operations)).expect("a write");
    apply(model, operations);
}

/// All entities that a snapshot sees, in key order.
fn entities(store: &Store, snapshot: &Snapshot) -> Model {
    let Some(table) = snapshot.table(ID) else { return Model::new() };
    let batches = snapshot.table_snapshot(table).range(Arc::clone(store.files()), KeyRange::all());
    let batches: Vec<Vec<Entity>> = block_on(batches.try_collect()).expect("entities");
    let found: Vec<Entity> = batches.into_iter().flatten().collect();
    assert!(found.is_sorted_by(|a, b| a.key < b.key), "in key order, each once");
    let content = |entity: &Entity| entity.properties().map(|(name, value)| (name.to_owned(), value.clone())).collect();
    found.iter().map(|entity| (entity.key.clone(), content(entity))).collect()
}

/// The newest state is the model's, by every way to read it, and nothing is wrong with it.
fn expect(store: &Store, model: &Model, what: &str) {
    let snapshot = store.snapshot();
    assert_eq!(&entities(store, &snapshot), model, "{what}");
    let report = block_on(check(store.files(), &snapshot)).expect("reads");
    assert_eq!(report.findings, [], "{what}");
    assert_eq!(report.entities, model.len() as u64, "{what}");
    let Some(table) = snapshot.table(ID) else { return };
    let counted = block_on(snapshot.table_snapshot(table).live_rows(store.files())).expect("a count");
    assert_eq!(counted, model.len() as u64, "{what}");
    if snapshot.table_snapshot(table).is_settled() {
        assert_eq!(table.manifest.live_rows(), counted, "{what}");
        if let Some(partitions) = table.manifest.partitions() {
            let wanted: std::collections::BTreeSet<&str> = model.keys().map(|key| key.partition.as_str()).collect();
            assert_eq!(partitions, wanted.len() as u64, "{what}");
        }
        if let Some((first, last)) = table.manifest.key_bounds() {
            assert_eq!((Some(first), Some(last)), (model.keys().next(), model.keys().next_back()), "{what}");
        }
    }
}

/// Names of the run files there are.
fn run_files(files: &MemoryStore) -> usize {
    files.files().keys().filter(|path| path.ends_with(".parquet")).count()
}

fn durability(durability: Durability) -> StoreOptions {
    StoreOptions { durability, ..small() }
}
