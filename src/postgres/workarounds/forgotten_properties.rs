//! What holds of the rows below an operator, and not of those above.
//!
//! - A column that a filter holds constant, or equal to another, counts as such above an aggregate
//!   with grouping sets and above an outer join, where it is NULL in some rows: ORDER BY such a
//!   column is dropped. So the input of such an operator is said to have neither.
//! - A filter over a projection is pushed below it with the projection's expressions in the place
//!   of its columns: those that are volatile have other values there. So nothing is pushed below.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter_pushdown::{FilterDescription, FilterPushdownPhase};
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties, ReplaceChildrenOptions,
};

use crate::rules::Rules;

/// Before all other rules: they drop what is known to hold.
pub(super) fn install(rules: &mut Rules) -> Result<()> {
    rules.physical.first(Arc::new(ForgetProperties));
    Ok(())
}

#[derive(Debug)]
struct ForgetProperties;

impl PhysicalOptimizerRule for ForgetProperties {
    fn name(&self) -> &str {
        "forget_properties"
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(forgetting).data()
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn forgetting(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let volatile = projection.expr().iter().any(|projected| is_volatile(&projected.expr));
        return Ok(match volatile {
            true => Transformed::yes(ForgettingExec::over(plan, Keeps::Order)),
            false => Transformed::no(plan),
        });
    }
    let (forgets, keeps) = match plan.downcast_ref::<AggregateExec>() {
        Some(aggregate) if aggregate.group_expr().has_grouping_set() => ([true, true], Keeps::Nothing),
        Some(_) => return Ok(Transformed::no(plan)),
        None => (null_supplying(plan.as_ref()), Keeps::OrderAndFilters),
    };
    let inputs = plan.children().into_iter().zip(forgets);
    let inputs: Vec<_> = inputs.map(|(input, forgets)| (forgets && knows(input), Arc::clone(input))).collect();
    if !inputs.iter().any(|(forgets, _)| *forgets) {
        return Ok(Transformed::no(plan));
    }
    let inputs = inputs.into_iter().map(|(forgets, input)| match forgets {
        true => ForgettingExec::over(input, keeps),
        false => input,
    });
    Ok(Transformed::yes(replace_children_if_necessary(plan, inputs.collect())?))
}

/// Which inputs of a join have rows of NULLs above it.
fn null_supplying(plan: &dyn ExecutionPlan) -> [bool; 2] {
    let join_type = if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        *join.join_type()
    } else if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        *join.join_type()
    } else if let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() {
        join.join_type()
    } else {
        return [false, false];
    };
    match join_type {
        JoinType::Left => [false, true],
        JoinType::Right => [true, false],
        JoinType::Full => [true, true],
        _ => [false, false],
    }
}

/// Whether there is something to forget.
fn knows(plan: &Arc<dyn ExecutionPlan>) -> bool {
    !plan.equivalence_properties().eq_group().is_empty()
}

/// What still holds above.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Keeps {
    Nothing,
    Order,
    /// Filters may be pushed below as well.
    OrderAndFilters,
}

/// Hands on the batches of its input.
#[derive(Debug)]
struct ForgettingExec {
    input: Arc<dyn ExecutionPlan>,
    keeps: Keeps,
    properties: Arc<PlanProperties>,
}

impl ForgettingExec {
    fn over(input: Arc<dyn ExecutionPlan>, keeps: Keeps) -> Arc<dyn ExecutionPlan> {
        let mut known = EquivalenceProperties::new(input.schema());
        if keeps != Keeps::Nothing {
            known.add_orderings(input.equivalence_properties().oeq_class().clone());
        }
        let properties = PlanProperties::new(
            known,
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Arc::new(Self { input, keeps, properties: Arc::new(properties) })
    }
}

impl DisplayAs for ForgettingExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ForgettingExec")
    }
}

impl ExecutionPlan for ForgettingExec {
    fn name(&self) -> &str {
        "ForgettingExec"
    }

    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![self.keeps != Keeps::Nothing]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match <[Arc<dyn ExecutionPlan>; 1]>::try_from(children) {
            Ok([input]) => Ok(Self::over(input, self.keeps)),
            Err(_) => internal_err!("it has one input"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }

    fn gather_filters_for_pushdown(
        &self,
        _phase: FilterPushdownPhase,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        match self.keeps {
            Keeps::OrderAndFilters => FilterDescription::from_children(filters, &self.children()),
            Keeps::Nothing | Keeps::Order => Ok(FilterDescription::all_unsupported(&filters, &self.children())),
        }
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match inputs {
            [input] => Ok(Arc::clone(input)),
            _ => internal_err!("it has one input"),
        }
    }
}
