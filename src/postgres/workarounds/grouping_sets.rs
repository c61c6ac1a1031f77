//! What holds of the rows below GROUPING SETS, ROLLUP and CUBE, and not of those above.
//!
//! A column that a filter holds constant, or equal to another, counts as such above an aggregate as
//! well, where grouping sets without it have NULL: ORDER BY such a column is dropped. So the input
//! of such an aggregate is said to have neither constants nor equal columns, nor an order.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, Result, Statistics, internal_err, plan_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties, ReplaceChildrenOptions,
};
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};

use crate::rules::Rules;

/// Behind all other rules.
pub(super) fn install(rules: &mut Rules) -> Result<()> {
    rules.optimizer.last(Arc::new(ForgetBelowGroupingSets));
    Ok(())
}

#[derive(Debug)]
struct ForgetBelowGroupingSets;

impl OptimizerRule for ForgetBelowGroupingSets {
    fn name(&self) -> &str {
        "forget_below_grouping_sets"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Aggregate(mut aggregate)
                if matches!(aggregate.group_expr.as_slice(), [Expr::GroupingSet(_)])
                    && !is_forgetting(&aggregate.input) =>
            {
                let node = Arc::new(Forgetting { input: Arc::unwrap_or_clone(aggregate.input) });
                aggregate.input = Arc::new(LogicalPlan::Extension(Extension { node }));
                Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
            }
            plan => Ok(Transformed::no(plan)),
        }
    }
}

fn is_forgetting(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Extension(Extension { node }) if node.name() == NAME)
}

const NAME: &str = "Forgetting";

/// The rows of its input, of which nothing is known.
#[derive(Debug, PartialEq, Eq, PartialOrd, Hash)]
struct Forgetting {
    input: LogicalPlan,
}

impl UserDefinedLogicalNodeCore for Forgetting {
    fn name(&self) -> &str {
        NAME
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    /// Filters are pushed through.
    fn prevent_predicate_push_down_columns(&self) -> std::collections::HashSet<String> {
        Default::default()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(NAME)
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        match <[LogicalPlan; 1]>::try_from(inputs) {
            Ok([input]) => Ok(Self { input }),
            Err(_) => plan_err!("it has one input"),
        }
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![output_columns.to_vec()])
    }
}

/// Makes the operator.
pub(super) struct PlanForgetting;

#[async_trait]
impl ExtensionPlanner for PlanForgetting {
    async fn plan_extension(
        &self,
        _planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _logical: &[&LogicalPlan],
        physical: &[Arc<dyn ExecutionPlan>],
        _session: &dyn Session,
        _context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        Ok(match physical {
            [input] if node.name() == NAME => Some(Arc::new(ForgettingExec::new(Arc::clone(input)))),
            _ => None,
        })
    }
}

/// Hands on the batches of its input.
#[derive(Debug)]
struct ForgettingExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl ForgettingExec {
    fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Self { input, properties: Arc::new(properties) }
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
            Ok([input]) => Ok(Arc::new(Self::new(input))),
            Err(_) => internal_err!("it has one input"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
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
