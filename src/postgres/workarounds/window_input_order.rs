//! Windows whose input is in the order of their PARTITION BY by what else is known of it: a key is
//! constant by a filter or a projection, or equal to a column by a join.
//!
//! Rows need no sort by a constant, and are as well sorted by the equal column. But the operator of
//! the window looks for the order of its keys again when it runs, and what it knows then is less:
//! constants differ between the partitions of the plan, and conditions are wrapped by then so that
//! they can be cancelled. It refuses its input. So the input says its order by the keys themselves.

use std::sync::Arc;

use arrow::compute::SortOptions;
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
    rules.physical.after("EnsureRequirements", Arc::new(WindowInputOrder))
}

#[derive(Debug)]
struct WindowInputOrder;

impl PhysicalOptimizerRule for WindowInputOrder {
    fn name(&self) -> &str {
        "window_input_order"
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| {
            let Some(Window { first, input, is_sorted }) = Window::of(&plan) else {
                return Ok(Transformed::no(plan));
            };
            let ordering = order_by_keys(first, input, is_sorted)?;
            let Some(ordering) = ordering else { return Ok(Transformed::no(plan)) };
            let keys = first.partition_by().to_vec();
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

/// An operator of windows: the first of them, which stands for all, and the input.
struct Window<'a> {
    first: &'a Arc<dyn WindowExpr>,
    input: &'a Arc<dyn ExecutionPlan>,
    /// Whether the input has to be in the order of all keys, and not of some of them.
    is_sorted: bool,
}

impl<'a> Window<'a> {
    fn of(plan: &'a Arc<dyn ExecutionPlan>) -> Option<Self> {
        if let Some(exec) = plan.downcast_ref::<BoundedWindowAggExec>() {
            let is_sorted = exec.input_order_mode == InputOrderMode::Sorted;
            return Some(Self { first: exec.window_expr().first()?, input: exec.input(), is_sorted });
        }
        let exec = plan.downcast_ref::<WindowAggExec>()?;
        Some(Self { first: exec.window_expr().first()?, input: exec.input(), is_sorted: true })
    }
}

/// The order that the rows are in by the keys themselves; none where their orders name the keys.
fn order_by_keys(
    window: &Arc<dyn WindowExpr>,
    input: &Arc<dyn ExecutionPlan>,
    is_sorted: bool,
) -> Result<Option<LexOrdering>> {
    let (known, keys) = (input.equivalence_properties(), window.partition_by());
    if keys.is_empty() {
        return Ok(None);
    }
    let orderings = known.oeq_class().iter().cloned();
    let named = EquivalenceProperties::new_with_orderings(input.schema(), orderings);
    let (found, places) = known.find_longest_permutation(keys)?;
    let (_, named_places) = named.find_longest_permutation(keys)?;
    let wanted = if is_sorted { keys.len() } else { places.len() };
    if named_places.len() == wanted {
        return Ok(None);
    }
    // A sort by keys has NULLs on either side.
    for nulls_first in [true, false] {
        let mut order = found.clone();
        if is_sorted {
            let options = SortOptions { descending: false, nulls_first };
            let others = keys.iter().enumerate().filter(|(place, _)| !places.contains(place));
            order.extend(others.map(|(_, key)| PhysicalSortExpr::new(Arc::clone(key), options)));
            order.extend(window.order_by().iter().cloned());
        }
        if known.ordering_satisfy(order.clone())? {
            return Ok(LexOrdering::new(order));
        }
    }
    Ok(None)
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
