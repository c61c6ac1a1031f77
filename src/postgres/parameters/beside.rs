//! Parameters beside declared ones: what is unknown beside a number, or in a list of alternatives,
//! is of that type. The planner would take it for a text.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    self, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Query, SelectItem, SetExpr, Value, VisitorMut,
};

use super::contexts::{NUMBERS, is_number, is_of_numbers};
use super::data_type;
use crate::syntax::{is_comparison, number_of, plain_cast, visit_mut};
use crate::types::PostgresType;

/// Casts the parameters whose type is open and that stand beside declared ones alone.
pub(super) fn type_beside(query: &mut ast::Statement, declared: impl Fn(usize) -> Option<&'static PostgresType>) {
    // It never breaks.
    let _walked = visit_mut(query, &mut Beside { declared });
}

struct Beside<F> {
    declared: F,
}

impl<F: Fn(usize) -> Option<&'static PostgresType>> Beside<F> {
    fn type_of(&self, expr: &Expr) -> Option<&'static PostgresType> {
        number_of(expr).and_then(|number| (self.declared)(number.checked_sub(1)?))
    }

    /// Casts the open ones of expressions to the type of the declared ones, where all are
    /// parameters, and the declared ones have one type, or are numbers, and that is taken.
    fn cast_open(&self, exprs: Vec<&mut Expr>, is_taken: impl Fn(&PostgresType) -> bool) {
        let types: Vec<_> = exprs.iter().filter_map(|expr| self.type_of(expr)).collect();
        let rank = |ty: &PostgresType| NUMBERS.iter().position(|number| *number == ty.name);
        let Some(known) = types.iter().copied().max_by_key(|ty| rank(ty)).filter(|known| is_taken(known)) else {
            return;
        };
        let go_together = types.iter().all(|ty| ty.oid == known.oid || rank(ty).is_some() && rank(known).is_some());
        if types.len() == exprs.len() || !go_together || exprs.iter().any(|expr| number_of(expr).is_none()) {
            return;
        }
        for expr in exprs {
            // The declared ones as well: what says of a uuid that it is one stands in the cast.
            if self.type_of(expr).is_none_or(|ty| ty.oid == known.oid) {
                *expr = plain_cast(std::mem::replace(expr, Expr::value(Value::Null)), data_type(known));
            }
        }
    }
}

impl<F: Fn(usize) -> Option<&'static PostgresType>> VisitorMut for Beside<F> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if matches!(query.body.as_ref(), SetExpr::Values(_) | SetExpr::SetOperation { .. }) {
            let columns = columns_of(&mut query.body).into_iter().flatten();
            columns.for_each(|column| self.cast_open(column, |_| true));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::BinaryOp { left, op, right } if is_of_numbers(op) || is_comparison(op) => {
                let is_taken = |known: &PostgresType| is_number(known) || is_comparison(op);
                self.cast_open(vec![left.as_mut(), right.as_mut()], is_taken);
            }
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                self.cast_open(vec![left.as_mut(), right.as_mut()], |_| true);
            }
            Expr::Array(array) => self.cast_open(array.elem.iter_mut().collect(), |_| true),
            Expr::Function(function) if is_of_alternatives(function) => self.cast_open(arguments(function), |_| true),
            Expr::Case { operand: None, conditions, else_result, .. } => {
                let results = conditions.iter_mut().map(|when| &mut when.result).chain(else_result.as_deref_mut());
                self.cast_open(results.collect(), |_| true);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// By column, what stands in VALUES and in the branches of set operations; `None` where that cannot
/// be told, as of a star.
fn columns_of(body: &mut SetExpr) -> Option<Vec<Vec<&mut Expr>>> {
    let mut columns: Vec<Vec<&mut Expr>> = Vec::new();
    let mut bodies = vec![body];
    while let Some(body) = bodies.pop() {
        let rows: Vec<Vec<&mut Expr>> = match body {
            SetExpr::Values(values) => values.rows.iter_mut().map(|row| row.content.iter_mut().collect()).collect(),
            SetExpr::Select(select) => {
                let items = select.projection.iter_mut().map(|item| match item {
                    SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
                    _ => None,
                });
                vec![items.collect::<Option<_>>()?]
            }
            SetExpr::SetOperation { left, right, .. } => {
                bodies.extend([left.as_mut(), right.as_mut()]);
                continue;
            }
            SetExpr::Query(query) => {
                bodies.push(&mut query.body);
                continue;
            }
            _ => return None,
        };
        for row in rows {
            columns.resize_with(columns.len().max(row.len()), Vec::new);
            columns.iter_mut().zip(row).for_each(|(column, expr)| column.push(expr));
        }
    }
    Some(columns)
}

fn is_of_alternatives(function: &ast::Function) -> bool {
    let name = function.name.0.last().and_then(|part| part.as_ident());
    name.is_some_and(|name| ["nullif", "coalesce", "greatest", "least"].contains(&name.value.as_str()))
}

/// The arguments of a call; none if it has others than values.
fn arguments(function: &mut ast::Function) -> Vec<&mut Expr> {
    let FunctionArguments::List(list) = &mut function.args else { return Vec::new() };
    let values = list.args.iter_mut().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    values.collect::<Option<_>>().unwrap_or_default()
}
