//! Filters are handed down by the names of columns, and where two columns of one plan node have the
//! same name the query engine takes the first of them for both: `a.x = b.x` above an outer join
//! becomes `x = x` and is gone. Plans in which that could happen keep their filters.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;

/// The engine's rule, for plans whose filters name their columns.
#[derive(Debug)]
pub(crate) struct UnambiguousFilters(pub Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl UnambiguousFilters {
    /// Whether a rule hands filters down, and has to be wrapped.
    pub(crate) fn concerns(rule: &dyn PhysicalOptimizerRule) -> bool {
        rule.name().starts_with("FilterPushdown")
    }
}

impl PhysicalOptimizerRule for UnambiguousFilters {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if has_ambiguous_filter(&plan) { Ok(plan) } else { self.0.optimize(plan, config) }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

fn has_ambiguous_filter(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if plan.downcast_ref::<FilterExec>().is_some() && has_namesakes(plan) {
        return true;
    }
    plan.children().into_iter().any(has_ambiguous_filter)
}

/// Whether a node here or below has two columns of one name.
fn has_namesakes(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let schema = plan.schema();
    let mut names = HashSet::with_capacity(schema.fields().len());
    let all_differ = schema.fields().iter().all(|field| names.insert(field.name().as_str()));
    !all_differ || plan.children().into_iter().any(has_namesakes)
}
