//! The allow list: shapes of subqueries that DataFusion's own rules decorrelate correctly.

use std::collections::HashSet;

use datafusion::common::Result;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, Projection};

use super::outer_references::{has_subqueries_anywhere, holds_subquery, refers_outside};
use crate::functions::{is_arithmetic, may_fail};
use crate::workarounds::has_repeated_key;

/// Whether a conjunct of WHERE may stay. As a whole conjunct, not as a part of one: there unknown
/// is as good as false.
pub(super) fn condition(expr: &Expr) -> Result<bool> {
    let fits = |plan| Ok(can_pull_up(plan, Above::Rows)? && !has_lateral_items(plan)?);
    match expr {
        Expr::Exists(Exists { subquery, .. }) => fits(&subquery.subquery),
        Expr::InSubquery(InSubquery { subquery, negated: false, .. }) => fits(&subquery.subquery),
        // The null-aware anti join has one key, which is a column's: for a constant it forgets
        // NULL.
        Expr::InSubquery(InSubquery { expr, subquery, negated: true }) => {
            Ok(expr.any_column_refs() && !refers_outside(&subquery.subquery)?)
        }
        _ => Ok(false),
    }
}

/// Whether there are LATERAL items in FROM, whose outer columns the rules take for those of the
/// subquery around them.
fn has_lateral_items(plan: &LogicalPlan) -> Result<bool> {
    plan.exists(|node| Ok(matches!(node, LogicalPlan::Subquery(_))))
}

/// Whether a scalar subquery may stay.
pub(super) fn scalar(plan: &LogicalPlan) -> Result<bool> {
    Ok(is_aggregated(plan) && can_pull_up(plan, Above::Values)? && !has_lateral_items(plan)?)
}

/// Whether a LATERAL item of FROM may stay. The rule takes a LATERAL item within it for the one
/// whose conditions it pulls up.
pub(super) fn lateral(plan: &LogicalPlan) -> Result<bool> {
    Ok(!has_subqueries_anywhere(plan)? && can_pull_up(plan, Above::Values)?)
}

/// What lies above the correlated conditions.
#[derive(Clone, Copy, PartialEq)]
enum Above {
    /// Nothing that changes the rows.
    Rows,
    /// At most an aggregate.
    Values,
    Aggregate,
}

/// Whether DataFusion can pull the correlated conditions up into a join: those of filters, and
/// under an aggregate only those that equate a column with an outer one.
fn can_pull_up(plan: &LogicalPlan, above: Above) -> Result<bool> {
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
                .all(|conjunct| !conjunct.contains_outer() || above != Above::Aggregate || equates(conjunct));
            // Of joins under an aggregate the rule finds no condition, since it is pushed into
            // them.
            if !fits || above == Above::Aggregate && matches!(filter.input.as_ref(), LogicalPlan::Join(_)) {
                return Ok(false);
            }
            // HAVING would be forgotten of groups that are empty.
            can_pull_up(&filter.input, if above == Above::Values { Above::Rows } else { above })
        }
        node if node.contains_outer_reference() => Ok(false),
        LogicalPlan::Projection(projection) => {
            let is_over_aggregate = matches!(projection.input.as_ref(), LogicalPlan::Aggregate(_));
            // Else they are computed for rows that the conditions leave out.
            let fits = !is_over_aggregate && !projection.expr.iter().any(may_fail)
                || is_over_aggregate && projection.expr.iter().all(follows_aggregates);
            Ok(fits && !shadows_correlated(projection)? && can_pull_up(&projection.input, above)?)
        }
        LogicalPlan::Aggregate(aggregate) => {
            let has_sets = aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_)));
            Ok(above == Above::Values
                && !has_sets
                && !has_repeated_key(&aggregate.input)?
                // Their joins may repeat its keys.
                && !has_subqueries_anywhere(&aggregate.input)?
                && can_pull_up(&aggregate.input, Above::Aggregate)?)
        }
        _ => Ok(false),
    }
}

/// Whether a label is the name of a column of a correlated condition: the rule adds that column to
/// the projection by its own name. A cast has the name of what is cast.
fn shadows_correlated(projection: &Projection) -> Result<bool> {
    let labels = projection.expr.iter().filter_map(|expr| match expr {
        Expr::Alias(alias) => alias.relation.is_none().then(|| alias.name.clone()),
        Expr::Cast(_) => Some(expr.schema_name().to_string()),
        _ => None,
    });
    let labels: HashSet<String> = labels.collect();
    if labels.is_empty() {
        return Ok(false);
    }
    projection.input.exists(|node| {
        let LogicalPlan::Filter(filter) = node else { return Ok(false) };
        Ok(filter.predicate.contains_outer()
            && filter
                .predicate
                .column_refs()
                .iter()
                .any(|column| labels.contains(&column.name) || labels.contains(&column.flat_name())))
    })
}

/// Whether an expression over aggregates is NULL where they are, as those of no rows are in the
/// join that DataFusion makes: what it puts in the place of counts is all that it knows of others.
fn follows_aggregates(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) => true,
        Expr::Alias(alias) => follows_aggregates(&alias.expr),
        Expr::Cast(cast) => follows_aggregates(&cast.expr),
        Expr::ScalarFunction(call) if is_arithmetic(expr) => {
            call.args
                .iter()
                .all(|arg| matches!(arg, Expr::Literal(value, _) if !value.is_null()) || follows_aggregates(arg))
                && call.args.iter().any(Expr::any_column_refs)
        }
        _ => false,
    }
}

fn equates(expr: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = expr else { return false };
    match (left.as_ref(), right.as_ref()) {
        (Expr::Column(_), other) | (other, Expr::Column(_)) => !other.any_column_refs(),
        _ => false,
    }
}

/// Whether a plan is an aggregate without GROUP BY under at most projections: always one row.
pub(super) fn is_aggregated(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::Projection(projection) => is_aggregated(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_aggregated(&alias.input),
        _ => false,
    }
}
