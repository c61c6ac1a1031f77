//! `(a, b) IN (SELECT x, y ...)`: DataFusion takes single values only.
//!
//! `= ANY` and `<> ALL` are the same, and a row beside a subquery is compared with its one row.
//!
//! As a condition of WHERE it is `EXISTS (SELECT ... WHERE x = a AND y = b)`, a join. As a value it
//! is true if a row of the subquery is equal, else unknown if for one of them that is unknown, else
//! false.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Query, Select, SelectItem,
    SetExpr, TableFactor, UnaryOperator, Value,
};

use super::ast::{binary, call, derived, last_word, null, number, quoted, select};
use crate::syntax::{is_comparison, plain_case, plain_cast, plain_query};

const MEMBERS: &str = "__members";

/// Rewrites those in WHERE and HAVING, where unknown is as good as false.
///
/// # Errors
/// PostgreSQL's message where the numbers of columns differ.
pub(super) fn in_conditions(select: &mut Select) -> Result<(), String> {
    [&mut select.selection, &mut select.having].into_iter().flatten().try_for_each(condition)
}

fn condition(expr: &mut Expr) -> Result<(), String> {
    // A row of conditions may be long; it leans to the left.
    let mut left_most = expr;
    loop {
        quantified_as_in(left_most);
        match left_most {
            Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
                condition(right)?;
                left_most = left;
            }
            Expr::Nested(inner) => left_most = inner,
            Expr::InSubquery { expr: row, subquery, negated: false } => {
                let Some(row) = values_of(row) else { return Ok(()) };
                let (equal, members) = compared(row, std::mem::replace(subquery, empty()))?;
                let mut found = select(vec![SelectItem::UnnamedExpr(one())], vec![members]);
                found.selection = Some(equal);
                let subquery = Box::new(plain_query(SetExpr::Select(Box::new(found))));
                *left_most = Expr::Exists { subquery, negated: false };
                return Ok(());
            }
            _ => return Ok(()),
        }
    }
}

/// The same as a value. Any other expression stays.
pub(super) fn as_value(expr: &mut Expr) -> Result<(), String> {
    quantified_as_in(expr);
    if let Expr::BinaryOp { left, op, right } = expr
        && let Expr::Subquery(subquery) = right.as_mut()
        && is_comparison(op)
        && let Some(row) = values_of(left)
    {
        let (names, members) = members(row.len(), std::mem::replace(subquery, empty()))?;
        let other = names.iter().map(|name| member(name)).collect();
        let answer = binary(Expr::Tuple(row), op.clone(), Expr::Tuple(other));
        let found =
            select(vec![SelectItem::ExprWithAlias { expr: answer, alias: quoted("__compared") }], vec![members]);
        *expr = Expr::Subquery(Box::new(plain_query(SetExpr::Select(Box::new(found)))));
        return Ok(());
    }
    let Expr::InSubquery { expr: row, subquery, negated } = expr else { return Ok(()) };
    let Some(row) = values_of(row) else { return Ok(()) };
    let negated = *negated;
    let (equal, members) = compared(row, std::mem::replace(subquery, empty()))?;
    let unknown = Expr::IsNull(Box::new(Expr::Nested(Box::new(equal.clone()))));
    let nothing = binary(call("count", vec![one()]), BinaryOperator::Eq, number("0"));
    let branches = [
        (nothing, truth(false)),
        (call("bool_or", vec![equal]), truth(true)),
        (call("bool_or", vec![unknown]), unknown_truth()),
    ];
    let answer = plain_case(branches, Some(truth(false)));
    let found = select(vec![SelectItem::ExprWithAlias { expr: answer, alias: quoted("__member") }], vec![members]);
    let found = Expr::Subquery(Box::new(plain_query(SetExpr::Select(Box::new(found)))));
    *expr = match negated {
        true => Expr::Nested(Box::new(Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(found) })),
        false => found,
    };
    Ok(())
}

/// `row = ANY (SELECT ...)` and `row <> ALL (SELECT ...)` as `IN`.
fn quantified_as_in(expr: &mut Expr) {
    let (row, subquery, negated) = match expr {
        Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => (left, right, false),
        Expr::AllOp { left, compare_op: BinaryOperator::NotEq, right } => (left, right, true),
        _ => return,
    };
    if let Expr::Subquery(subquery) = subquery.as_mut()
        && values_of(row).is_some()
    {
        let (row, subquery) = (std::mem::replace(row, Box::new(null())), std::mem::replace(subquery, empty()));
        *expr = Expr::InSubquery { expr: row, subquery, negated };
    }
}

/// Whether a row is equal to a member, and the members.
fn compared(row: Vec<Expr>, subquery: Box<Query>) -> Result<(Expr, TableFactor), String> {
    let (names, members) = members(row.len(), subquery)?;
    let each = row
        .into_iter()
        .zip(&names)
        .map(|(value, name)| binary(member(name), BinaryOperator::Eq, Expr::Nested(Box::new(value))));
    let equal = each.reduce(|all, one| binary(all, BinaryOperator::And, one)).unwrap_or(truth(true));
    Ok((equal, members))
}

/// The names of the columns of a subquery, which are so many, and its rows.
fn members(columns: usize, subquery: Box<Query>) -> Result<(Vec<String>, TableFactor), String> {
    match width(&subquery) {
        Some(width) if width > columns => return Err("subquery has too many columns".to_owned()),
        Some(width) if width < columns => return Err("subquery has too few columns".to_owned()),
        _ => {}
    }
    let names: Vec<String> = (1..=columns).map(|number| format!("__{number}")).collect();
    let members = derived(*subquery, MEMBERS, &names, false);
    Ok((names, members))
}

fn member(name: &str) -> Expr {
    Expr::CompoundIdentifier(vec![quoted(MEMBERS), quoted(name)])
}

/// The values of a row of several.
fn values_of(row: &Expr) -> Option<Vec<Expr>> {
    match row {
        Expr::Tuple(values) => Some(values.clone()),
        Expr::Function(function) if last_word(&function.name) == "row" => match &function.args {
            FunctionArguments::List(list) => {
                let values = list.args.iter().map(|argument| match argument {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value.clone()),
                    _ => None,
                });
                values.collect()
            }
            _ => None,
        },
        _ => None,
    }
}

/// How many columns a query has whose names are resolved.
fn width(query: &Query) -> Option<usize> {
    let mut body = query.body.as_ref();
    loop {
        body = match body {
            SetExpr::Select(select) => return Some(select.projection.len()),
            SetExpr::Values(values) => return values.rows.first().map(|row| row.content.len()),
            SetExpr::SetOperation { left, .. } => left,
            SetExpr::Query(query) => &query.body,
            _ => return None,
        };
    }
}

fn empty() -> Box<Query> {
    Box::new(plain_query(SetExpr::Select(Box::new(select(Vec::new(), Vec::new())))))
}

fn one() -> Expr {
    number("1")
}

fn truth(value: bool) -> Expr {
    Expr::value(Value::Boolean(value))
}

fn unknown_truth() -> Expr {
    plain_cast(null(), DataType::Boolean)
}
