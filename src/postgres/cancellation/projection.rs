//! A projection whose values may be large: it evaluates small batches, as bounded by their size.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, ScalarValue, Statistics, internal_err};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};
use futures::{Stream, StreamExt};

use super::growth::Growth;
use super::large_arguments::with_counted_arguments;
use super::row_bytes::rows_within;
use super::token::CancellationToken;
use crate::functions::{ValueBudget, is_batch_too_large, shown_bytes};

/// After each batch, this part of its rows is tried in addition.
const ROWS_GROW_BY: usize = 16;

/// Evaluates as the projection that it replaces, in smaller batches where values are large.
#[derive(Debug)]
pub(super) struct LargeProjectionExec {
    projection: ProjectionExec,
    token: Arc<CancellationToken>,
    /// Rows that are taken at a time at most.
    rows_max: usize,
    /// How many copies of a row are made at most, but by calls that count theirs.
    copies: usize,
}

impl LargeProjectionExec {
    /// None if its values are about as large as those of its input.
    pub(super) fn of(
        projection: &ProjectionExec,
        growth: &Growth,
        token: &Arc<CancellationToken>,
    ) -> Option<Arc<dyn ExecutionPlan>> {
        if !growth.is_large() {
            return None;
        }
        let (rows_max, copies) = (growth.rows_of_constants(), growth.times());
        Some(Arc::new(Self { projection: projection.clone(), token: Arc::clone(token), rows_max, copies }))
    }
}

impl DisplayAs for LargeProjectionExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LargeProjectionExec")
    }
}

impl ExecutionPlan for LargeProjectionExec {
    fn name(&self) -> &str {
        "LargeProjectionExec"
    }

    fn schema(&self) -> SchemaRef {
        self.projection.schema()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.projection.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![self.projection.input()]
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
            (Some(input), true) => {
                let projection = ProjectionExec::try_new(self.projection.expr().to_vec(), input)?;
                let (rows_max, copies) = (self.rows_max, self.copies);
                Ok(Arc::new(Self { projection, token: Arc::clone(&self.token), rows_max, copies }))
            }
            _ => internal_err!("a projection has one input"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let budget = ValueBudget::of(context.session_config().options());
        let counted = |column: &ProjectionExpr| with_counted_arguments(Arc::clone(&column.expr), budget);
        let exprs = self.projection.expr().iter().map(counted).collect::<Result<_>>()?;
        Ok(Box::pin(LargeRows {
            input: self.projection.input().execute(partition, context)?,
            schema: self.schema(),
            exprs,
            token: Arc::clone(&self.token),
            budget,
            pending: None,
            rows: self.rows_max,
            rows_max: self.rows_max,
            copies: self.copies,
        }))
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        self.projection.child_stats_requests(partition)
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        self.projection.statistics_from_inputs(inputs, args)
    }
}

struct LargeRows {
    input: SendableRecordBatchStream,
    schema: SchemaRef,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    token: Arc<CancellationToken>,
    budget: ValueBudget,
    /// What is left of the last batch.
    pending: Option<RecordBatch>,
    /// Rows that are taken at a time.
    rows: usize,
    rows_max: usize,
    copies: usize,
}

impl LargeRows {
    /// The values of the first rows of a batch; the rest is pending.
    fn project(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let next = batch.slice(0, batch.num_rows().min(self.rows));
        let fit = rows_within(&next, self.budget.batch_bytes() / self.copies);
        loop {
            self.token.check()?;
            let taken = fit.min(self.rows);
            match self.values(&batch.slice(0, taken)) {
                Err(error) if taken > 1 && is_batch_too_large(&error) => self.rows = taken / 2,
                values => {
                    // One row may have been longer than all others.
                    self.rows = self.rows.saturating_add(self.rows / ROWS_GROW_BY).min(self.rows_max);
                    if taken < batch.num_rows() {
                        self.pending = Some(batch.slice(taken, batch.num_rows() - taken));
                    }
                    return values;
                }
            }
        }
    }

    fn values(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let (mut columns, mut bytes) = (Vec::with_capacity(self.exprs.len()), 0);
        for expr in &self.exprs {
            let column = self.column(expr.evaluate(batch)?, rows)?;
            bytes += shown_bytes(&column);
            self.budget.batch(rows, bytes)?;
            columns.push(column);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }

    /// A constant in as many rows. Views show its text in each; of other types there are copies.
    fn column(&self, value: ColumnarValue, rows: usize) -> Result<ArrayRef> {
        if let ColumnarValue::Scalar(value) = &value
            && !matches!(value, ScalarValue::Utf8View(_) | ScalarValue::BinaryView(_))
        {
            let mut reserved = self.budget.reserve(rows, 0);
            (0..rows).try_for_each(|_| reserved.value(value.size().saturating_sub(size_of_val(value))))?;
        }
        value.into_array(rows)
    }
}

impl Stream for LargeRows {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let batch = match self.pending.take() {
            Some(batch) => batch,
            None => match ready!(self.input.poll_next_unpin(context)) {
                Some(Ok(batch)) => batch,
                other => return Poll::Ready(other),
            },
        };
        Poll::Ready(Some(self.project(batch)))
    }
}

impl RecordBatchStream for LargeRows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
