//! Rules of DataFusion behind guards of ours.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

pub(super) type Rule = Arc<dyn OptimizerRule + Send + Sync>;

/// What is done in the place of a rule, which it may ask.
type Guard = fn(&Rule, LogicalPlan, &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>>;

#[derive(Debug)]
pub(super) struct Guarded {
    rule: Rule,
    guard: Guard,
    /// None: the guard is given whole plans.
    order: Option<ApplyOrder>,
}

impl Guarded {
    /// In the order of the rule.
    pub(super) fn over(rule: Rule, guard: Guard) -> Rule {
        let order = rule.apply_order();
        Arc::new(Self { rule, guard, order })
    }

    pub(super) fn of_whole_plans(rule: Rule, guard: Guard) -> Rule {
        Arc::new(Self { rule, guard, order: None })
    }
}

impl OptimizerRule for Guarded {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.order
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        (self.guard)(&self.rule, plan, config)
    }
}
