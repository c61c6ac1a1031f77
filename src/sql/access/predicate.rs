//! From an expression to the keys for which it is TRUE or FALSE.
//!
//! Keys are compared by UTF-8 bytes and are never NULL. What is not understood is residual: it may
//! be anything for any key. No expression is refused.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, AsArray, StringViewArray};
use datafusion::logical_expr::expr::{Between, InList, Like};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::scalar::ScalarValue;

use super::key_region::{KeyRegion, PIECES_MAX};
use super::operand::{KeyColumn, Operand};
use super::pattern::{self, Pattern};
use super::verdict::{Superset, Verdict};
use rowkey_model::{Cut, Interval, IntervalSet};
use rowkey_postgres::functions::RowIn;

/// Deepest nesting looked into, a chain of ANDs or of ORs counting as one level; what lies deeper
/// is residual.
const DEPTH_MAX: usize = 64;

/// The keys for which `expr` is TRUE and those for which it is FALSE.
pub(super) fn verdict(expr: &Expr) -> Verdict {
    decide(expr, 0)
}

fn decide(expr: &Expr, depth: usize) -> Verdict {
    if depth > DEPTH_MAX {
        return Verdict::residual();
    }
    let inner = |expr| decide(expr, depth + 1);
    match expr {
        Expr::Alias(alias) => inner(&alias.expr),
        Expr::Literal(value, _) => match value {
            ScalarValue::Boolean(value) => Verdict::constant(*value),
            value if value.is_null() => Verdict::constant(None),
            _ => Verdict::residual(),
        },
        Expr::BinaryExpr(binary) => decide_binary(binary, depth),
        Expr::Not(expr) => inner(expr).not(),
        Expr::IsTrue(expr) => inner(expr).is_true(),
        Expr::IsNotTrue(expr) => inner(expr).is_true().not(),
        Expr::IsFalse(expr) => inner(expr).not().is_true(),
        Expr::IsNotFalse(expr) => inner(expr).not().is_true().not(),
        Expr::IsUnknown(expr) => inner(expr).is_unknown(),
        Expr::IsNotUnknown(expr) => inner(expr).is_unknown().not(),
        Expr::IsNull(expr) => is_null(expr, depth),
        Expr::IsNotNull(expr) => is_null(expr, depth).not(),
        Expr::Between(Between { expr, negated, low, high }) => {
            let within = Verdict::all_of(vec![compare(Operator::GtEq, expr, low), compare(Operator::LtEq, expr, high)]);
            negate(within, *negated)
        }
        Expr::InList(InList { expr, list, negated }) => negate(in_list(expr, list), *negated),
        Expr::Like(Like { negated, expr, pattern, escape_char, case_insensitive: false }) => {
            negate(like(expr, pattern, escape_char.unwrap_or('\\')), *negated)
        }
        Expr::ScalarFunction(call) => match (RowIn::of(call), call.name(), call.args.as_slice()) {
            (Some(list), _, args) => row_in(args, list.columns()),
            (None, "starts_with", [text, prefix]) => starts_with(text, prefix),
            _ => Verdict::residual(),
        },
        _ => Verdict::residual(),
    }
}

fn negate(verdict: Verdict, negated: bool) -> Verdict {
    if negated { verdict.not() } else { verdict }
}

fn decide_binary(binary: &BinaryExpr, depth: usize) -> Verdict {
    let BinaryExpr { left, op, right } = binary;
    match op {
        Operator::And => Verdict::all_of(chain(binary).map(|part| decide(part, depth + 1)).collect()),
        Operator::Or => Verdict::any_of(chain(binary).map(|part| decide(part, depth + 1)).collect()),
        Operator::LikeMatch => like(left, right, '\\'),
        Operator::NotLikeMatch => like(left, right, '\\').not(),
        Operator::Eq
        | Operator::NotEq
        | Operator::Lt
        | Operator::LtEq
        | Operator::Gt
        | Operator::GtEq
        | Operator::IsDistinctFrom
        | Operator::IsNotDistinctFrom => compare(*op, left, right),
        _ => Verdict::residual(),
    }
}

/// The operands of a chain of one operator, `a AND b AND c`, however long and whichever way it
/// leans.
fn chain(top: &BinaryExpr) -> impl Iterator<Item = &Expr> {
    let mut pending: Vec<&Expr> = vec![&top.right, &top.left];
    std::iter::from_fn(move || {
        loop {
            match pending.pop()? {
                Expr::BinaryExpr(BinaryExpr { left, op, right }) if *op == top.op => {
                    pending.extend([&**right, &**left])
                }
                other => return Some(other),
            }
        }
    })
}

/// `left op right` for the six comparisons and IS \[NOT\] DISTINCT FROM.
fn compare(op: Operator, left: &Expr, right: &Expr) -> Verdict {
    match (Operand::of(left), Operand::of(right)) {
        (Operand::Null, other) | (other, Operand::Null) => compare_with_null(op, &other),
        (Operand::Key(key), Operand::Text(text)) => compare_key(key, op, text),
        (Operand::Text(text), Operand::Key(key)) => {
            op.swap().map_or_else(Verdict::residual, |mirrored| compare_key(key, mirrored, text))
        }
        (Operand::Key(left), Operand::Key(right)) if left == right => constant(op, Ordering::Equal),
        (Operand::Text(left), Operand::Text(right)) => constant(op, left.cmp(right)),
        (Operand::Row(left), Operand::Row(right)) if left.len() == right.len() => {
            let members: Vec<(&Expr, &Expr)> =
                left.iter().map(AsRef::as_ref).zip(right.iter().map(AsRef::as_ref)).collect();
            compare_rows(op, &members)
        }
        _ => Verdict::residual(),
    }
}

fn compare_with_null(op: Operator, other: &Operand) -> Verdict {
    let distinct = match other {
        Operand::Null => Verdict::constant(Some(false)),
        Operand::Key(_) | Operand::Text(_) | Operand::Row(_) => Verdict::constant(Some(true)),
        Operand::Other => Verdict::residual(),
    };
    match op {
        Operator::IsDistinctFrom => distinct,
        Operator::IsNotDistinctFrom => distinct.not(),
        _ => Verdict { keys_only: distinct.keys_only, ..Verdict::constant(None) },
    }
}

fn constant(op: Operator, ordering: Ordering) -> Verdict {
    match op {
        Operator::Eq | Operator::IsNotDistinctFrom => Verdict::constant(Some(ordering.is_eq())),
        Operator::NotEq | Operator::IsDistinctFrom => Verdict::constant(Some(ordering.is_ne())),
        Operator::Lt => Verdict::constant(Some(ordering.is_lt())),
        Operator::LtEq => Verdict::constant(Some(ordering.is_le())),
        Operator::Gt => Verdict::constant(Some(ordering.is_gt())),
        Operator::GtEq => Verdict::constant(Some(ordering.is_ge())),
        _ => Verdict::residual(),
    }
}

pub(super) fn compare_key(key: KeyColumn, op: Operator, text: &str) -> Verdict {
    let before = || Cut::Before(text.to_owned());
    let after = || Cut::After(text.to_owned());
    let between = |lower, upper| IntervalSet::from_intervals(Interval::new(lower, upper));
    match op {
        Operator::Eq | Operator::IsNotDistinctFrom => holds_within(key, &Interval::point(text).into()),
        Operator::NotEq | Operator::IsDistinctFrom => holds_within(key, &Interval::point(text).into()).not(),
        Operator::Lt => holds_within(key, &between(Cut::Start, before())),
        Operator::LtEq => holds_within(key, &between(Cut::Start, after())),
        Operator::Gt => holds_within(key, &between(after(), Cut::End)),
        Operator::GtEq => holds_within(key, &between(before(), Cut::End)),
        _ => Verdict::residual(),
    }
}

/// Members are compared in order, and the first that differ decide.
fn compare_rows(op: Operator, members: &[(&Expr, &Expr)]) -> Verdict {
    let member = |op, (left, right): &(&Expr, &Expr)| match (Operand::of(left), Operand::of(right)) {
        // DataFusion orders a NULL member before every other instead of answering NULL.
        (Operand::Null, _) | (_, Operand::Null) => Verdict::residual(),
        // Rows in rows are no keys, and every level of them would multiply the work.
        (Operand::Row(_), _) | (_, Operand::Row(_)) => Verdict::residual(),
        _ => compare(op, left, right),
    };
    let equal = |members: &[(&Expr, &Expr)]| members.iter().map(|pair| member(Operator::Eq, pair)).collect::<Vec<_>>();
    let decided_by_first_difference = |strict: Operator, or_equal: bool| {
        let mut ways = Vec::new();
        for (at, pair) in members.iter().enumerate() {
            let mut way = equal(members.get(..at).unwrap_or_default());
            way.push(member(strict, pair));
            ways.push(Verdict::all_of(way));
        }
        if or_equal {
            ways.push(Verdict::all_of(equal(members)));
        }
        Verdict::any_of(ways)
    };
    match op {
        Operator::Eq | Operator::IsNotDistinctFrom => Verdict::all_of(equal(members)),
        Operator::NotEq | Operator::IsDistinctFrom => Verdict::all_of(equal(members)).not(),
        Operator::Lt => decided_by_first_difference(Operator::Lt, false),
        Operator::LtEq => decided_by_first_difference(Operator::Lt, true),
        Operator::Gt => decided_by_first_difference(Operator::Gt, false),
        Operator::GtEq => decided_by_first_difference(Operator::Gt, true),
        _ => Verdict::residual(),
    }
}

fn is_null(expr: &Expr, depth: usize) -> Verdict {
    match Operand::of(expr) {
        Operand::Key(_) | Operand::Text(_) | Operand::Row(_) => Verdict::constant(Some(false)),
        Operand::Null => Verdict::constant(Some(true)),
        Operand::Other => decide(expr, depth + 1).is_unknown(),
    }
}

fn in_list(expr: &Expr, list: &[Expr]) -> Verdict {
    let key = match Operand::of(expr) {
        Operand::Key(key) => Some(key),
        Operand::Other => return Verdict::residual(),
        _ => None,
    };
    let mut points = Vec::new();
    let mut others = Vec::new();
    for member in list {
        match (key, Operand::of(member)) {
            (Some(_), Operand::Text(text)) => points.push(Interval::point(text)),
            _ => others.push(compare(Operator::Eq, expr, member)),
        }
    }
    if let Some(key) = key {
        others.push(holds_within(key, &IntervalSet::from_intervals(points)));
    }
    Verdict::any_of(others)
}

fn like(expr: &Expr, pattern: &Expr, escape: char) -> Verdict {
    match (Operand::of(expr), Operand::of(pattern)) {
        (Operand::Key(_), Operand::Null) => Verdict::constant(None),
        (Operand::Key(key), Operand::Text(pattern)) => match pattern::read(pattern, escape) {
            Pattern::Text(text) => holds_within(key, &Interval::point(&text).into()),
            Pattern::Prefix(prefix) => holds_within(key, &Interval::prefix(&prefix).into()),
            Pattern::Narrower { prefix } => Verdict {
                truth: Superset::inexact(region(key, &Interval::prefix(&prefix).into())),
                falsehood: Superset::any(),
                keys_only: true,
            },
        },
        _ => Verdict::residual(),
    }
}

fn starts_with(text: &Expr, prefix: &Expr) -> Verdict {
    match (Operand::of(text), Operand::of(prefix)) {
        (Operand::Key(_), Operand::Null) => Verdict::constant(None),
        (Operand::Key(key), Operand::Text(prefix)) => holds_within(key, &Interval::prefix(prefix).into()),
        _ => Verdict::residual(),
    }
}

/// TRUE where the row of `args` is one of the rows in `columns`. Never unknown.
fn row_in(args: &[Expr], columns: &[ArrayRef]) -> Verdict {
    let (mut partitions, mut rows, mut keys_only) = (None, None, true);
    for (arg, column) in args.iter().zip(columns) {
        match (Operand::of(arg), column.as_string_view_opt()) {
            (Operand::Key(KeyColumn::Partition), Some(texts)) if partitions.is_none() => partitions = Some(texts),
            (Operand::Key(KeyColumn::Row), Some(texts)) if rows.is_none() => rows = Some(texts),
            _ => keys_only = false,
        }
    }
    let count = columns.first().map_or(0, |column| column.len());
    let texts =
        |texts: &StringViewArray| IntervalSet::from_intervals((0..count).map(|at| Interval::point(texts.value(at))));
    let truth = match (partitions, rows) {
        (Some(partitions), Some(rows)) => {
            let keys = (0..count).map(|at| (partitions.value(at), rows.value(at)));
            Superset::new(KeyRegion::of_keys(keys), true)
        }
        (Some(partitions), None) => holds_within(KeyColumn::Partition, &texts(partitions)).truth,
        (None, Some(rows)) => holds_within(KeyColumn::Row, &texts(rows)).truth,
        (None, None) => return Verdict::residual(),
    };
    match keys_only {
        true => Verdict { falsehood: truth.not(), truth, keys_only },
        false => Verdict { truth: Superset::inexact(truth.region), falsehood: Superset::any(), keys_only },
    }
}

/// TRUE where the key column is in `texts`, FALSE elsewhere.
fn holds_within(key: KeyColumn, texts: &IntervalSet) -> Verdict {
    let side = |texts: &IntervalSet| {
        if texts.intervals().len() <= PIECES_MAX {
            Superset::exact(region(key, texts))
        } else {
            Superset::inexact(region(key, &texts.coarsened(PIECES_MAX)))
        }
    };
    Verdict { truth: side(texts), falsehood: side(&texts.complement()), keys_only: true }
}

pub(super) fn region(key: KeyColumn, texts: &IntervalSet) -> KeyRegion {
    match key {
        KeyColumn::Partition => KeyRegion::with_partitions(texts),
        KeyColumn::Row => KeyRegion::with_rows(texts.clone()),
    }
}

#[cfg(test)]
mod tests;
