//! Running a plan for its counters.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::{MetricValue, MetricsSet};
use futures::StreamExt;

use super::node::Actual;
use crate::planner::run_cancellable;
use rowkey_base::Result;
use rowkey_base::clock::timer_now;
use rowkey_postgres::cancellation::Signals;
use rowkey_postgres::error::from_datafusion;

/// What running the whole plan gave.
#[derive(Debug)]
pub(super) struct Ran {
    /// The plan whose operators have counted.
    pub plan: Arc<dyn ExecutionPlan>,
    pub rows: u64,
    pub took: Duration,
}

/// Runs a plan and throws its rows away.
pub(super) async fn run(
    plan: &Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
    signals: &Arc<Signals>,
) -> Result<Ran> {
    let began = timer_now();
    let (plan, mut batches) = run_cancellable(Arc::clone(plan), context, signals).map_err(from_datafusion)?;
    let mut rows = 0;
    while let Some(batch) = batches.next().await {
        rows += batch.map_err(from_datafusion)?.num_rows() as u64;
    }
    // Operators have ended once their streams are gone.
    drop(batches);
    Ok(Ran { plan, rows, took: began.elapsed() })
}

/// When the first operator of a plan began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Started(DateTime<Utc>);

/// `None` of a plan that did not run.
pub(super) fn started(plan: &Arc<dyn ExecutionPlan>) -> Option<Started> {
    let mut first: Option<DateTime<Utc>> = None;
    let _ = plan.apply(|node| {
        if let Some((start, _)) = node.metrics().and_then(|metrics| span(&metrics)) {
            first = Some(first.map_or(start, |first| first.min(start)));
        }
        Ok(TreeNodeRecursion::Continue)
    });
    first.map(Started)
}

/// What an operator counted; `None` of one that does not count.
pub(super) fn actual(plan: &Arc<dyn ExecutionPlan>, Started(began): Started) -> Option<Actual> {
    let metrics = plan.metrics()?;
    let rows = metrics.output_rows()? as u64;
    let since =
        |moment: DateTime<Utc>| moment.signed_duration_since(began).num_nanoseconds().unwrap_or(i64::MAX) as f64 / 1e6;
    let (start, end) = span(&metrics)?;
    Some(Actual { rows, startup_ms: since(start), total_ms: since(end) })
}

/// When an operator began in the first of its partitions, and ended in the last.
fn span(metrics: &MetricsSet) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
    let (mut start, mut end) = (None, None);
    for metric in metrics.iter() {
        match metric.value() {
            MetricValue::StartTimestamp(moment) => start = earlier(start, moment.value()),
            MetricValue::EndTimestamp(moment) => end = end.max(moment.value()),
            _ => {}
        }
    }
    start.zip(end)
}

fn earlier(known: Option<DateTime<Utc>>, other: Option<DateTime<Utc>>) -> Option<DateTime<Utc>> {
    match (known, other) {
        (Some(known), Some(other)) => Some(known.min(other)),
        (known, other) => known.or(other),
    }
}
