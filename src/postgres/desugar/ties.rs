//! `FETCH FIRST n ROWS WITH TIES`: the first n rows, and those after them that are peers of the
//! last one in the order.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Distinct, Expr, Function, LimitClause, OrderBy, OrderByExpr, OrderByKind,
    Query, SelectItem, SetExpr, Value, ValueWithSpan, Values, WindowSpec, WindowType,
};

use super::ast::{binary, call, derived, number, quoted, select};
use crate::syntax::plain_query;

const ROWS: &str = "__ordered";
const RANK: &str = "__rank";
const PLACE: &str = "__place";

/// Rewrites a query with such a clause: rows are numbered in its order, with and without ties, and
/// taken by their numbers.
///
/// # Errors
/// What is not supported, or lacks an order.
pub(super) fn with_ties(query: &mut Query) -> Result<(), String> {
    let Some(fetch) = query.fetch.take_if(|fetch| fetch.with_ties && !fetch.percent) else { return Ok(()) };
    let Some(OrderBy { kind: OrderByKind::Expressions(mut terms), .. }) = query.order_by.take() else {
        return Err("WITH TIES cannot be specified without ORDER BY clause".to_owned());
    };
    let SetExpr::Select(inner) = query.body.as_mut() else {
        return Err("FETCH ... WITH TIES of a set operation is not supported: ask in a subquery".to_owned());
    };
    if let Some(Distinct::Distinct | Distinct::On(_)) = inner.distinct {
        return Err("FETCH ... WITH TIES of DISTINCT is not supported: ask in a subquery".to_owned());
    }
    let mut names = Vec::with_capacity(inner.projection.len());
    let mut exprs = Vec::with_capacity(inner.projection.len());
    for item in &inner.projection {
        let (name, expr) = match item {
            SelectItem::ExprWithAlias { expr, alias } => (alias.value.clone(), expr),
            SelectItem::UnnamedExpr(expr @ Expr::Identifier(name)) => (name.value.clone(), expr),
            SelectItem::UnnamedExpr(expr @ Expr::CompoundIdentifier(parts)) => {
                (parts.last().map(|part| part.value.clone()).unwrap_or_default(), expr)
            }
            other => return Err(format!("FETCH ... WITH TIES of {other} is not supported")),
        };
        names.push(name);
        exprs.push(expr.clone());
    }
    for term in &mut terms {
        if let Some(expr) = position_of(&term.expr).and_then(|position| exprs.get(position.checked_sub(1)?)) {
            term.expr = expr.clone();
        }
    }
    for (function, name) in [("rank", RANK), ("row_number", PLACE)] {
        let expr = over(function, terms.clone());
        inner.projection.push(SelectItem::ExprWithAlias { expr, alias: quoted(name) });
    }
    let offset = match query.limit_clause.take() {
        Some(LimitClause::LimitOffset { offset, .. }) => offset.map(|offset| offset.value),
        _ => None,
    };
    let taken = plain_query(std::mem::replace(query.body.as_mut(), SetExpr::Values(no_values())));
    let columns: Vec<String> = names.iter().cloned().chain([RANK.to_owned(), PLACE.to_owned()]).collect();
    let items = names.iter().map(|name| SelectItem::UnnamedExpr(column(name))).collect();
    let mut outer = select(items, vec![derived(taken, ROWS, &columns, false)]);
    let count = bigint(fetch.quantity.unwrap_or_else(|| number("1")));
    let offset = offset.map(bigint);
    let last = match &offset {
        Some(offset) => binary(count, BinaryOperator::Plus, offset.clone()),
        None => count,
    };
    let within = binary(bigint(column(RANK)), BinaryOperator::LtEq, last);
    outer.selection = Some(match offset {
        Some(offset) => binary(within, BinaryOperator::And, binary(bigint(column(PLACE)), BinaryOperator::Gt, offset)),
        None => within,
    });
    *query.body = SetExpr::Select(Box::new(outer));
    query.order_by = Some(OrderBy {
        kind: OrderByKind::Expressions(vec![OrderByExpr {
            expr: column(PLACE),
            options: Default::default(),
            with_fill: None,
        }]),
        interpolate: None,
    });
    Ok(())
}

fn no_values() -> Values {
    Values { explicit_row: false, value_keyword: false, rows: Vec::new() }
}

fn position_of(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::Number(position, _), .. }) => position.to_string().parse().ok(),
        _ => None,
    }
}

fn over(name: &str, order_by: Vec<OrderByExpr>) -> Expr {
    let spec = WindowSpec { window_name: None, partition_by: Vec::new(), order_by, window_frame: None };
    match call(name, Vec::new()) {
        Expr::Function(function) => Expr::Function(Function { over: Some(WindowType::WindowSpec(spec)), ..function }),
        other => other,
    }
}

fn column(name: &str) -> Expr {
    Expr::CompoundIdentifier(vec![quoted(ROWS), quoted(name)])
}

fn bigint(expr: Expr) -> Expr {
    let data_type = DataType::BigInt(None);
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, array: false, format: None }
}
