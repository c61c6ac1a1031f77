//! What is left to the optimizer: shapes of sub-queries that it makes the right joins of.

use datafusion::common::Result;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};

use super::outer_references::{holds_subquery, refers_outside};

/// A condition that must hold as a whole, not as a part of another one: there unknown is as good as
/// false.
pub(super) fn condition(expr: &Expr) -> Result<bool> {
    match expr {
        Expr::Exists(Exists { subquery, .. }) => pulled_up(&subquery.subquery, Over::Rows),
        Expr::InSubquery(InSubquery { subquery, negated: false, .. }) => pulled_up(&subquery.subquery, Over::Rows),
        // The join that minds NULLs has one key.
        Expr::InSubquery(InSubquery { subquery, negated: true, .. }) => Ok(!refers_outside(&subquery.subquery)?),
        _ => Ok(false),
    }
}

/// A sub-query that stands for a value.
pub(super) fn scalar(plan: &LogicalPlan) -> Result<bool> {
    Ok(is_aggregated(plan) && pulled_up(plan, Over::Values)?)
}

/// A LATERAL item of FROM.
pub(super) fn lateral(plan: &LogicalPlan) -> Result<bool> {
    pulled_up(plan, Over::Values)
}

/// What lies over the conditions that refer outside.
#[derive(Clone, Copy, PartialEq)]
enum Over {
    /// Nothing that makes other rows of them.
    Rows,
    /// An aggregate may come.
    Values,
    Aggregate,
}

/// Whether the optimizer can pull what refers outside up into a join: conditions of filters, and
/// under an aggregate only those that equate a column with something outside.
fn pulled_up(plan: &LogicalPlan, over: Over) -> Result<bool> {
    if !refers_outside(plan)? {
        return Ok(true);
    }
    let mut holds = false;
    plan.apply_expressions(|expr| {
        holds |= holds_subquery(expr);
        Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
    })?;
    if holds {
        return Ok(false);
    }
    match plan {
        LogicalPlan::Filter(filter) => {
            let fits = split_conjunction(&filter.predicate)
                .into_iter()
                .all(|conjunct| !conjunct.contains_outer() || over != Over::Aggregate || equates(conjunct));
            Ok(fits && pulled_up(&filter.input, over)?)
        }
        node if node.contains_outer_reference() => Ok(false),
        LogicalPlan::Projection(projection) => pulled_up(&projection.input, over),
        LogicalPlan::Aggregate(aggregate) => Ok(over == Over::Values && pulled_up(&aggregate.input, Over::Aggregate)?),
        _ => Ok(false),
    }
}

fn equates(expr: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = expr else { return false };
    match (left.as_ref(), right.as_ref()) {
        (Expr::Column(_), other) | (other, Expr::Column(_)) => !other.any_column_refs(),
        _ => false,
    }
}

/// Whether a plan is an aggregate without groups under at most projections: one row, always.
pub(super) fn is_aggregated(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::Projection(projection) => is_aggregated(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_aggregated(&alias.input),
        _ => false,
    }
}
