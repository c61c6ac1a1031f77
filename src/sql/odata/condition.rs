//! A filter as a condition of SQL over the columns of a table.
//!
//! SQL has NULL where an entity lacks a property, and one type for a column; a filter has neither.
//! So a comparison is made with each of the columns that hold one type of the property, and what is
//! negated is brought down to the comparisons, where it says what NULL means: `"Age" > 30` and
//! `("Age" > 30) IS NOT TRUE`. Conditions on keys stay plain, for the access path to see them.

use rowkey_base::calendar::civil_of_days;
use rowkey_model::columns::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use rowkey_model::{DateTime, EdmType, Value, ValueRef};

use super::comparison::{Operator, compare, is_comparable};
use super::filter::{Filter, is_system};
use super::parser::Expression;
use crate::provider::{ColumnSource, TableColumns, ticks_name};
use rowkey_base::{Error, Result, SqlState};
use rowkey_storage::Table;

impl Filter {
    /// The text of a condition that is true for the entities of a table that the filter holds for,
    /// and false or NULL for the others.
    ///
    /// # Errors
    /// `FEATURE_NOT_SUPPORTED` for a property that may lie in the column of all others.
    pub(crate) fn to_sql(&self, table: &Table, columns: &TableColumns) -> Result<String> {
        let has_column =
            |property: &&str| is_system(property) || table.columns.iter().any(|column| *column.name == **property);
        if table.has_other()
            && let Some(property) = properties(self.expression()).into_iter().find(|property| !has_column(property))
        {
            let message = format!(
                "the property \"{property}\" has no column of its own, as table \"{}\" has too many",
                table.name
            );
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                .with_hint("ask for it by the Table service's protocol"));
        }
        Ok(self.condition(columns))
    }

    fn condition(&self, columns: &TableColumns) -> String {
        condition(self.expression(), true, columns)
    }
}

/// The properties that an expression names.
pub(super) fn properties(expression: &Expression) -> Vec<&str> {
    match expression {
        Expression::Constant(_) => Vec::new(),
        Expression::IsTrue(property) | Expression::Comparison { property, .. } => vec![property],
        Expression::Not(inner) => properties(inner),
        Expression::All(parts) | Expression::Any(parts) => parts.iter().flat_map(properties).collect(),
    }
}

/// A condition that is true where the expression has this value.
fn condition(expression: &Expression, wanted: bool, columns: &TableColumns) -> String {
    match expression {
        Expression::Constant(value) => constant(*value == wanted),
        Expression::IsTrue(property) => {
            let of_type = |(edm, column): (EdmType, String)| (edm == EdmType::Boolean).then_some(column);
            match typed_columns(property, columns).into_iter().find_map(of_type) {
                Some(column) if wanted => column,
                Some(column) => format!("({column} IS NOT TRUE)"),
                None => constant(!wanted),
            }
        }
        Expression::Comparison { property, operator, literal } => {
            let of_type = |(edm, column): (EdmType, String)| {
                let compared = compared(property, edm, &column, *operator, literal);
                if wanted { compared } else { format!("({compared}) IS NOT TRUE") }
            };
            match (property.as_str(), literal) {
                // Keys are never NULL.
                (PARTITION_KEY | ROW_KEY, Value::String(text)) => {
                    let operator = if wanted { *operator } else { operator.negated() };
                    format!("{} {} {}", identifier(property), operator.to_sql(), quoted(text))
                }
                (PARTITION_KEY | ROW_KEY, literal) => {
                    constant(operator.holds(compare(ValueRef::String(""), literal)) == wanted)
                }
                _ => joined(typed_columns(property, columns).into_iter().map(of_type), wanted),
            }
        }
        Expression::Not(inner) => condition(inner, !wanted, columns),
        Expression::All(parts) => joined(parts.iter().map(|part| condition(part, wanted, columns)), !wanted),
        Expression::Any(parts) => joined(parts.iter().map(|part| condition(part, wanted, columns)), wanted),
    }
}

/// Any of the conditions, or all of them.
fn joined(conditions: impl Iterator<Item = String>, any: bool) -> String {
    let conditions: Vec<String> = conditions.collect();
    match conditions.as_slice() {
        [] => constant(!any),
        [one] => one.clone(),
        _ => format!("({})", conditions.join(if any { " OR " } else { " AND " })),
    }
}

fn constant(value: bool) -> String {
    if value { "TRUE".to_owned() } else { "FALSE".to_owned() }
}

/// The columns that each hold one type of a property.
fn typed_columns(property: &str, columns: &TableColumns) -> Vec<(EdmType, String)> {
    if property == TIMESTAMP {
        return vec![(EdmType::DateTime, identifier(TIMESTAMP))];
    }
    let typed = columns.visible().iter().filter_map(|field| match columns.source(field.name())? {
        ColumnSource::Typed { property: of, edm } if **of == *property => Some((*edm, identifier(field.name()))),
        _ => None,
    });
    typed.collect()
}

/// A comparison of a column of one type: NULL where there is no such value.
fn compared(property: &str, edm: EdmType, column: &str, operator: Operator, literal: &Value) -> String {
    if !is_comparable(edm, literal) {
        // As less, whatever the values are.
        let holds = operator.holds(Some(std::cmp::Ordering::Less));
        return if holds { format!("{column} IS NOT NULL") } else { constant(false) };
    }
    let plain = |literal: String| format!("{column} {} {literal}", operator.to_sql());
    match (edm, literal) {
        (EdmType::DateTime, Value::DateTime(time)) => compared_time(property, column, operator, *time),
        (EdmType::Double, Value::Double(value)) => compared_double(column, operator, *value),
        (EdmType::Double, Value::Int32(value)) => compared_double(column, operator, f64::from(*value)),
        (EdmType::Double, Value::Int64(value)) => compared_double_with_integer(column, operator, *value),
        (_, Value::Int32(value)) => plain(format!("({value})")),
        (_, Value::Int64(value)) => plain(format!("'{value}'::bigint")),
        (_, Value::String(value)) => plain(quoted(value)),
        (_, Value::Boolean(value)) => plain(constant(*value)),
        (_, Value::Guid(value)) => plain(format!("'{value}'::uuid")),
        (_, Value::Binary(value)) => {
            let digits: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
            plain(format!("'\\x{digits}'::bytea"))
        }
        (_, Value::Double(_) | Value::DateTime(_)) => constant(false),
    }
}

/// A NaN is greater than everything in SQL, and compares with nothing here.
fn compared_double(column: &str, operator: Operator, value: f64) -> String {
    let compared = format!("{column} {} '{value:e}'::double precision", operator.to_sql());
    match operator {
        Operator::Greater | Operator::GreaterOrEqual => {
            format!("({compared} AND {column} <= 'Infinity'::double precision)")
        }
        _ => compared,
    }
}

/// Compares as numbers: between two doubles there may be many integers.
fn compared_double_with_integer(column: &str, operator: Operator, literal: i64) -> String {
    let near = literal as f64;
    let (below, above) = match (near as i128).cmp(&i128::from(literal)) {
        std::cmp::Ordering::Equal => return compared_double(column, operator, near),
        std::cmp::Ordering::Less => (near, near.next_up()),
        std::cmp::Ordering::Greater => (near.next_down(), near),
    };
    match operator {
        Operator::Equal => constant(false),
        Operator::NotEqual => format!("{column} IS NOT NULL"),
        Operator::Less | Operator::LessOrEqual => compared_double(column, Operator::LessOrEqual, below),
        Operator::Greater | Operator::GreaterOrEqual => compared_double(column, Operator::GreaterOrEqual, above),
    }
}

/// Compares microseconds, by which files are pruned, and the ticks where those do not decide.
fn compared_time(property: &str, column: &str, operator: Operator, time: DateTime) -> String {
    let micros = format!("TIMESTAMPTZ '{}'", micros_of(time));
    let ticks =
        format!("{} {} '{}'::bigint", identifier(&ticks_name(property)), operator.to_sql(), time.dot_net_ticks());
    let by = |operator: &str| format!("({column} {operator} {micros} AND {ticks})");
    match operator {
        Operator::Equal => by("="),
        Operator::NotEqual => ticks,
        Operator::Less | Operator::GreaterOrEqual if time.tick() == 0 => {
            format!("{column} {} {micros}", operator.to_sql())
        }
        Operator::Less | Operator::LessOrEqual => by("<="),
        Operator::Greater | Operator::GreaterOrEqual => by(">="),
    }
}

/// A time of SQL without its 100 ns digit.
fn micros_of(time: DateTime) -> String {
    const MICROS_PER_SECOND: i64 = 1_000_000;
    const SECONDS_PER_DAY: i64 = 86_400;
    let seconds = time.micros().div_euclid(MICROS_PER_SECOND);
    let (year, month, day) = civil_of_days(seconds.div_euclid(SECONDS_PER_DAY));
    let of_day = seconds.rem_euclid(SECONDS_PER_DAY);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let micros = time.micros().rem_euclid(MICROS_PER_SECOND);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}+00")
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
