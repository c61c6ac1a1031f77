//! Small batches for operators that make large values of their rows.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};
use futures::{Stream, StreamExt};

use super::token::CancellationToken;

/// Hands on the rows of its input, not more than so many at a time.
#[derive(Debug)]
pub(super) struct BatchSlicesExec {
    input: Arc<dyn ExecutionPlan>,
    rows_max: usize,
    token: Arc<CancellationToken>,
}

impl BatchSlicesExec {
    pub(super) fn wrap(
        input: Arc<dyn ExecutionPlan>,
        rows_max: usize,
        token: &Arc<CancellationToken>,
    ) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self { input, rows_max, token: Arc::clone(token) })
    }
}

impl DisplayAs for BatchSlicesExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BatchSlicesExec: rows={}", self.rows_max)
    }
}

impl ExecutionPlan for BatchSlicesExec {
    fn name(&self) -> &str {
        "BatchSlicesExec"
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
            (Some(input), true) => Ok(Self::wrap(input, self.rows_max, &self.token)),
            _ => internal_err!("slices are of one input"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, context)?;
        Ok(Box::pin(Slices { rows, rows_max: self.rows_max, token: Arc::clone(&self.token), pending: None }))
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match inputs {
            [input] => Ok(Arc::clone(input)),
            _ => internal_err!("slices are of one input"),
        }
    }
}

struct Slices {
    rows: SendableRecordBatchStream,
    rows_max: usize,
    token: Arc<CancellationToken>,
    /// What is left of the last batch.
    pending: Option<RecordBatch>,
}

impl Stream for Slices {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // What is made of each slice may take long.
        self.token.check()?;
        let batch = match self.pending.take() {
            Some(batch) => batch,
            None => match ready!(self.rows.poll_next_unpin(context)) {
                Some(Ok(batch)) => batch,
                other => return Poll::Ready(other),
            },
        };
        let taken = batch.num_rows().min(self.rows_max);
        if taken < batch.num_rows() {
            self.pending = Some(batch.slice(taken, batch.num_rows() - taken));
        }
        Poll::Ready(Some(Ok(batch.slice(0, taken))))
    }
}

impl RecordBatchStream for Slices {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }
}
