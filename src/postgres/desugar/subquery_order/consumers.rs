//! Consumers that depend on the order of their input: aggregates, windows and DISTINCT ON without
//! an ORDER BY of their own.

use std::sync::Arc;

use datafusion::common::{Column, Result, ScalarValue};
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    Aggregate, Distinct, DistinctOn, Expr, LogicalPlan, SortExpr, Window, WindowFrame, WindowFrameBound,
    WindowFrameUnits,
};

use super::Propagation;
use super::rows::{Rows, Term, project_to};
use crate::desugar::decorrelation::holds_subquery;

/// Aggregates whose result depends on the order of the rows.
const AGGREGATES: [&str; 5] = ["array_agg", "string_agg", "first_value", "last_value", "nth_value"];
/// Window functions of the position of a row. `rank` and its like depend on their ORDER BY alone.
const WINDOWS: [&str; 4] = ["row_number", "ntile", "lag", "lead"];

impl Propagation {
    pub(super) fn aggregate(&mut self, aggregate: Aggregate) -> Result<LogicalPlan> {
        let wanted = aggregate.aggr_expr.iter().any(is_order_sensitive);
        let rows = self.rows(Arc::unwrap_or_clone(aggregate.input), wanted)?;
        let order = rows.order();
        let exprs = aggregate.aggr_expr.into_iter().map(|expr| ordered(expr, &order)).collect();
        Ok(LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(rows.plan), aggregate.group_expr, exprs)?))
    }

    pub(super) fn window(&mut self, window: Window, wanted: bool) -> Result<Rows> {
        // Rows come out as they came in, unless they have to be sorted for it.
        let kept = wanted && !window.window_expr.iter().any(sorts);
        let sensitive = window.window_expr.iter().any(is_order_sensitive);
        let Rows { mut plan, order } = self.rows(Arc::unwrap_or_clone(window.input), sensitive || kept)?;
        if order.is_empty() {
            plan = LogicalPlan::Window(Window::try_new(window.window_expr, Arc::new(plan))?);
            return Ok(Rows::unordered(plan));
        }
        // One node has windows of one order.
        let terms: Vec<SortExpr> = order.iter().map(Term::sort).collect();
        let (sensitive, others): (Vec<_>, Vec<_>) = window.window_expr.into_iter().partition(is_order_sensitive);
        for exprs in [sensitive, others] {
            if !exprs.is_empty() {
                let exprs = exprs.into_iter().map(|expr| ordered(expr, &terms)).collect();
                plan = LogicalPlan::Window(Window::try_new(exprs, Arc::new(plan))?);
            }
        }
        match kept {
            true => Ok(Rows { plan, order }),
            false => Ok(Rows::unordered(project_to(plan, &window.schema)?)),
        }
    }

    /// Without an ORDER BY, the first row of each group in the order of the input. With one, rows
    /// come in its order, as far as it names what is distinct.
    pub(super) fn distinct_on(&mut self, on: DistinctOn, wanted: bool) -> Result<Rows> {
        let Rows { plan, order } = self.rows(Arc::unwrap_or_clone(on.input), on.sort_expr.is_none())?;
        let DistinctOn { on_expr, mut select_expr, sort_expr, .. } = on;
        let mut order_of_rows = Vec::new();
        let sort_expr = match sort_expr {
            None if !order.is_empty() => {
                let groups = on_expr.iter().map(|expr| expr.clone().sort(true, false));
                let terms = order.iter().map(Term::sort).filter(|term| !on_expr.contains(&term.expr));
                Some(groups.chain(terms).collect())
            }
            Some(sort) if wanted && !sort.iter().any(|by| holds_subquery(&by.expr) || by.expr.contains_outer()) => {
                for by in &sort[..on_expr.len().min(sort.len())] {
                    let name = self.name();
                    select_expr.push(by.expr.clone().alias(&name));
                    let column = Column::new_unqualified(name);
                    order_of_rows.push(Term { column, asc: by.asc, nulls_first: by.nulls_first });
                }
                Some(sort)
            }
            sort_expr => sort_expr,
        };
        let on = DistinctOn::try_new(on_expr, select_expr, sort_expr, Arc::new(plan))?;
        Ok(Rows { plan: LogicalPlan::Distinct(Distinct::On(on)), order: order_of_rows })
    }
}

/// Whether an aggregate or window function depends on the order of its input and has no ORDER BY.
fn is_order_sensitive(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => is_order_sensitive(&alias.expr),
        Expr::AggregateFunction(AggregateFunction { func, params }) => {
            AGGREGATES.contains(&func.name()) && params.order_by.is_empty() && !params.distinct
        }
        Expr::WindowFunction(window) => {
            let WindowFunction { fun, params } = window.as_ref();
            let name = fun.name();
            let frames = AGGREGATES.contains(&name) || is_partial(&params.window_frame);
            params.order_by.is_empty() && (WINDOWS.contains(&name) || (frames && !is_ranking(name)))
        }
        _ => false,
    }
}

fn is_ranking(name: &str) -> bool {
    ["rank", "dense_rank", "percent_rank", "cume_dist"].contains(&name)
}

/// Whether a frame depends on the order of the rows without an ORDER BY.
fn is_partial(frame: &WindowFrame) -> bool {
    frame.units == WindowFrameUnits::Rows && !(frame.start_bound.is_unbounded() && frame.end_bound.is_unbounded())
}

fn sorts(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => sorts(&alias.expr),
        Expr::WindowFunction(window) => !(window.params.partition_by.is_empty() && window.params.order_by.is_empty()),
        _ => false,
    }
}

/// The function with an ORDER BY, if it is order-sensitive, under the name that it had.
fn ordered(expr: Expr, order: &[SortExpr]) -> Expr {
    if order.is_empty() || !is_order_sensitive(&expr) {
        return expr;
    }
    let name = NamePreserver::new_for_projection().save(&expr);
    name.restore(match expr.unalias() {
        Expr::AggregateFunction(AggregateFunction { func, mut params }) => {
            params.order_by = order.to_vec();
            Expr::AggregateFunction(AggregateFunction { func, params })
        }
        Expr::WindowFunction(mut window) => {
            window.params.order_by = order.to_vec();
            // Without an order all rows are peers.
            if window.params.window_frame.units != WindowFrameUnits::Rows {
                window.params.window_frame = whole_partition();
            }
            Expr::WindowFunction(window)
        }
        other => other,
    })
}

fn whole_partition() -> WindowFrame {
    WindowFrame::new_bounds(
        WindowFrameUnits::Rows,
        WindowFrameBound::Preceding(ScalarValue::UInt64(None)),
        WindowFrameBound::Following(ScalarValue::UInt64(None)),
    )
}
