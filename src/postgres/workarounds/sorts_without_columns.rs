//! Sorts of rows without columns. A count of rows that are in an order reads none of their columns,
//! and Arrow does not put rows without columns in an order (`interleave_record_batch`
//! makes a batch without a row count): as they are all alike, they stay as they are.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{ExecutionPlan, PlanProperties};

use crate::pass_through::{PassThrough, PassThroughExec};

/// Rows of which an operator above knows that they are in an order.
#[derive(Debug, Clone)]
struct InOrder(Arc<PlanProperties>);

impl PassThrough for InOrder {
    const NAME: &'static str = "InOrderExec";

    fn properties(&self, _: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        Arc::clone(&self.0)
    }
}

/// The plan, or in place of a sort or a merge of rows without columns its input, limited as it was.
pub(crate) fn without_needless_sort(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if !plan.schema().fields().is_empty() {
        return Ok(plan);
    }
    let (input, fetch) = if let Some(sort) = plan.downcast_ref::<SortExec>() {
        (Arc::clone(sort.input()), sort.fetch())
    } else if let Some(merge) = plan.downcast_ref::<SortPreservingMergeExec>() {
        (Arc::new(CoalescePartitionsExec::new(Arc::clone(merge.input()))) as _, merge.fetch())
    } else {
        return Ok(plan);
    };
    let rows: Arc<dyn ExecutionPlan> = match fetch {
        Some(fetch) => Arc::new(LocalLimitExec::new(input, fetch)),
        None => input,
    };
    Ok(PassThroughExec::over(rows, InOrder(Arc::clone(plan.properties()))))
}
