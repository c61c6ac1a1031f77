//! An operator that asks whether to go on, and shares its thread.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, Statistics, internal_err};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};
use futures::Stream;
use tokio::time::Instant;

use super::statement::StatementWatch;
use rowkey_base::clock::timer_now;

/// How long a stream gives batches before others get their turn.
const TURN: Duration = Duration::from_millis(5);

/// As its input, batch by batch.
#[derive(Debug)]
pub(super) struct WatchedExec {
    input: Arc<dyn ExecutionPlan>,
    watch: Arc<StatementWatch>,
}

impl WatchedExec {
    pub(super) fn wrap(input: Arc<dyn ExecutionPlan>, watch: &Arc<StatementWatch>) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self { input, watch: Arc::clone(watch) })
    }
}

impl DisplayAs for WatchedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WatchedExec")
    }
}

impl ExecutionPlan for WatchedExec {
    fn name(&self) -> &str {
        "WatchedExec"
    }

    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
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
            (Some(input), true) => Ok(Self::wrap(input, &self.watch)),
            _ => internal_err!("a watched operator has one input"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, context)?;
        Ok(Box::pin(WatchedStream { rows, watch: Arc::clone(&self.watch), turn_ends: None }))
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match inputs {
            [input] => Ok(Arc::clone(input)),
            _ => internal_err!("a watched operator has one input"),
        }
    }
}

struct WatchedStream {
    rows: SendableRecordBatchStream,
    watch: Arc<StatementWatch>,
    /// None before the first batch of a turn.
    turn_ends: Option<Instant>,
}

impl Stream for WatchedStream {
    type Item = Result<RecordBatch, DataFusionError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.watch.check()?;
        let now = timer_now();
        match self.turn_ends {
            Some(end) if now >= end => {
                self.turn_ends = None;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Some(_) => {}
            None => self.turn_ends = Some(now + TURN),
        }
        let batch = match self.rows.as_mut().poll_next(context) {
            Poll::Ready(batch) => batch,
            // Whoever waits has given its turn away.
            Poll::Pending => {
                self.turn_ends = None;
                return Poll::Pending;
            }
        };
        Poll::Ready(batch)
    }
}

impl RecordBatchStream for WatchedStream {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }
}
