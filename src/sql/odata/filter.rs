//! A filter: which entities it holds for, and which keys they can have.

use rowkey_model::columns::PropertyLookup;
use rowkey_model::{Cut, Interval, IntervalSet, KeySet, Value, ValueRef};

use super::comparison::{Operator, compare};
use super::error::FilterError;
use super::parser::{Expression, parse};
use crate::access::{KeyRegion, Superset, Verdict, bounded_key_set};

const PARTITION_KEY: &str = "PartitionKey";
const ROW_KEY: &str = "RowKey";
const TIMESTAMP: &str = "Timestamp";

/// A `$filter` (Table service specification, section 2.9).
///
/// ```
/// use rowkey_model::{EntityBuilder, Key};
/// use rowkey_sql::odata::Filter;
///
/// let filter = Filter::parse("PartitionKey eq 'Sales' and (Age gt 30 or not Retired)")?;
/// let jones = EntityBuilder::new(Key::new("Sales", "1")).property("Age", 29).build().unwrap();
/// assert!(filter.matches(&jones));
/// assert_eq!(filter.keys().keys.ranges().len(), 1);
/// # Ok::<(), rowkey_sql::odata::FilterError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    expression: Expression,
}

/// The keys of the entities that a filter can hold for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterKeys {
    /// No other entity matches.
    pub keys: KeySet,
    /// Whether every entity with such a key does, so that none needs to be looked at.
    pub are_exact: bool,
}

impl Filter {
    /// Reads a filter. The empty one holds for every entity.
    ///
    /// # Errors
    /// A text that breaks the grammar, or asks for what the service does not have.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        parse(text).map(|expression| Self { expression })
    }

    pub(super) fn expression(&self) -> &Expression {
        &self.expression
    }

    /// Whether it holds for an entity.
    pub fn matches(&self, entity: &dyn PropertyLookup) -> bool {
        self.holds(&|property| entity.property(property))
    }

    /// Whether it holds for what has these properties, by their names.
    pub fn holds<'v>(&self, properties: &dyn Fn(&str) -> Option<ValueRef<'v>>) -> bool {
        holds(&self.expression, properties)
    }

    /// Which keys the entities have that it can hold for: exactly those where it speaks of keys
    /// alone, and they are a list of ranges of keys.
    pub fn keys(&self) -> FilterKeys {
        let Superset { region, exact } = verdict(&self.expression).truth;
        let (keys, as_ranges) = bounded_key_set(&region);
        FilterKeys { keys, are_exact: exact && as_ranges }
    }
}

fn holds<'v>(expression: &Expression, properties: &dyn Fn(&str) -> Option<ValueRef<'v>>) -> bool {
    match expression {
        Expression::Constant(value) => *value,
        Expression::IsTrue(property) => matches!(properties(property), Some(ValueRef::Boolean(true))),
        // A property that is missing is not equal to anything, and not unequal either.
        Expression::Comparison { property, operator, literal } => {
            properties(property).is_some_and(|value| operator.holds(compare(value, literal)))
        }
        Expression::Not(inner) => !holds(inner, properties),
        Expression::All(parts) => parts.iter().all(|part| holds(part, properties)),
        Expression::Any(parts) => parts.iter().any(|part| holds(part, properties)),
    }
}

/// For which keys an expression is true and for which false; it is one of both.
fn verdict(expression: &Expression) -> Verdict {
    match expression {
        Expression::Constant(value) => Verdict::constant(Some(*value)),
        // Keys and Timestamp are no Booleans.
        Expression::IsTrue(property) if is_system(property) => Verdict::constant(Some(false)),
        Expression::Comparison { property, operator, literal } if is_key(property) => match literal {
            Value::String(text) => {
                let true_of = |texts: IntervalSet| match property.as_str() {
                    PARTITION_KEY => Superset::exact(KeyRegion::with_partitions(&texts)),
                    _ => Superset::exact(KeyRegion::with_rows(texts)),
                };
                let texts = texts(*operator, text);
                let falsehood = true_of(texts.complement());
                Verdict { truth: true_of(texts), falsehood, keys_only: true }
            }
            // Of another type: the key compares as less (unconfirmed, the service may refuse it).
            literal => Verdict::constant(Some(operator.holds(compare(ValueRef::String(""), literal)))),
        },
        Expression::IsTrue(_) | Expression::Comparison { .. } => Verdict::residual(),
        Expression::Not(inner) => verdict(inner).not(),
        Expression::All(parts) => Verdict::all_of(parts.iter().map(verdict).collect()),
        Expression::Any(parts) => Verdict::any_of(parts.iter().map(verdict).collect()),
    }
}

fn is_key(property: &str) -> bool {
    matches!(property, PARTITION_KEY | ROW_KEY)
}

pub(super) fn is_system(property: &str) -> bool {
    is_key(property) || property == TIMESTAMP
}

/// The texts that stand so to another one.
fn texts(operator: Operator, text: &str) -> IntervalSet {
    let (before, after) = (Cut::Before(text.to_owned()), Cut::After(text.to_owned()));
    let interval = match operator {
        Operator::Equal => Interval::new(before, after),
        Operator::NotEqual => return IntervalSet::from(Interval::point(text)).complement(),
        Operator::Less => Interval::new(Cut::Start, before),
        Operator::LessOrEqual => Interval::new(Cut::Start, after),
        Operator::Greater => Interval::new(after, Cut::End),
        Operator::GreaterOrEqual => Interval::new(before, Cut::End),
    };
    interval.map_or_else(IntervalSet::empty, IntervalSet::from)
}
