//! Generated filters against an oracle that evaluates them as the specification's section 2.9
//! reads, over all entities and without key sets.

use rowkey_base::testing::Dice;
use rowkey_model::{DateTime, Entity, EntityBuilder, Key, Value};

use super::Filter;

/// A filter to be written as text.
///
/// Its literals and the properties of [`entities`] meet often.
pub(crate) enum Tree {
    Comparison(&'static str, &'static str, Value),
    Alone(&'static str),
    Not(Box<Tree>),
    And(Box<Tree>, Box<Tree>),
    Or(Box<Tree>, Box<Tree>),
}

const NAMES: [&str; 7] = ["PartitionKey", "RowKey", "Timestamp", "A", "B", "C", "Missing"];
const OPERATORS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
const TEXTS: [&str; 6] = ["", "a", "aB", "b", "b'c", "é"];
const NUMBERS: [i32; 4] = [-1, 0, 3, 4];

fn value(dice: &mut Dice) -> Value {
    match dice.below(9) {
        0 => Value::Binary(vec![dice.below(2) as u8; dice.below(3)]),
        1 => Value::Boolean(dice.chance(2)),
        2 => Value::DateTime(DateTime::from_ticks(dice.below(3) as i64)),
        3 => Value::Double(f64::from(dice.pick(&NUMBERS)) + if dice.chance(3) { 0.5 } else { 0.0 }),
        4 => Value::Guid(uuid::Uuid::from_u128(dice.below(3) as u128)),
        5 => Value::Int32(dice.pick(&NUMBERS)),
        6 => Value::Int64(i64::from(dice.pick(&NUMBERS))),
        _ => Value::String(dice.pick(&TEXTS).to_owned()),
    }
}

pub(crate) fn tree(dice: &mut Dice, depth: usize) -> Tree {
    if depth == 0 || dice.chance(3) {
        let name = dice.pick(&NAMES);
        if dice.chance(8) {
            return Tree::Alone(name);
        }
        // Keys mostly with texts, which is what bounds them.
        let literal = match name {
            "PartitionKey" | "RowKey" if !dice.chance(6) => Value::String(dice.pick(&TEXTS).to_owned()),
            _ => value(dice),
        };
        return Tree::Comparison(name, dice.pick(&OPERATORS), literal);
    }
    match dice.below(5) {
        0 => Tree::Not(Box::new(tree(dice, depth - 1))),
        1 | 2 => Tree::And(Box::new(tree(dice, depth - 1)), Box::new(tree(dice, depth - 1))),
        _ => Tree::Or(Box::new(tree(dice, depth - 1)), Box::new(tree(dice, depth - 1))),
    }
}

pub(crate) fn text(tree: &Tree) -> String {
    match tree {
        Tree::Comparison(name, operator, literal) => format!("{name} {operator} {}", literal_text(literal)),
        Tree::Alone(name) => (*name).to_owned(),
        Tree::Not(inner) => format!("not ({})", text(inner)),
        Tree::And(a, b) => format!("({}) and ({})", text(a), text(b)),
        Tree::Or(a, b) => format!("({}) or ({})", text(a), text(b)),
    }
}

fn literal_text(literal: &Value) -> String {
    match literal {
        Value::Binary(bytes) => format!("X'{}'", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        Value::DateTime(at) => format!("datetime'{at}'"),
        Value::Guid(guid) => format!("guid'{guid}'"),
        Value::Int64(number) => format!("{number}L"),
        Value::String(text) => format!("'{}'", text.replace('\'', "''")),
        value => value.to_string(),
    }
}

fn property(entity: &Entity, name: &str) -> Option<Value> {
    match name {
        "PartitionKey" => Some(Value::String(entity.key.partition.clone())),
        "RowKey" => Some(Value::String(entity.key.row.clone())),
        "Timestamp" => Some(Value::DateTime(entity.timestamp)),
        name => entity.get(name).cloned(),
    }
}

/// Rules 1 to 4: numbers by the table of widenings, equal types as they are, all else as less.
fn stands(property: &Value, literal: &Value) -> i32 {
    let sign = |ordering: std::cmp::Ordering| ordering as i32;
    let number = |value: &Value| match value {
        Value::Int32(number) => Some(f64::from(*number)),
        Value::Int64(number) => Some(*number as f64),
        Value::Double(number) => Some(*number),
        _ => None,
    };
    let rank = |value: &Value| match value {
        Value::Int32(_) => 1,
        Value::Int64(_) => 2,
        _ => 3,
    };
    match (number(property), number(literal)) {
        (Some(a), Some(b)) if rank(literal) <= rank(property) => sign(a.partial_cmp(&b).unwrap()),
        (None, None) if property.edm_type() == literal.edm_type() => match (property, literal) {
            (Value::Binary(a), Value::Binary(b)) => sign(a.cmp(b)),
            (Value::Boolean(a), Value::Boolean(b)) => sign(a.cmp(b)),
            (Value::DateTime(a), Value::DateTime(b)) => sign(a.cmp(b)),
            (Value::Guid(a), Value::Guid(b)) => sign(a.cmp(b)),
            _ => sign(property.to_string().cmp(&literal.to_string())),
        },
        _ => -1,
    }
}

pub(crate) fn oracle(tree: &Tree, entity: &Entity) -> bool {
    match tree {
        Tree::Comparison(name, operator, literal) => {
            let Some(value) = property(entity, name) else { return false };
            let stands = stands(&value, literal);
            match *operator {
                "eq" => stands == 0,
                "ne" => stands != 0,
                "lt" => stands < 0,
                "le" => stands <= 0,
                "gt" => stands > 0,
                _ => stands >= 0,
            }
        }
        Tree::Alone(name) => property(entity, name) == Some(Value::Boolean(true)),
        Tree::Not(inner) => !oracle(inner, entity),
        Tree::And(a, b) => oracle(a, entity) && oracle(b, entity),
        Tree::Or(a, b) => oracle(a, entity) || oracle(b, entity),
    }
}

pub(crate) fn entities(dice: &mut Dice) -> Vec<Entity> {
    let mut all = Vec::new();
    for partition in TEXTS {
        for row in TEXTS {
            let at = DateTime::from_ticks(dice.below(3) as i64);
            let mut entity = EntityBuilder::new(Key::new(partition, row)).timestamp(at);
            for name in ["A", "B", "C"] {
                if !dice.chance(4) {
                    entity = entity.property(name, value(dice));
                }
            }
            all.push(entity.build().unwrap());
        }
    }
    all
}

#[test]
fn filters_hold_as_the_specification_says() {
    let mut dice = Dice(25);
    let (mut matched, mut exact) = (0, 0);
    for _ in 0..300 {
        let entities = entities(&mut dice);
        for _ in 0..10 {
            let tree = tree(&mut dice, 4);
            let text = text(&tree);
            let filter = Filter::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let keys = filter.keys();
            exact += usize::from(keys.are_exact);
            for entity in &entities {
                let wanted = oracle(&tree, entity);
                matched += usize::from(wanted);
                assert_eq!(filter.matches(entity), wanted, "{text} of {entity:?}");
                let is_in = keys.keys.contains(entity.key.as_ref());
                assert!(is_in || !wanted, "{text} matches {:?}, which is not among its keys", entity.key);
                assert!(wanted || !is_in || !keys.are_exact, "{text} does not match {:?}", entity.key);
            }
        }
    }
    assert!(matched > 10_000 && exact > 300, "{matched} matches, {exact} exact filters");
}
