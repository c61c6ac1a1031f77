//! Repartitioning that spills: in bounded memory, and without a deadlock.
//!
//! Several inputs of a `RepartitionExec` spill into files of one queue, each into its own, and the
//! reader waits for the next batch of the first file while it is in the second. Once all outputs
//! wait so, the gate that holds back the inputs is closed for good. So each input has a
//! `RepartitionExec` of its own.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::union::InterleaveExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties};

use super::row_bytes::is_copied;
use super::small_batches::{Gathered, gathering};
use crate::pass_through::{PassThrough, PassThroughExec};

/// How many times fewer rows repartitioning and joins gather where they have lists, or texts
/// that an aggregate joins, than where they have other texts: those of a partial aggregate that ran
/// out of memory take megabytes each.
pub(super) const LISTS_DIVISOR: usize = 32;

/// The same repartitioning, one for each input, which gathers few rows where they may be wide, and
/// none where they are. A recursive query reads its rows in one place: its inputs are one.
pub(super) fn repartitioned(
    plan: &RepartitionExec,
    rows_are_wide: bool,
    is_recursive: bool,
) -> Result<Arc<dyn ExecutionPlan>> {
    let (input, partitioning) = (plan.input(), plan.partitioning());
    let inputs = input.output_partitioning().partition_count();
    // Its rows come in the order in which they were found, which many statements count on.
    if is_recursive && inputs == 1 && matches!(partitioning, Partitioning::RoundRobinBatch(_)) {
        return Ok(Arc::clone(input));
    }
    if plan.preserve_order() || inputs <= 1 {
        return few_rows(plan.clone(), rows_are_wide);
    }
    if is_recursive || !matches!(partitioning, Partitioning::Hash(..)) {
        let one = Arc::new(CoalescePartitionsExec::new(Arc::clone(input)));
        return few_rows(RepartitionExec::try_new(one, partitioning.clone())?, rows_are_wide);
    }
    let each = (0..inputs).map(|partition| {
        let one = PassThroughExec::over(Arc::clone(input), OnePartition(partition));
        few_rows(RepartitionExec::try_new(one, partitioning.clone())?, rows_are_wide)
    });
    Ok(Arc::new(InterleaveExec::try_new(each.collect::<Result<_>>()?)?))
}

fn few_rows(plan: RepartitionExec, rows_are_wide: bool) -> Result<Arc<dyn ExecutionPlan>> {
    match divisor(&plan.schema()) {
        Some(_) if rows_are_wide => gathering(Arc::new(plan), Gathered::Nothing),
        Some(divisor) => gathering(Arc::new(plan), Gathered::WideRows { divisor }),
        None => Ok(Arc::new(plan)),
    }
}

/// None where the rows are as wide as their types.
fn divisor(schema: &Schema) -> Option<usize> {
    let mut types = schema.fields().iter().map(|field| field.data_type());
    if types.clone().any(is_copied) {
        return Some(LISTS_DIVISOR);
    }
    types.any(|data_type| data_type.primitive_width().is_none()).then_some(1)
}

/// One of the partitions of its input, which others read the rest of.
#[derive(Debug, Clone, Copy)]
struct OnePartition(usize);

impl PassThrough for OnePartition {
    const NAME: &'static str = "OnePartitionExec";

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        Arc::new(input.properties().as_ref().clone().with_partitioning(Partitioning::UnknownPartitioning(1)))
    }

    fn input_partition(&self, _: Option<usize>) -> Option<usize> {
        Some(self.0)
    }

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        _: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        input.execute(self.0, context)
    }
}
