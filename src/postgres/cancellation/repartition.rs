//! Repartitioning that spills: in bounded memory, and without a deadlock.
//!
//! Several inputs of a `RepartitionExec` spill into files of one queue, each into its own, and the
//! reader waits for the next batch of the first file while it is in the second. Once all outputs
//! wait so, the gate that holds back the inputs is closed for good. So each input has a
//! `RepartitionExec` of its own.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::union::InterleaveExec;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties, ReplaceChildrenOptions,
};

use super::small_batches::SmallBatchesExec;

/// How many times fewer rows repartitioning gathers where they have lists than where they have
/// texts: lists of a partial aggregate that ran out of memory take megabytes each.
const LISTS_DIVISOR: usize = 32;

/// The same repartitioning, one for each input, which gathers few rows where they may be wide.
pub(super) fn repartitioned(plan: &RepartitionExec) -> Result<Arc<dyn ExecutionPlan>> {
    let (input, partitioning) = (plan.input(), plan.partitioning());
    let inputs = input.output_partitioning().partition_count();
    if plan.preserve_order() || inputs <= 1 {
        return few_rows(plan.clone());
    }
    if !matches!(partitioning, Partitioning::Hash(..)) {
        let one = Arc::new(CoalescePartitionsExec::new(Arc::clone(input)));
        return few_rows(RepartitionExec::try_new(one, partitioning.clone())?);
    }
    let each = (0..inputs).map(|partition| {
        let one = Arc::new(OnePartitionExec::new(Arc::clone(input), partition));
        few_rows(RepartitionExec::try_new(one, partitioning.clone())?)
    });
    Ok(Arc::new(InterleaveExec::try_new(each.collect::<Result<_>>()?)?))
}

fn few_rows(plan: RepartitionExec) -> Result<Arc<dyn ExecutionPlan>> {
    match divisor(&plan.schema()) {
        Some(divisor) => SmallBatchesExec::around(Arc::new(plan), divisor),
        None => Ok(Arc::new(plan)),
    }
}

/// None where the rows are as wide as their types.
fn divisor(schema: &Schema) -> Option<usize> {
    let mut types = schema.fields().iter().map(|field| field.data_type());
    if types.clone().any(DataType::is_nested) {
        return Some(LISTS_DIVISOR);
    }
    types.any(|data_type| data_type.primitive_width().is_none()).then_some(1)
}

/// One of the partitions of its input, which others read the rest of.
#[derive(Debug)]
struct OnePartitionExec {
    input: Arc<dyn ExecutionPlan>,
    partition: usize,
    properties: Arc<PlanProperties>,
}

impl OnePartitionExec {
    fn new(input: Arc<dyn ExecutionPlan>, partition: usize) -> Self {
        let properties = input.properties().as_ref().clone().with_partitioning(Partitioning::UnknownPartitioning(1));
        Self { input, partition, properties: Arc::new(properties) }
    }
}

impl DisplayAs for OnePartitionExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OnePartitionExec: partition={}", self.partition)
    }
}

impl ExecutionPlan for OnePartitionExec {
    fn name(&self) -> &str {
        "OnePartitionExec"
    }

    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
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
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self::new(input, self.partition))),
            _ => internal_err!("one partition is read of one input"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(self.partition, context)
    }

    fn child_stats_requests(&self, _: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(Some(self.partition))]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match inputs {
            [input] => Ok(Arc::clone(input)),
            _ => internal_err!("one partition is read of one input"),
        }
    }
}
