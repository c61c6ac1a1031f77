//! Random operations, faults and ends.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use super::model::{Content, Model, REJECTED_NAME};
use crate::{Change, Condition, Durability, Operation, SegmentBytes, StoreOptions};
use rowkey_base::testing::Dice;
use rowkey_model::files::fault::{Fault, FaultPlan};
use rowkey_model::{DateTime, Key, Value};

const PARTITIONS: [&str; 6] = ["", "a", "ab", "b", "é", "\u{10000}"];

pub(super) fn key(dice: &mut Dice) -> Key {
    let partition = dice.pick(&PARTITIONS);
    key_of(dice, partition)
}

fn key_of(dice: &mut Dice, partition: &str) -> Key {
    // One partition is larger than the others.
    Key::new(partition, format!("{:03}", dice.below(if partition == "b" { 60 } else { 8 })))
}

fn value(dice: &mut Dice) -> Value {
    match dice.below(7) {
        0 => Value::Int32(dice.below(100) as i32),
        1 => Value::Int64(dice.next_u64() as i64),
        2 => Value::Double(dice.below(100) as f64),
        3 => Value::Boolean(dice.chance(2)),
        4 => Value::DateTime(DateTime::from_ticks(dice.below(1 << 40) as i64)),
        5 => Value::Binary(vec![7; dice.below(30)]),
        _ => Value::String("y".repeat(dice.below(90))),
    }
}

pub(super) fn content(dice: &mut Dice) -> Content {
    let mut content = Content::new();
    for name in ["A", "B", "C", "é"] {
        if dice.chance(2) {
            content.insert(name.to_owned(), value(dice));
        }
    }
    content
}

/// One operation: mostly what the state of its entity allows.
pub(super) fn operation(dice: &mut Dice, model: &Model, table: u64, key: Key) -> Operation<'static> {
    let current = model.get(table, &key).and_then(|stored| stored.etag);
    let mut content = content(dice);
    if dice.chance(60) {
        content.insert(REJECTED_NAME.to_owned(), Value::Int32(0));
    }
    let properties = content.into_iter().map(|(name, value)| (Arc::from(name), value));
    let set: crate::Content<'static> = Cow::Owned(properties.collect());
    let likely = !dice.chance(12);
    let change = match (dice.below(7), current.is_some() == likely) {
        (0 | 1, true) => Change::Delete,
        (2, true) => Change::Replace(set),
        (3, true) => Change::Merge(set),
        (2 | 3, false) => Change::Insert(set),
        (4, _) => Change::InsertOrMerge(set),
        _ => Change::InsertOrReplace(set),
    };
    let other = DateTime::from_ticks(dice.below(1000) as i64);
    let condition = match (dice.below(20), current) {
        (0..4, Some(etag)) => Condition::Etag(etag),
        (4, _) => Condition::Etag(other),
        (5..9, current) => Condition::Unchanged(current),
        (9, _) => Condition::Unchanged(Some(other)),
        _ => Condition::Any,
    };
    Operation { table, key: Cow::Owned(key), change, condition }
}

/// Operations with different keys: on one partition, an entity group, or anywhere.
pub(super) fn operations(dice: &mut Dice, model: &Model, is_group: bool) -> Vec<Operation<'static>> {
    let tables: Vec<u64> = model.0.keys().copied().collect();
    let (table, partition) = (dice.pick(&tables), dice.pick(&PARTITIONS));
    let mut operations: Vec<Operation<'static>> = Vec::new();
    for _ in 0..1 + dice.below(15) {
        let (table, key) = match is_group {
            true => (table, key_of(dice, partition)),
            false => (dice.pick(&tables), key(dice)),
        };
        if operations.iter().all(|other| other.table != table || *other.key != key) {
            operations.push(operation(dice, model, table, key));
        }
    }
    operations
}

/// Faults of the machine until it is replaced: none, a few, sometimes its end.
pub(super) fn faults(dice: &mut Dice) -> FaultPlan {
    let mut plan = FaultPlan::none();
    if dice.chance(3) {
        return plan;
    }
    for _ in 0..1 + dice.below(3) {
        let operations = dice.pick(&[8, 60, 300, 1000]);
        let fault = match dice.below(6) {
            0 => Fault::Stop,
            1 | 2 => Fault::Tear,
            3 => Fault::Fail(io::ErrorKind::Other),
            _ => Fault::Fail(io::ErrorKind::StorageFull),
        };
        plan = plan.and(1 + dice.below(operations) as u64, fault);
    }
    plan
}

/// Segments and checkpoints so small that there are many.
pub(super) fn options(dice: &mut Dice) -> StoreOptions {
    StoreOptions {
        segment_bytes: SegmentBytes::each(dice.pick(&[600, 2000, 8000])),
        checkpoint_after_bytes: dice.pick(&[1, 2000, 10_000]),
        durability: if dice.chance(3) { Durability::Os } else { Durability::Sync },
        ..StoreOptions::default()
    }
}
