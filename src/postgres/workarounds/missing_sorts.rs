//! Rows whose order a rule forgot, once others relied on it.
//!
//! Of a UNION ALL whose branches show one column twice, the order by the second is pushed into the
//! branches, and below their projections; the union then knows of the order by the first alone, and
//! the check of plans refuses the statement. Whatever is not known to be in the order that an
//! operator requires is sorted again before that check.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, ExecutionPlan, ExecutionPlanProperties, ReplaceChildrenOptions,
};

use crate::rules::Rules;

/// Before the check, which is the last of DataFusion's rules.
pub(super) fn install(rules: &mut Rules) -> Result<()> {
    rules.physical.before("SanityCheckPlan", Arc::new(MissingSorts))
}

#[derive(Debug)]
struct MissingSorts;

impl PhysicalOptimizerRule for MissingSorts {
    fn name(&self) -> &str {
        "missing_sorts"
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| {
            let required = plan.required_input_ordering();
            if required.iter().all(Option::is_none) {
                return Ok(Transformed::no(plan));
            }
            let mut is_sorted_again = false;
            let mut inputs: Vec<_> = plan.children().into_iter().map(Arc::clone).collect();
            for (input, required) in inputs.iter_mut().zip(required) {
                let Some(required) = required.map(|required| required.into_single()) else { continue };
                if !input.equivalence_properties().ordering_satisfy_requirement(required.clone())? {
                    let sort = SortExec::new(LexOrdering::from(required), Arc::clone(input));
                    *input = Arc::new(sort.with_preserve_partitioning(true));
                    is_sorted_again = true;
                }
            }
            if !is_sorted_again {
                return Ok(Transformed::no(plan));
            }
            let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            plan.replace_children(inputs, options).map(Transformed::yes)
        })
        .data()
    }

    fn schema_check(&self) -> bool {
        true
    }
}
