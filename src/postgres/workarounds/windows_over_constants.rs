//! Windows whose PARTITION BY has a column that a filter, a join or a projection holds constant.
//!
//! Rows need no sort by such a column, and DataFusion makes none. But the operator of the window
//! looks for their order again when it runs, and finds none of a column that is constant in each
//! partition of the plan and not in all of them together, nor of one whose condition is wrapped by
//! then so that it can be cancelled: it refuses its input. So the input says in which order it is.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::equivalence::{EquivalenceClass, EquivalenceGroup};
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr};
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
            let keys = window.partition_by().to_vec();
            let input = PassThroughExec::over(Arc::clone(input), InOrder { ordering, keys });
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

/// The order that the rows are in, with the keys that are constant among them; none where no
/// key is.
fn order_with_constants(window: &Arc<dyn WindowExpr>, input: &Arc<dyn ExecutionPlan>) -> Result<Option<LexOrdering>> {
    let (known, keys) = (input.equivalence_properties(), window.partition_by());
    if keys.iter().all(|key| known.is_expr_constant(key).is_none()) {
        return Ok(None);
    }
    let (mut order, places) = known.find_longest_permutation(keys)?;
    let others = keys.iter().enumerate().filter(|(place, _)| !places.contains(place));
    order.extend(others.map(|(_, key)| PhysicalSortExpr::new_default(Arc::clone(key))));
    order.extend(window.order_by().iter().cloned());
    Ok(if known.ordering_satisfy(order.clone())? { LexOrdering::new(order) } else { None })
}

/// Rows that are in an order too, whose keys are not said to be constant: what is constant is left
/// out of orders.
#[derive(Debug, Clone)]
struct InOrder {
    ordering: LexOrdering,
    keys: Vec<Arc<dyn PhysicalExpr>>,
}

impl PassThrough for InOrder {
    const NAME: &'static str = "InOrder";

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        let known = input.equivalence_properties();
        let orderings = known.oeq_class().iter().chain([&self.ordering]).cloned();
        let in_order = EquivalenceProperties::new_with_orderings(input.schema(), orderings);
        let mut with_equal = in_order.clone();
        let equal = known.eq_group().iter().map(|class| {
            let has_key = self.keys.iter().any(|key| class.contains(key));
            if has_key { EquivalenceClass::new(class.iter().cloned()) } else { class.clone() }
        });
        // Less may be said of the rows than is known.
        let said = match with_equal.add_equivalence_group(EquivalenceGroup::new(equal)) {
            Ok(()) => with_equal,
            Err(_) => in_order,
        };
        Arc::new(input.properties().as_ref().clone().with_eq_properties(said))
    }

    fn passes_filters(&self) -> bool {
        true
    }
}
