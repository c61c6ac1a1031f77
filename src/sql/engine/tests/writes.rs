//! Single writes against a model, with folds and reopening in between, and against the same
//! entities imported at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::executor::block_on;

use super::{Dice, entities, import, open, rows, session};
use crate::engine::{Engine, EntityOperation, IfMatch};
use crate::session::{Error, Result, SqlState};
use rowkey_model::files::MemoryStore;
use rowkey_model::{DateTime, EntityBuilder, Key, TableName, Value};

type Model = BTreeMap<Key, BTreeMap<String, Value>>;

const TABLE: &str = "Things";
const PARTITIONS: &[&str] = &["", "a", "ab", "b", "é", "\u{10000}"];

fn create(engine: &Engine) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(engine.entities().create_table(&TableName::parse(TABLE).expect("a name"))).expect("a table");
    id(engine)
}

fn id(engine: &Engine) -> u64 {
    let snapshot = engine.store().snapshot();
    snapshot.catalog.table(engine.account(), &TableName::parse(TABLE).expect("a name")).expect("the table").id
}

fn fold(engine: &Engine, table: u64) {
    let _job = engine.store().begin_job(engine.account().as_str(), TABLE).expect("the job");
    engine.store().fold(table).expect("a fold");
}

fn value(dice: &mut Dice) -> Value {
    match dice.below(4) {
        0 => Value::Int32(dice.below(30) as i32),
        1 => Value::Int64((1 << 54) + dice.below(30) as i64),
        2 => Value::Double(dice.below(30) as f64 + 0.5),
        _ => Value::String(format!("s{}", dice.below(30))),
    }
}

/// One random operation, on the engine and on the model.
fn operation(dice: &mut Dice, model: &Model) -> (EntityOperation, Key, Option<BTreeMap<String, Value>>) {
    let key = Key::new(dice.pick(PARTITIONS), format!("{:03}", dice.below(120)));
    let mut properties = BTreeMap::new();
    if dice.below(3) > 0 {
        properties.insert("A".to_owned(), Value::Int32(dice.below(20) as i32));
    }
    if dice.below(2) > 0 {
        properties.insert("Mixed".to_owned(), value(dice));
    }
    if dice.below(2) > 0 {
        properties.insert("S".to_owned(), Value::String(format!("text {}", dice.below(9))));
    }
    let mut builder = EntityBuilder::new(key.clone());
    for (name, value) in &properties {
        builder = builder.property(name.as_str(), value.clone());
    }
    let entity = builder.build().expect("an entity");
    let merged = || {
        let mut merged = model.get(&key).cloned().unwrap_or_default();
        merged.extend(properties.clone());
        merged
    };
    match (dice.below(8), model.contains_key(&key)) {
        (0..=2, true) => (EntityOperation::Delete(key.clone(), IfMatch::Any), key, None),
        (3, true) => {
            let merged = merged();
            (EntityOperation::Merge(entity, IfMatch::Any), key, Some(merged))
        }
        (4, true) => (EntityOperation::Replace(entity, IfMatch::Any), key, Some(properties)),
        (3 | 4, false) => (EntityOperation::Insert(entity), key, Some(properties)),
        (5, _) => {
            let merged = merged();
            (EntityOperation::InsertOrMerge(entity), key, Some(merged))
        }
        _ => (EntityOperation::InsertOrReplace(entity), key, Some(properties)),
    }
}

fn check_entities(engine: &Engine, model: &Model, seed: u64) {
    let found = entities(engine, TABLE).expect("the table");
    let found: Vec<(Key, BTreeMap<String, Value>)> = found
        .iter()
        .map(|entity| {
            let properties = entity.properties().map(|(name, value)| (name.to_owned(), value.clone()));
            (entity.key.clone(), properties.collect())
        })
        .collect();
    let wanted: Vec<(Key, BTreeMap<String, Value>)> = model.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    assert_eq!(found, wanted, "seed {seed}");
}

/// The same entities as an export.
fn export(model: &Model) -> String {
    let mut text = String::new();
    for (key, properties) in model {
        let mut fields = vec![format!("\"PartitionKey\":\"{}\",\"RowKey\":\"{}\"", key.partition, key.row)];
        for (name, value) in properties {
            fields.push(match value {
                Value::Int64(value) => format!("\"{name}@odata.type\":\"Edm.Int64\",\"{name}\":\"{value}\""),
                Value::Int32(value) => format!("\"{name}\":{value}"),
                Value::Double(value) => format!("\"{name}\":{value:?}"),
                Value::String(value) => format!("\"{name}\":\"{value}\""),
                other => unreachable!("no {other:?} is generated"),
            });
        }
        text.push_str(&format!("{{{}}}\n", fields.join(",")));
    }
    text
}

const QUERIES: &[&str] = &[
    "SELECT count(*) FROM things",
    "SELECT count(*), count(\"A\"), count(\"S\"), sum(\"A\") FROM things",
    "SELECT min(\"PartitionKey\"), max(\"PartitionKey\"), count(\"RowKey\") FROM things",
    "SELECT \"PartitionKey\", \"RowKey\", \"A\", \"S\" FROM things ORDER BY 1, 2",
    "SELECT \"PartitionKey\", \"RowKey\", \"A\" FROM things ORDER BY 1 DESC, 2 DESC",
    "SELECT \"PartitionKey\", \"RowKey\" FROM things ORDER BY 1, 2 LIMIT 7",
    "SELECT \"PartitionKey\", \"RowKey\" FROM things ORDER BY 1 DESC, 2 DESC LIMIT 5 OFFSET 3",
    "SELECT \"RowKey\", \"S\" FROM things WHERE \"PartitionKey\" = 'a' ORDER BY 1 DESC LIMIT 4",
    "SELECT \"RowKey\" FROM things WHERE \"PartitionKey\" = 'ab' ORDER BY \"RowKey\"",
    "SELECT \"A\", count(*) FROM things GROUP BY 1 ORDER BY 1",
    "SELECT \"PartitionKey\", \"RowKey\", \"S\" FROM things WHERE \"PartitionKey\" = 'a' AND \"RowKey\" BETWEEN '010' AND '060' ORDER BY 2",
    "SELECT \"S\" FROM things WHERE \"PartitionKey\" = 'b' AND \"RowKey\" = '007'",
    "SELECT \"PartitionKey\", \"RowKey\" FROM things WHERE \"RowKey\" LIKE '00%' AND \"A\" > 5 ORDER BY 1, 2",
    "SELECT \"PartitionKey\" FROM things WHERE \"A\" = 3 AND \"S\" IS NOT NULL ORDER BY \"PartitionKey\", \"RowKey\"",
    "SELECT a.\"RowKey\", b.\"S\" FROM things a JOIN things b ON a.\"RowKey\" = b.\"RowKey\" AND b.\"PartitionKey\" = 'a' \
     WHERE a.\"PartitionKey\" = '' ORDER BY 1, 2",
    "SELECT \"PartitionKey\", \"RowKey\", \"S\", row_number() OVER (PARTITION BY \"PartitionKey\" ORDER BY \"RowKey\") \
     FROM things ORDER BY \"S\" NULLS LAST, 1, 2 LIMIT 20",
];

/// Every query gives what it gives over the same entities imported at once.
fn check_queries(engine: &Engine, model: &Model, seed: u64) {
    let plain = open(Arc::new(MemoryStore::new())).expect("an engine");
    import(&plain, TABLE, &export(model), 1 << 20).expect("an import");
    let (mut written, mut imported) = (session(engine), session(&plain));
    for query in QUERIES {
        // Without any entity the imported table has no columns, while the written one keeps those
        // it had.
        let Ok(wanted) = rows(&mut imported, query) else { continue };
        let found = rows(&mut written, query);
        assert_eq!(found.ok(), Some(wanted), "seed {seed}: {query}");
    }
}

fn run(seed: u64, steps: usize) {
    let mut dice = Dice(seed);
    let files = Arc::new(MemoryStore::new());
    let mut engine = open(Arc::clone(&files) as _).expect("an engine");
    let table = create(&engine);
    let mut model = Model::new();
    for step in 0..steps {
        match dice.below(60) {
            0 | 1 => fold(&engine, table),
            2 => {
                drop(engine);
                engine = open(Arc::clone(&files) as _).expect("an engine");
            }
            3 => check_entities(&engine, &model, seed),
            4 => {
                // A group: the operations of one partition, each key once.
                let mut group: Vec<EntityOperation> = Vec::new();
                let mut after = model.clone();
                for _ in 0..40 {
                    let (operation, key, content) = operation(&mut dice, &after);
                    let fits = group.first().is_none_or(|first| first.key().partition == key.partition)
                        && group.iter().all(|other| *other.key() != key);
                    if fits {
                        group.push(operation);
                        apply(&mut after, key, content);
                    }
                }
                block_on(engine.entities().operate_group(table, &group)).expect("a group");
                model = after;
            }
            _ => {
                let (operation, key, content) = operation(&mut dice, &model);
                block_on(engine.entities().operate(table, &operation))
                    .unwrap_or_else(|e| panic!("seed {seed} step {step}: {e}"));
                apply(&mut model, key, content);
            }
        }
    }
    check_entities(&engine, &model, seed);
    check_queries(&engine, &model, seed);
    for key in model.keys() {
        let snapshot = engine.store().snapshot();
        let stored = snapshot.table_snapshot(snapshot.table(table).expect("the table"));
        let found = block_on(stored.get(engine.store().files(), key.as_ref())).expect("a read");
        assert!(found.is_some_and(|entity| entity.key == *key), "seed {seed}: {key:?}");
    }
}

fn apply(model: &mut Model, key: Key, content: Option<BTreeMap<String, Value>>) {
    match content {
        Some(content) => model.insert(key, content),
        None => model.remove(&key),
    };
}

#[test]
fn random_writes_folds_and_reopenings_agree_with_a_model() {
    for seed in 1..=12 {
        run(seed, 400);
    }
}

#[test]
#[ignore = "the long version"]
fn many_random_writes_folds_and_reopenings_agree_with_a_model() {
    for seed in 100..=200 {
        run(seed, 3000);
    }
}

fn thing(row: &str, a: i32) -> rowkey_model::Entity {
    EntityBuilder::new(Key::new("p", row)).property("A", a).build().expect("an entity")
}

fn refused(result: Result<DateTime>) -> (SqlState, Option<usize>) {
    let error: Error = result.expect_err("a refusal");
    (error.sqlstate(), error.operation())
}

#[test]
fn operations_that_do_not_fit_are_refused_and_change_nothing() {
    let engine = open(Arc::new(MemoryStore::new())).expect("an engine");
    let table = create(&engine);
    let operate = |operation: EntityOperation| block_on(engine.entities().operate(table, &operation));
    let first = operate(EntityOperation::Insert(thing("1", 1))).expect("an insert");
    for folded in [false, true] {
        if folded {
            fold(&engine, table);
        }
        let (exists, missing) = ((SqlState::UNIQUE_VIOLATION, Some(0)), (SqlState::NO_DATA_FOUND, Some(0)));
        assert_eq!(refused(operate(EntityOperation::Insert(thing("1", 2)))), exists);
        assert_eq!(refused(operate(EntityOperation::Replace(thing("2", 2), IfMatch::Any))), missing);
        assert_eq!(refused(operate(EntityOperation::Merge(thing("2", 2), IfMatch::Timestamp(first)))), missing);
        assert_eq!(refused(operate(EntityOperation::Delete(Key::new("p", "2"), IfMatch::Any))), missing);
        let other = IfMatch::Timestamp(DateTime::from_ticks(first.ticks() + 10));
        let differs = (SqlState::PRECONDITION_FAILED, Some(0));
        assert_eq!(refused(operate(EntityOperation::Delete(Key::new("p", "1"), other))), differs);
        assert_eq!(refused(operate(EntityOperation::Replace(thing("1", 2), other))), differs);
        let group = [EntityOperation::InsertOrReplace(thing("0", 0)), EntityOperation::Insert(thing("1", 3))];
        let failed = block_on(engine.entities().operate_group(table, &group));
        assert_eq!(refused(failed), (SqlState::UNIQUE_VIOLATION, Some(1)));
        let twice = [EntityOperation::InsertOrReplace(thing("5", 0)), EntityOperation::InsertOrMerge(thing("5", 3))];
        assert_eq!(
            refused(block_on(engine.entities().operate_group(table, &twice))),
            (SqlState::CHECK_VIOLATION, Some(1))
        );
        let found = entities(&engine, TABLE).expect("the table");
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].timestamp, found[0].get("A")), (first, Some(&Value::Int32(1))));
    }
    // The clock stands still, and every version is later than the one before.
    let second = operate(EntityOperation::Replace(thing("1", 2), IfMatch::Timestamp(first))).expect("a replace");
    assert_eq!(second.ticks(), first.ticks() + 10);
    operate(EntityOperation::Delete(Key::new("p", "1"), IfMatch::Timestamp(second))).expect("a delete");
    let third = operate(EntityOperation::Insert(thing("1", 3))).expect("an insert");
    assert!(third > second);
}

#[test]
fn a_snapshot_keeps_what_it_saw() {
    let engine = open(Arc::new(MemoryStore::new())).expect("an engine");
    let table = create(&engine);
    for i in 0..50 {
        let operation = EntityOperation::Insert(thing(&format!("{i:02}"), i));
        block_on(engine.entities().operate(table, &operation)).expect("an insert");
    }
    fold(&engine, table);
    let mut reader = session(&engine);
    rows(&mut reader, "BEGIN").expect("a transaction");
    let sum = "SELECT count(*), sum(\"A\") FROM things";
    assert_eq!(rows(&mut reader, sum).expect("rows"), ["50|1225"]);
    for i in 0..25 {
        let delete = EntityOperation::Delete(Key::new("p", format!("{i:02}")), IfMatch::Any);
        block_on(engine.entities().operate(table, &delete)).expect("a delete");
        let replace = EntityOperation::Replace(thing(&format!("{:02}", i + 25), 0), IfMatch::Any);
        block_on(engine.entities().operate(table, &replace)).expect("a replace");
    }
    assert_eq!(rows(&mut reader, sum).expect("rows"), ["50|1225"]);
    fold(&engine, table);
    block_on(engine.entities().operate(table, &EntityOperation::Insert(thing("99", 7)))).expect("an insert");
    fold(&engine, table);
    assert_eq!(rows(&mut reader, sum).expect("rows"), ["50|1225"]);
    assert_eq!(rows(&mut session(&engine), sum).expect("rows"), ["26|7"]);
    rows(&mut reader, "COMMIT").expect("an end");
    assert_eq!(rows(&mut reader, sum).expect("rows"), ["26|7"]);
}

/// Each success of a conditional update was made on the version before it: the number counts them
/// all.
#[test]
fn conditional_updates_of_one_entity_are_linearizable() {
    const TASKS: usize = 8;
    const UPDATES: usize = 60;
    let engine = Arc::new(open(Arc::new(MemoryStore::new())).expect("an engine"));
    let table = create(&engine);
    block_on(engine.entities().operate(table, &EntityOperation::Insert(thing("1", 0)))).expect("an insert");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().expect("a runtime");
    let seen: Vec<Vec<i32>> = runtime.block_on(async {
        let tasks = (0..TASKS).map(|_| {
            let engine = Arc::clone(&engine);
            tokio::spawn(async move {
                let mut seen = Vec::new();
                while seen.len() < UPDATES {
                    let snapshot = engine.store().snapshot();
                    let stored = snapshot.table_snapshot(snapshot.table(table).expect("the table"));
                    let key = Key::new("p", "1");
                    let found = stored.get(engine.store().files(), key.as_ref()).await.expect("a read");
                    let found = found.expect("the entity");
                    let Some(Value::Int32(a)) = found.get("A") else { panic!("a number") };
                    let replaced = EntityOperation::Replace(thing("1", a + 1), IfMatch::Timestamp(found.timestamp));
                    match engine.entities().operate(table, &replaced).await {
                        Ok(_) => seen.push(a + 1),
                        Err(error) => assert_eq!(error.sqlstate(), SqlState::PRECONDITION_FAILED),
                    }
                }
                seen
            })
        });
        let tasks: Vec<_> = tasks.collect();
        // Folds go on meanwhile.
        let folding = Arc::clone(&engine);
        let folds = tokio::task::spawn_blocking(move || (0..20).for_each(|_| fold(&folding, table)));
        let seen = futures::future::join_all(tasks).await;
        folds.await.expect("folds");
        seen.into_iter().map(|task| task.expect("a task")).collect()
    });
    // A task sees its own updates in order, and no two made the same one.
    assert!(seen.iter().all(|numbers| numbers.is_sorted()));
    let mut all: Vec<i32> = seen.into_iter().flatten().collect();
    all.sort();
    assert_eq!(all, (1..=(TASKS * UPDATES) as i32).collect::<Vec<_>>());
    let found = entities(&engine, TABLE).expect("the table");
    assert_eq!(found[0].get("A"), Some(&Value::Int32((TASKS * UPDATES) as i32)));
}
