//! Windows whose PARTITION BY has a column that a filter or a join holds constant.
//!
//! Rows need no sort by such a column, and DataFusion makes none; but where it is constant in each
//! partition of the plan, and not in all of them together, the operator of the window finds no
//! order of it and refuses its input. So the input says in which order it is.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, PhysicalSortExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{
    ChildrenPropertiesMode, ExecutionPlan, ExecutionPlanProperties, InputOrderMode, PlanProperties,
    ReplaceChildrenOptions, WindowExpr,
};

use crate::pass_through::{PassThrough, PassThroughExec};
use crate::rules::Rules;

/// Once rows are sorted as operators require.
pub(super) fn install(rules: &mut Rules) -> Result<()> {
    rules.physical.after("EnsureRequirements", Arc::new(WindowsOverConstants))
}

#[derive(Debug)]
struct WindowsOverConstants;

impl PhysicalOptimizerRule for WindowsOverConstants {
    fn name(&self) -> &str {
        "windows_over_constants"
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| {
            let Some(SortedWindow { window, input }) = SortedWindow::of(&plan) else {
                return Ok(Transformed::no(plan));
            };
            let Some(ordering) = order_with_constants(window, input)? else { return Ok(Transformed::no(plan)) };
            let input = PassThroughExec::over(Arc::clone(input), InOrder { ordering });
            let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            plan.replace_children(vec![input], options).map(Transformed::yes)
        })
        .data()
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The first window of an operator that wants its input sorted, and the input.
struct SortedWindow<'a> {
    window: &'a Arc<dyn WindowExpr>,
    input: &'a Arc<dyn ExecutionPlan>,
}

impl<'a> SortedWindow<'a> {
    fn of(plan: &'a Arc<dyn ExecutionPlan>) -> Option<Self> {
        if let Some(exec) = plan.downcast_ref::<BoundedWindowAggExec>() {
            let window = exec.window_expr().first().filter(|_| exec.input_order_mode == InputOrderMode::Sorted)?;
            return Some(Self { window, input: exec.input() });
        }
        let exec = plan.downcast_ref::<WindowAggExec>()?;
        Some(Self { window: exec.window_expr().first()?, input: exec.input() })
    }
}

/// The order that the rows are in, with the keys that are constant among them; none where the
/// operator finds it by itself.
fn order_with_constants(window: &Arc<dyn WindowExpr>, input: &Arc<dyn ExecutionPlan>) -> Result<Option<LexOrdering>> {
    let known = input.equivalence_properties();
    let (mut order, places) = known.find_longest_permutation(window.partition_by())?;
    let missing = window.partition_by().iter().enumerate().filter(|(place, _)| !places.contains(place));
    let missing: Vec<_> = missing.map(|(_, key)| PhysicalSortExpr::new_default(Arc::clone(key))).collect();
    if missing.is_empty() {
        return Ok(None);
    }
    order.extend(missing);
    order.extend(window.order_by().iter().cloned());
    Ok(if known.ordering_satisfy(order.clone())? { LexOrdering::new(order) } else { None })
}

/// Rows that are in an order.
#[derive(Debug, Clone)]
struct InOrder {
    ordering: LexOrdering,
}

impl PassThrough for InOrder {
    const NAME: &'static str = "InOrder";

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        let known = EquivalenceProperties::new_with_orderings(input.schema(), [self.ordering.clone()]);
        Arc::new(input.properties().as_ref().clone().with_eq_properties(known))
    }

    fn passes_filters(&self) -> bool {
        true
    }
}
