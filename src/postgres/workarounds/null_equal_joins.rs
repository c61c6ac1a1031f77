//! Joins with `NullEqualsNull` (`IS NOT DISTINCT FROM`, INTERSECT, decorrelated subqueries).
//!
//! Two rules of the optimizer move conditions with `=` among the keys of such a join, where NULLs
//! would match.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinType, NullEquality, Result};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use crate::rules::Rules;

type Rule = Arc<dyn OptimizerRule + Send + Sync>;

/// Guards the two rules.
pub(super) fn install(rules: &mut Rules) -> Result<()> {
    // Rewrites one join at a time.
    rules.optimizer.wrap("extract_equijoin_predicate", |rule| Arc::new(Guarded { rule, whole: false }))?;
    // Flattens all joins of a plan and rebuilds them.
    rules.optimizer.wrap("eliminate_cross_join", |rule| Arc::new(Guarded { rule, whole: true }))
}

#[derive(Debug)]
struct Guarded {
    rule: Rule,
    whole: bool,
}

impl OptimizerRule for Guarded {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let kept = match self.whole {
            true => plan.exists(|node| Ok(is_inner_with_equal_nulls(node)))?,
            // The rule would add keys from `=`, by which NULLs must not match.
            false => matches!(&plan, LogicalPlan::Join(join) if nulls_are_equal(join.null_equality)),
        };
        if kept { Ok(Transformed::no(plan)) } else { self.rule.rewrite(plan, config) }
    }
}

fn is_inner_with_equal_nulls(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Join(join) if join.join_type == JoinType::Inner && nulls_are_equal(join.null_equality))
}

fn nulls_are_equal(equality: NullEquality) -> bool {
    equality == NullEquality::NullEqualsNull
}
