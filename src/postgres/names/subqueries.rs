//! Several subqueries of one SELECT that groups or has windows: each gets a number, since the
//! planner calls them alike.

use std::collections::HashMap;

use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, OrderBy, Select, Value,
};

use super::order::Item;
use crate::functions::NUMBERED_SUBQUERY;
use crate::syntax::{call_named, visit_own_expressions_mut};

/// Numbers the subqueries in what stands above the grouping, if there is more than one.
pub(super) fn number_subqueries(items: &mut [Item], select: &mut Select, mut order_by: Option<&mut OrderBy>) {
    let mut texts = HashMap::new();
    for step in [Step::Collect, Step::Number] {
        let mut take = |expr: &mut Expr| number(expr, &mut texts, step);
        items.iter_mut().for_each(|item| visit_own_expressions_mut(&mut item.expr, &mut take));
        select.having.iter_mut().for_each(|having| visit_own_expressions_mut(having, &mut take));
        if let Some(Distinct::On(terms)) = &mut select.distinct {
            terms.iter_mut().for_each(|term| visit_own_expressions_mut(term, &mut take));
        }
        visit_own_expressions_mut(&mut select.group_by, &mut take);
        if let Some(order_by) = order_by.as_deref_mut() {
            visit_own_expressions_mut(order_by, &mut take);
        }
        if texts.len() < 2 {
            return;
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Collect,
    Number,
}

/// Equal ones have one number, by their texts.
fn number(expr: &mut Expr, texts: &mut HashMap<String, usize>, step: Step) {
    match expr {
        // The subquery is a part of the comparison.
        Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } if is_subquery(right) => take_number(right),
        Expr::BinaryOp { left, right, .. } if is_row(left) && is_subquery(right) => take_number(right),
        Expr::Subquery(_) | Expr::InSubquery { .. } | Expr::Exists { .. } => {}
        Expr::Function(Function { args: FunctionArguments::Subquery(_), .. }) => {}
        _ => return,
    }
    let next = texts.len() + 1;
    let number = *texts.entry(expr.to_string()).or_insert(next);
    if step == Step::Number {
        let subquery = std::mem::replace(expr, Expr::value(Value::Null));
        let number = Expr::value(Value::Number(number.to_string(), false));
        *expr = call_named(NUMBERED_SUBQUERY, vec![subquery, number]);
    }
}

fn is_row(expr: &Expr) -> bool {
    match expr {
        Expr::Tuple(_) => true,
        Expr::Nested(inner) => is_row(inner),
        Expr::Function(function) => function.name.to_string().eq_ignore_ascii_case("row"),
        _ => false,
    }
}

/// A subquery, with a number or without.
fn is_subquery(expr: &Expr) -> bool {
    matches!(expr, Expr::Subquery(_)) || numbered(expr).is_some()
}

fn numbered(expr: &Expr) -> Option<&Expr> {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr else { return None };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(subquery)), _] if name.to_string() == NUMBERED_SUBQUERY => {
            Some(subquery)
        }
        _ => None,
    }
}

fn take_number(expr: &mut Expr) {
    if let Some(subquery) = numbered(expr).cloned() {
        *expr = subquery;
    }
}
