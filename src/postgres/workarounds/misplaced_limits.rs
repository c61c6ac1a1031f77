//! Limits between orders.
//!
//! - DataFusion moves an order that is required above a limit to below it, as if the rows that are
//!   skipped in another order were the same; and of a limit that only skips it drops the sort
//!   below, which nothing else requires. So a limit that skips requires the order of its input
//!   itself, and what is above it knows of no order.
//! - Of a sort with a limit that windows below make unnecessary, it moves the limit to below those
//!   windows, or forgets it. So the limit stands above such a sort.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion, TreeNodeRewriter};
use datafusion::physical_expr::{EquivalenceProperties, OrderingRequirements};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::output_requirements::OutputRequirementExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{Distribution, ExecutionPlan, ExecutionPlanProperties, PlanProperties};

use crate::pass_through::{PassThrough, PassThroughExec};
use crate::rules::Rules;

/// Before orders are required.
pub(super) fn install(rules: &mut Rules) -> Result<()> {
    rules.physical.first(Arc::new(MisplacedLimits));
    Ok(())
}

#[derive(Debug)]
struct MisplacedLimits;

impl PhysicalOptimizerRule for MisplacedLimits {
    fn name(&self) -> &str {
        "misplaced_limits"
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let mut rewriter = Rewriter { is_sorted_above: vec![false] };
        Ok(plan.rewrite(&mut rewriter)?.data)
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether an order is required above each operator from the root to the one that is looked at.
struct Rewriter {
    is_sorted_above: Vec<bool>,
}

impl TreeNodeRewriter for Rewriter {
    type Node = Arc<dyn ExecutionPlan>;

    fn f_down(&mut self, plan: Self::Node) -> Result<Transformed<Self::Node>> {
        let sorts = plan.is::<SortExec>() || plan.required_input_ordering().iter().any(Option::is_some);
        self.is_sorted_above.push(sorts || self.is_sorted_above.last().is_some_and(|above| *above));
        Ok(Transformed::new(plan, false, TreeNodeRecursion::Continue))
    }

    fn f_up(&mut self, plan: Self::Node) -> Result<Transformed<Self::Node>> {
        self.is_sorted_above.pop();
        if let Some(sort) = plan.downcast_ref::<SortExec>()
            && let Some(fetch) = sort.fetch()
            && comes_from_windows(sort.input())
        {
            let all = Arc::new(sort.with_fetch(None));
            return Ok(Transformed::yes(Arc::new(GlobalLimitExec::new(all, 0, Some(fetch)))));
        }
        match plan.downcast_ref::<GlobalLimitExec>() {
            Some(limit) if limit.skip() > 0 => {}
            _ => return Ok(Transformed::no(plan)),
        }
        let inputs = plan.children().into_iter().map(required).collect::<Result<Vec<_>>>()?;
        let plan = replace_children_if_necessary(plan, inputs)?;
        Ok(Transformed::yes(match self.is_sorted_above.last() {
            Some(true) => PassThroughExec::over(plan, Unordered),
            _ => plan,
        }))
    }
}

/// Whether rows are those of windows, in their order.
fn comes_from_windows(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let mut plan = plan;
    while !plan.is::<WindowAggExec>() && !plan.is::<BoundedWindowAggExec>() {
        match in_order_of(plan) {
            Some(input) => plan = input,
            None => return false,
        }
    }
    true
}

/// The input whose order the rows of an operator have.
fn in_order_of(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    match plan.children().as_slice() {
        [input] if plan.maintains_input_order() == [true] => Some(input),
        _ => None,
    }
}

/// The plan whose sort, if its rows come from one, is required.
fn required(plan: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let required = Arc::clone(plan).transform_down(|plan| {
        let Some(sort) = plan.downcast_ref::<SortExec>() else {
            let next = if in_order_of(&plan).is_some() { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Jump };
            return Ok(Transformed::new(plan, false, next));
        };
        let order = Some(OrderingRequirements::from(sort.expr().clone()));
        let required = OutputRequirementExec::new(Arc::clone(&plan), order, Distribution::SinglePartition, None);
        Ok(Transformed::new(Arc::new(required), true, TreeNodeRecursion::Jump))
    })?;
    Ok(required.data)
}

/// Rows of whose order nothing is known.
#[derive(Debug, Clone, Copy)]
struct Unordered;

impl PassThrough for Unordered {
    const NAME: &'static str = "UnorderedExec";

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        Arc::new(PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            input.output_partitioning().clone(),
            input.pipeline_behavior(),
            input.boundedness(),
        ))
    }

    fn keeps_order(&self) -> bool {
        false
    }
}
