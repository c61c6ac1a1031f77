//! Rows that are written out, `(a, b)` and `ROW(a, b)`, compared value by value.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator, Value,
};

use super::balanced::{joined, nested};
use super::copies::Copies;
use super::optimization_barrier::OPTIMIZATION_BARRIER;
use crate::syntax::{call_named as call, plain_case};

/// Most pairs of columns and given values that are compared by AND and OR, in which bounds of keys
/// are found: to plan these takes as long as they are many, squared.
const JOINED_PAIRS_MAX: usize = 8;
/// Of a row with more, or with values that are computed, those that may be keys.
const JOINED_KEYS: usize = 2;

/// Rows are compared by their first values that differ; a NULL before those makes it unknown. The
/// query engine takes rows for structs, in which a NULL is a value.
pub(super) fn row_comparison(left: Expr, op: BinaryOperator, right: Expr, copies: &Copies) -> Expr {
    use BinaryOperator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or, PGStartsWith};
    // A row beside what is none stays as it is written.
    let (left, right) = match is_row(&left) && is_row(&right) {
        true => (tuple(left), tuple(right)),
        false => (left, right),
    };
    match (left, op, right) {
        (left, PGStartsWith, right) => call("starts_with", vec![left, right]),
        (Expr::Tuple(left), op @ (Eq | NotEq | Lt | LtEq | Gt | GtEq), Expr::Tuple(right))
            if left.len() == right.len() && !left.is_empty() =>
        {
            let pairs = left.into_iter().zip(right).map(|(left, right)| match is_row(&left) && is_row(&right) {
                true => (record(left), record(right)),
                false => (left, right),
            });
            if matches!(op, Eq | NotEq) {
                let each = pairs.map(|(left, right)| nested(left, op.clone(), right));
                return joined(each.collect(), if op == Eq { And } else { Or });
            }
            let strict = match op {
                Lt | LtEq => Lt,
                _ => Gt,
            };
            let mut joined: Vec<_> = pairs.collect();
            let plain = joined.iter().take_while(|(left, right)| is_stored_or_given(left) && is_stored_or_given(right));
            let plain = plain.count();
            let all_are_plain = plain == joined.len() && plain <= JOINED_PAIRS_MAX;
            let rest = joined.split_off(if all_are_plain { plain - 1 } else { plain.min(JOINED_KEYS) });
            joined.into_iter().rev().fold(compared_in_turn(rest, op, &strict, copies), |rest, (left, right)| {
                let equal = nested(copies.written(&left), Eq, copies.written(&right));
                // Behind a NULL nothing is computed.
                let equal = if all_are_plain { equal } else { Expr::IsTrue(Box::new(equal)) };
                nested(nested(left, strict.clone(), right), Or, nested(equal, And, rest))
            })
        }
        (left, op, right) => Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) },
    }
}

/// The first pair that is not equal decides, or the last one; those behind it are not computed.
fn compared_in_turn(
    mut pairs: Vec<(Expr, Expr)>,
    op: BinaryOperator,
    strict: &BinaryOperator,
    copies: &Copies,
) -> Expr {
    let Some((left, right)) = pairs.pop() else { return Expr::value(Value::Null) };
    let last = nested(left, op, right);
    if pairs.is_empty() {
        return last;
    }
    let branches = pairs.into_iter().map(|(left, right)| {
        let equal = nested(copies.written(&left), BinaryOperator::Eq, copies.written(&right));
        (Expr::IsNotTrue(Box::new(equal)), nested(left, strict.clone(), right))
    });
    Expr::Nested(Box::new(beside_truth(plain_case(branches, Some(last)))))
}

/// Whether a value is that of a column, a literal or a parameter.
fn is_stored_or_given(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) => true,
        Expr::Nested(inner) => is_stored_or_given(inner),
        Expr::Cast { expr, .. } => matches!(expr.as_ref(), Expr::Value(_)),
        _ => false,
    }
}

pub(super) fn row_in_list(expr: Expr, list: Vec<Expr>, negated: bool, copies: &Copies) -> Expr {
    let (expr, list) = match is_row(&expr) && list.iter().all(is_row) {
        true => (tuple(expr), list.into_iter().map(tuple).collect()),
        false => (expr, list),
    };
    let Expr::Tuple(row) = &expr else { return Expr::InList { expr: Box::new(expr), list, negated } };
    let fits = |item: &Expr| matches!(item, Expr::Tuple(values) if values.len() == row.len());
    if list.is_empty() || !list.iter().all(fits) {
        return Expr::InList { expr: Box::new(expr), list, negated };
    }
    let each = list.into_iter().map(|item| {
        let row = Expr::Tuple(row.iter().map(|value| copies.written(value)).collect());
        row_comparison(row, BinaryOperator::Eq, item, copies)
    });
    let any = joined(each.collect(), BinaryOperator::Or);
    if negated { Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(any) } } else { any }
}

/// `row IS [NOT] DISTINCT FROM row`, where NULLs are values.
pub(super) fn row_distinction(left: Expr, right: Expr, distinct: bool) -> Expr {
    let test = |left: Expr, right: Expr| match distinct {
        true => Expr::IsDistinctFrom(Box::new(left), Box::new(right)),
        false => Expr::IsNotDistinctFrom(Box::new(left), Box::new(right)),
    };
    if !is_row(&left) || !is_row(&right) {
        return test(left, right);
    }
    match (tuple(left), tuple(right)) {
        (Expr::Tuple(left), Expr::Tuple(right)) if left.len() == right.len() && !left.is_empty() => {
            let each = left.into_iter().zip(right);
            let each = each.map(|(left, right)| Expr::Nested(Box::new(row_distinction(left, right, distinct))));
            joined(each.collect(), if distinct { BinaryOperator::Or } else { BinaryOperator::And })
        }
        (left, right) => test(left, right),
    }
}

/// `row BETWEEN row AND row`.
pub(super) fn row_between(expr: Expr, negated: bool, low: Expr, high: Expr, copies: &Copies) -> Expr {
    if ![&expr, &low, &high].into_iter().all(is_row) {
        return Expr::Between { expr: Box::new(expr), negated, low: Box::new(low), high: Box::new(high) };
    }
    let low = row_comparison(copies.written(&expr), BinaryOperator::GtEq, low, copies);
    let high = row_comparison(expr, BinaryOperator::LtEq, high, copies);
    let within = nested(low, BinaryOperator::And, high);
    if negated { Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(within) } } else { within }
}

/// A row is NULL if all its values are, and is not if none is.
pub(super) fn of_each(row: Expr, test: fn(Box<Expr>) -> Expr) -> Expr {
    match tuple(row) {
        Expr::Tuple(values) if !values.is_empty() => {
            let each = values.into_iter().map(|value| Expr::Nested(Box::new(test(Box::new(value)))));
            let all = each.reduce(|all, one| nested(all, BinaryOperator::And, one));
            all.unwrap_or(Expr::value(Value::Null))
        }
        row => test(Box::new(row)),
    }
}

/// A CASE of conditions with a truth as its operand: of one without, DataFusion makes AND and OR,
/// and finds out from its conditions whether it may be NULL.
pub(super) fn beside_truth(case: Expr) -> Expr {
    match case {
        Expr::Case { case_token, end_token, operand: None, conditions, else_result } => {
            let truth = call(OPTIMIZATION_BARRIER, vec![Expr::value(Value::Boolean(true))]);
            Expr::Case { case_token, end_token, operand: Some(Box::new(truth)), conditions, else_result }
        }
        other => other,
    }
}

/// Whether a row is written out.
fn is_row(expr: &Expr) -> bool {
    match expr {
        Expr::Tuple(_) => true,
        Expr::Nested(inner) => is_row(inner),
        Expr::Function(function) => is_called(function, "row"),
        _ => false,
    }
}

/// Whether a call is of a function without a schema before its name.
pub(super) fn is_called(function: &Function, name: &str) -> bool {
    match function.name.0.as_slice() {
        [part] => part.as_ident().is_some_and(|part| part.value.eq_ignore_ascii_case(name)),
        _ => false,
    }
}

/// A row as one value, those in it as well: in a tuple the planner takes names and literals only.
fn record(row: Expr) -> Expr {
    match tuple(row) {
        Expr::Tuple(values) => call("row", values.into_iter().map(record).collect()),
        other => other,
    }
}

/// `ROW(a, b)` and `((a, b))` as `(a, b)`.
pub(super) fn tuple(expr: Expr) -> Expr {
    let function = match expr {
        Expr::Nested(inner) if is_row(&inner) => return tuple(*inner),
        Expr::Function(function) => function,
        expr => return expr,
    };
    let is_row = function.name.to_string().trim_matches('"').eq_ignore_ascii_case("row");
    match &function.args {
        FunctionArguments::List(list) if is_row => {
            let values = list.args.iter().map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value.clone()),
                _ => None,
            });
            values.collect::<Option<Vec<_>>>().map_or_else(|| Expr::Function(function.clone()), Expr::Tuple)
        }
        _ => Expr::Function(function),
    }
}
