//! Filters are pushed down by column names. Where two columns of a node have the same name,
//! DataFusion takes the first for both: `a.x = b.x` above an outer join becomes `x = x` and is
//! dropped. Plans in which that could happen keep their filters.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;

use crate::rules::Rules;

/// Guards the rules: plans with ambiguous filters stay as they are.
pub(super) fn install(rules: &mut Rules) -> Result<()> {
    for name in ["FilterPushdown", "FilterPushdown(Post)"] {
        rules.physical.wrap(name, |rule| Arc::new(UnambiguousFilters(rule)))?;
    }
    Ok(())
}

/// DataFusion's rule, for plans with unambiguous filters.
#[derive(Debug)]
struct UnambiguousFilters(Arc<dyn PhysicalOptimizerRule + Send + Sync>);

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

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Int64Array, RecordBatch};
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    use datafusion::datasource::memory::MemorySourceConfig;
    use datafusion::logical_expr::Operator;
    use datafusion::physical_expr::PhysicalExpr;
    use datafusion::physical_expr::expressions::{Column, binary, lit};
    use datafusion::physical_plan::displayable;
    use datafusion::physical_plan::projection::ProjectionExec;
    use datafusion::prelude::SessionContext;

    use super::*;

    /// `a = b` over two columns that are both named `x`, above a filter of `a` that would take
    /// conditions of its own columns.
    fn plan() -> Result<Arc<dyn ExecutionPlan>> {
        let field = |name: &str| Field::new(name, DataType::Int64, false);
        let schema = Arc::new(Schema::new(vec![field("a"), field("b")]));
        let column = |values: [i64; 2]| Arc::new(Int64Array::from(values.to_vec()));
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![column([1, 2]), column([5, 2])])?;
        let rows = MemorySourceConfig::try_new_exec(&[vec![batch]], Arc::clone(&schema), None)?;
        let read = |name: &str, at| Arc::new(Column::new(name, at)) as Arc<dyn PhysicalExpr>;
        let small = binary(read("a", 0), Operator::Lt, lit(9_i64), &schema)?;
        let small = Arc::new(FilterExec::try_new(small, rows)?);
        let named = vec![(read("a", 0), "x".to_owned()), (read("b", 1), "x".to_owned())];
        let named = Arc::new(ProjectionExec::try_new(named, small)?);
        let equal = binary(read("x", 0), Operator::Eq, read("x", 1), named.schema().as_ref())?;
        Ok(Arc::new(FilterExec::try_new(equal, named)?))
    }

    /// The plan behind the rule of this name.
    fn optimized(guarded: bool) -> String {
        let state = SessionContext::new().state();
        let mut rules = Rules::of(&state);
        if guarded {
            install(&mut rules).expect("its rules");
        }
        let state = rules.put_into(state);
        let rule = state.physical_optimizers().iter().find(|rule| rule.name() == "FilterPushdown").expect("the rule");
        let plan = rule.optimize(plan().expect("a plan"), state.config_options()).expect("a plan");
        displayable(plan.as_ref()).indent(false).to_string()
    }

    #[test]
    fn filters_that_name_no_single_column_stay() {
        assert!(optimized(true).starts_with("FilterExec: x@0 = x@1"), "{}", optimized(true));
    }

    /// When this fails, DataFusion has mended it: this file can go.
    #[test]
    fn unguarded_the_first_column_of_the_name_is_taken() {
        let plan = optimized(false);
        assert!(plan.starts_with("ProjectionExec") && !plan.contains("a@0 = b@1"), "{plan}");
    }
}
