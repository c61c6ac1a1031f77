//! The truth of predicates, key by key, for tests: a naive interpreter of SQL's three-valued logic
//! that knows nothing of sets.

use std::cmp::Ordering;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, StringArray, StructArray};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, Volatility, create_udf};
use datafusion::scalar::ScalarValue;

use rowkey_model::KeyRef;
use rowkey_postgres::functions::RowIn;

/// An entity: its key, and a property that may be missing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entity<'a> {
    pub key: KeyRef<'a>,
    pub flag: Option<bool>,
}

/// A call of a function that is recognised by its name only.
pub(super) fn call(name: &str, args: Vec<Expr>) -> Expr {
    let types = vec![DataType::Utf8; args.len()];
    let never = Arc::new(|_: &[_]| datafusion::common::exec_err!("not for evaluation"));
    create_udf(name, types, DataType::Utf8, Volatility::Immutable, never).call(args)
}

/// `(a, b)` of constants, as the optimizer folds it.
pub(super) fn row_literal(members: &[&str]) -> Expr {
    let member = |(at, text): (usize, &&str)| {
        let field = Arc::new(Field::new(format!("c{at}"), DataType::Utf8, true));
        (field, Arc::new(StringArray::from(vec![*text])) as ArrayRef)
    };
    let columns: Vec<_> = members.iter().enumerate().map(member).collect();
    Expr::Literal(ScalarValue::Struct(Arc::new(StructArray::from(columns))), None)
}

/// The value of a predicate for an entity; `None` is UNKNOWN.
pub(super) fn evaluate(expr: &Expr, entity: Entity) -> Option<bool> {
    let inner = |expr: &Expr| evaluate(expr, entity);
    match expr {
        Expr::Alias(alias) => inner(&alias.expr),
        Expr::Column(column) if column.name == "Flag" => entity.flag,
        Expr::Literal(ScalarValue::Boolean(value), _) => *value,
        Expr::Literal(value, _) if value.is_null() => None,
        Expr::Not(expr) => inner(expr).map(|value| !value),
        Expr::IsTrue(expr) => Some(inner(expr) == Some(true)),
        Expr::IsNotTrue(expr) => Some(inner(expr) != Some(true)),
        Expr::IsFalse(expr) => Some(inner(expr) == Some(false)),
        Expr::IsNotFalse(expr) => Some(inner(expr) != Some(false)),
        Expr::IsUnknown(expr) => Some(inner(expr).is_none()),
        Expr::IsNotUnknown(expr) => Some(inner(expr).is_some()),
        Expr::IsNull(expr) => Some(is_null(expr, entity)),
        Expr::IsNotNull(expr) => Some(!is_null(expr, entity)),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => and(inner(left), inner(right)),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => or(inner(left), inner(right)),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::LikeMatch, right }) => {
            like(&text(left, entity)?, &text(right, entity)?)
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => compare(*op, left, right, entity),
        Expr::Between(of) => {
            let above = compare(Operator::GtEq, &of.expr, &of.low, entity);
            let below = compare(Operator::LtEq, &of.expr, &of.high, entity);
            and(above, below).map(|value| value != of.negated)
        }
        Expr::InList(of) => {
            let equal = of.list.iter().map(|member| compare(Operator::Eq, &of.expr, member, entity));
            equal.fold(Some(false), or).map(|value| value != of.negated)
        }
        Expr::Like(of) => {
            let fold = |text: String| if of.case_insensitive { text.to_lowercase() } else { text };
            let (text, pattern) = (fold(text(&of.expr, entity)?), fold(text(&of.pattern, entity)?));
            like(&text, &pattern).map(|value| value != of.negated)
        }
        Expr::ScalarFunction(of) if RowIn::of(of).is_some() => {
            let columns = RowIn::of(of).map(RowIn::columns).unwrap_or_default();
            let sought: Vec<_> = of.args.iter().map(|arg| text(arg, entity)).collect();
            let member =
                |at: usize| columns.iter().map(move |column| Some(column.as_string_view().value(at).to_owned()));
            Some((0..columns[0].len()).any(|at| member(at).eq(sought.iter().cloned())))
        }
        Expr::ScalarFunction(of) if of.name() == "starts_with" => match of.args.as_slice() {
            [of, prefix] => Some(text(of, entity)?.starts_with(&text(prefix, entity)?)),
            _ => panic!("starts_with has two arguments"),
        },
        other => panic!("the oracle does not know {other}"),
    }
}

fn and(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn or(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    and(left.map(|value| !value), right.map(|value| !value)).map(|value| !value)
}

fn is_null(expr: &Expr, entity: Entity) -> bool {
    match stripped(expr) {
        Expr::Literal(value, _) => value.is_null(),
        Expr::Column(column) if column.name != "Flag" => false,
        Expr::ScalarFunction(of) if of.name() == "struct" => false,
        other => evaluate(other, entity).is_none(),
    }
}

fn stripped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => stripped(&alias.expr),
        Expr::Cast(cast) => stripped(&cast.expr),
        Expr::TryCast(cast) => stripped(&cast.expr),
        other => other,
    }
}

fn text(expr: &Expr, entity: Entity) -> Option<String> {
    match stripped(expr) {
        Expr::Column(column) if column.name == "PartitionKey" => Some(entity.key.partition.to_owned()),
        Expr::Column(column) if column.name == "RowKey" => Some(entity.key.row.to_owned()),
        Expr::Literal(value, _) if value.is_null() => None,
        Expr::Literal(value, _) => value.try_as_str().flatten().map(str::to_owned),
        other => panic!("the oracle does not know the text {other}"),
    }
}

fn row(expr: &Expr, entity: Entity) -> Option<Vec<Option<String>>> {
    match stripped(expr) {
        Expr::ScalarFunction(of) if of.name() == "struct" => {
            Some(of.args.iter().map(|member| text(member, entity)).collect())
        }
        Expr::Literal(ScalarValue::Struct(of), _) => {
            let literal = |column| Expr::Literal(ScalarValue::try_from_array(column, 0).unwrap(), None);
            Some(of.columns().iter().map(|column| text(&literal(column), entity)).collect())
        }
        _ => None,
    }
}

fn compare(op: Operator, left: &Expr, right: &Expr, entity: Entity) -> Option<bool> {
    let (nulls, ordering) = match (row(left, entity), row(right, entity)) {
        // NULL members come first and are equal to each other; the row itself is not NULL.
        (Some(left), Some(right)) => (false, left.cmp(&right)),
        _ => {
            let (left, right) = (text(left, entity), text(right, entity));
            (left.is_none() || right.is_none(), left.cmp(&right))
        }
    };
    let decided = |value| if nulls { None } else { Some(value) };
    match op {
        Operator::IsDistinctFrom => Some(ordering != Ordering::Equal),
        Operator::IsNotDistinctFrom => Some(ordering == Ordering::Equal),
        Operator::Eq => decided(ordering.is_eq()),
        Operator::NotEq => decided(ordering.is_ne()),
        Operator::Lt => decided(ordering.is_lt()),
        Operator::LtEq => decided(ordering.is_le()),
        Operator::Gt => decided(ordering.is_gt()),
        Operator::GtEq => decided(ordering.is_ge()),
        other => panic!("the oracle does not know {other}"),
    }
}

fn like(text: &str, pattern: &str) -> Option<bool> {
    let (text, pattern): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
    Some(is_like(&text, &pattern))
}

fn is_like(text: &[char], pattern: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['%', rest @ ..] => (0..=text.len()).any(|skipped| is_like(&text[skipped..], rest)),
        ['_', rest @ ..] => !text.is_empty() && is_like(&text[1..], rest),
        ['\\', literal, rest @ ..] => text.first() == Some(literal) && is_like(&text[1..], rest),
        [literal, rest @ ..] => text.first() == Some(literal) && is_like(&text[1..], rest),
    }
}
