//! Running a plan for its counters.

use std::sync::Arc;

use datafusion::execution::TaskContext;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;

use rowkey_base::Result;
use rowkey_postgres::cancellation::{CancellableRows, CancellationToken, Signals, cancellable};
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
    let token = CancellationToken::new(Arc::clone(signals));
    // Its counters are those of the leaves, which both plans share.
    let rows = execute_stream(cancellable(Arc::clone(plan), &token).map_err(from_datafusion)?, context)
        .map_err(from_datafusion)?;
    let mut batches = CancellableRows::new(rows, token);
    let mut rows = 0;
    while let Some(batch) = batches.next().await {
        rows += batch.map_err(rowkey_postgres::error::from_datafusion)?.num_rows() as u64;
    }
    Ok(Ran { rows })
}
