//! Keys of aggregates that are looked for among other columns.
//!
//! The columns that an aggregate groups by are unique together, and rows that are in the order of
//! such columns need no sort by more. A projection keeps the places of these columns as they were
//! before it: where another column is at their place, ORDER BY loses what comes behind that one,
//! and a top-k ends too early. So nothing is known of such keys where it is decided what is sorted,
//! nor when it is.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Constraints, Result};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, PlanProperties};

use crate::pass_through::{PassThrough, PassThroughExec};
use crate::rules::Rules;

/// But for the rules between, which look for aggregates and leave sorts.
pub(super) fn install(rules: &mut Rules) -> Result<()> {
    rules.physical.before("EnsureRequirements", Arc::new(UnprojectedKeys::Forget))?;
    rules.physical.after("EnsureRequirements", Arc::new(UnprojectedKeys::Know))?;
    rules.physical.after("LimitAggregation", Arc::new(UnprojectedKeys::Forget))
}

#[derive(Debug)]
enum UnprojectedKeys {
    Forget,
    Know,
}

impl PhysicalOptimizerRule for UnprojectedKeys {
    fn name(&self) -> &str {
        match self {
            Self::Forget => "forget_unprojected_keys",
            Self::Know => "know_unprojected_keys",
        }
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| {
            Ok(match self {
                Self::Forget if has_keys(&plan) => Transformed::yes(PassThroughExec::over(plan, WithoutKeys)),
                Self::Know if plan.is::<PassThroughExec<WithoutKeys>>() => match plan.children().as_slice() {
                    [input] => Transformed::yes(Arc::clone(input)),
                    _ => Transformed::no(plan),
                },
                _ => Transformed::no(plan),
            })
        })
        .data()
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn has_keys(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<AggregateExec>() && plan.equivalence_properties().constraints().iter().next().is_some()
}

#[derive(Debug, Clone, Copy)]
struct WithoutKeys;

impl PassThrough for WithoutKeys {
    const NAME: &'static str = "ForgettingExec";

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        Arc::new(input.properties().as_ref().clone().with_constraints(Constraints::default()))
    }

    fn benefits_from_partitions(&self) -> bool {
        false
    }

    fn passes_filters(&self) -> bool {
        true
    }
}
