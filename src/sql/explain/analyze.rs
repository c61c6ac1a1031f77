//! Running a plan for its counters.

use std::sync::Arc;

use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use futures::StreamExt;

use crate::planner::cancellable_rows;
use rowkey_base::Result;
use rowkey_postgres::cancellation::Signals;
use rowkey_postgres::error::from_datafusion;

/// What running the whole plan gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ran {
    pub rows: u64,
}

/// Runs a plan and throws its rows away.
pub(super) async fn run(
    plan: &Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
    signals: &Arc<Signals>,
) -> Result<Ran> {
    // Its counters are those of the leaves, which both plans share.
    let mut batches = cancellable_rows(Arc::clone(plan), context, signals).map_err(from_datafusion)?;
    let mut rows = 0;
    while let Some(batch) = batches.next().await {
        rows += batch.map_err(rowkey_postgres::error::from_datafusion)?.num_rows() as u64;
    }
    Ok(Ran { rows })
}
