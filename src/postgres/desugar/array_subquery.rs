//! `ARRAY(SELECT ...)` as an aggregate over the same query.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, FunctionArgumentClause, GroupByExpr, Ident, OrderByExpr, OrderByKind, Query, Select, SelectItem,
    SetExpr, TableFactor, TableWithJoins, Value, ValueWithSpan,
};

use super::ast::{call, call_with, derived, last_word, quoted, select};
use crate::functions::system::ARRAY_OR_EMPTY;
use crate::syntax::{plain_query, visit_expressions};

/// The values of a query's one column, in its order, as an array; an empty one if there are none.
///
/// A plain SELECT collects where it stands, so that its ORDER BY may use any of its columns; of any
/// other query the result is collected.
pub(super) fn array_of_query(mut query: Query) -> Expr {
    let whole = match collect_in_place(&mut query) {
        true => query,
        false => collect_result(query),
    };
    call(ARRAY_OR_EMPTY, vec![Expr::Subquery(Box::new(whole))])
}

fn collect_in_place(query: &mut Query) -> bool {
    if query.limit_clause.is_some() || query.fetch.is_some() {
        return false;
    }
    let order = match query.order_by.as_ref().map(|order| &order.kind) {
        None => Vec::new(),
        Some(OrderByKind::Expressions(order)) => order.clone(),
        Some(OrderByKind::All(_)) => return false,
    };
    let SetExpr::Select(select) = query.body.as_mut() else { return false };
    if select.distinct.is_some() || select.having.is_some() || !ungrouped(select) {
        return false;
    }
    let [item] = select.projection.as_mut_slice() else { return false };
    let (expr, label) = match item {
        SelectItem::UnnamedExpr(expr) => (expr.clone(), None),
        SelectItem::ExprWithAlias { expr, alias } => (expr.clone(), Some(alias.clone())),
        _ => return false,
    };
    // An aggregate of values of the outer query alone would be the outer query's.
    if makes_rows_or_aggregates(&expr) || !names_any(&expr, &select.from) {
        return false;
    }
    let order = order.into_iter().map(|by| order_of(by, &expr, label.as_ref())).collect();
    *item = SelectItem::UnnamedExpr(array_agg(expr, order));
    query.order_by = None;
    true
}

/// Whether an expression names a column of these items, which have their aliases by now.
fn names_any(expr: &Expr, from: &[TableWithJoins]) -> bool {
    let factors = || {
        from.iter().flat_map(|item| std::iter::once(&item.relation).chain(item.joins.iter().map(|join| &join.relation)))
    };
    let is_alias = |name: &Ident| {
        factors().any(|factor| match factor {
            TableFactor::Table { alias, .. }
            | TableFactor::Derived { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. } => alias.as_ref().is_some_and(|alias| alias.name.value == name.value),
            _ => false,
        })
    };
    visit_expressions(expr, |inner| match inner {
        Expr::CompoundIdentifier(parts) if parts.first().is_some_and(&is_alias) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })
    .is_break()
}

fn ungrouped(select: &Select) -> bool {
    matches!(&select.group_by, GroupByExpr::Expressions(exprs, _) if exprs.is_empty())
}

/// Aggregates cannot be told from other functions here; every call but those known to be plain is
/// taken for one.
fn makes_rows_or_aggregates(expr: &Expr) -> bool {
    const PLAIN: &[&str] = &[
        "quote_ident",
        "quote_literal",
        "format_type",
        "array_to_string",
        "pg_get_userbyid",
        "concat",
        "lower",
        "upper",
        "coalesce",
        "nullif",
        "pg_get_expr",
        "pg_get_constraintdef",
        "pg_get_indexdef",
        "format",
        "replace",
        "substring",
        "obj_description",
        "col_description",
        "array_or_empty",
        "regclassout",
        "regtypeout",
        "trim",
        "btrim",
        "split_part",
    ];
    visit_expressions(expr, |inner| match inner {
        Expr::Function(function) if !PLAIN.contains(&last_word(&function.name).as_str()) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })
    .is_break()
}

/// Positions and the output's own name mean the value that is collected.
fn order_of(mut by: OrderByExpr, expr: &Expr, label: Option<&Ident>) -> OrderByExpr {
    let same = match &by.expr {
        Expr::Value(ValueWithSpan { value: Value::Number(position, _), .. }) => {
            matches!(position.to_string().as_str(), "1")
        }
        Expr::Identifier(name) => label.is_some_and(|label| label.value == name.value),
        _ => false,
    };
    if same {
        by.expr = expr.clone();
    }
    by
}

fn array_agg(expr: Expr, order: Vec<OrderByExpr>) -> Expr {
    let clauses = if order.is_empty() { Vec::new() } else { vec![FunctionArgumentClause::OrderBy(order)] };
    call_with("array_agg", vec![expr], clauses)
}

const COLLECTED: &str = "__collected";
const VALUE: &str = "__value";

fn collect_result(mut query: Query) -> Query {
    let order = match query.order_by.as_ref().map(|order| &order.kind) {
        Some(OrderByKind::Expressions(order)) => order.clone(),
        Some(OrderByKind::All(_)) | None => Vec::new(),
    };
    let mut columns = vec![VALUE.to_owned()];
    let mut ordered = Vec::with_capacity(order.len());
    for by in order {
        let mut column = VALUE.to_owned();
        // A SELECT can hand out what it orders by. DISTINCT and UNION order by what they hand out,
        // and that is the value alone.
        if let SetExpr::Select(select) = query.body.as_mut()
            && !matches!(select.distinct, Some(Distinct::Distinct))
            && !is_position(&by.expr)
        {
            column = format!("__key_{}", columns.len());
            select.projection.push(SelectItem::ExprWithAlias { expr: by.expr.clone(), alias: quoted(&column) });
            columns.push(column.clone());
        }
        ordered.push(OrderByExpr { expr: Expr::Identifier(quoted(&column)), ..by });
    }
    let relation = derived(query, COLLECTED, &columns, false);
    let item = SelectItem::UnnamedExpr(array_agg(Expr::Identifier(quoted(VALUE)), ordered));
    plain_query(SetExpr::Select(Box::new(select(vec![item], vec![relation]))))
}

fn is_position(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(ValueWithSpan { value: Value::Number(..), .. }))
}
