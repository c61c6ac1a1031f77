//! Joins with `NullEqualsNull` (`IS NOT DISTINCT FROM`, INTERSECT, decorrelated subqueries).
//!
//! Two rules of the optimizer move conditions with `=` among the keys of such a join, where NULLs
//! would match.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, NullEquality, Result};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::OptimizerConfig;

use super::guarded::{Guarded, Rule};
use crate::rules::Rules;

/// So many joins are many.
const JOINS_MIN: usize = 16;

/// Guards the two rules.
pub(super) fn install(rules: &mut Rules) -> Result<()> {
    // Rewrites one join at a time.
    rules.optimizer.wrap("extract_equijoin_predicate", |rule| Guarded::over(rule, one_join))?;
    // Flattens all joins of a plan and rebuilds them.
    rules.optimizer.wrap("eliminate_cross_join", |rule| Guarded::over(rule, all_joins))
}

fn one_join(rule: &Rule, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    // The rule would add keys from `=`, by which NULLs must not match.
    let kept = matches!(&plan, LogicalPlan::Join(join) if nulls_are_equal(join.null_equality));
    if kept { Ok(Transformed::no(plan)) } else { rule.rewrite(plan, config) }
}

fn all_joins(rule: &Rule, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    let kept = plan.exists(|node| Ok(is_inner_with_equal_nulls(node)))? || is_long_without_cross_joins(&plan)?;
    if kept { Ok(Transformed::no(plan)) } else { rule.rewrite(plan, config) }
}

/// Whether there are many joins and no cross join to eliminate among them: the rule takes all joins
/// apart at each of them, and 100 of them take it a second.
fn is_long_without_cross_joins(plan: &LogicalPlan) -> Result<bool> {
    let (mut joins, mut cross_joins) = (0, 0);
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Join(join) = node {
            joins += 1;
            cross_joins += usize::from(join.join_type == JoinType::Inner && join.on.is_empty());
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(joins >= JOINS_MIN && cross_joins == 0)
}

fn is_inner_with_equal_nulls(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Join(join) if join.join_type == JoinType::Inner && nulls_are_equal(join.null_equality))
}

fn nulls_are_equal(equality: NullEquality) -> bool {
    equality == NullEquality::NullEqualsNull
}
