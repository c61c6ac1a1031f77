//! An operator that checks for cancellation between batches, and yields its thread; it cuts batches
//! where what is made of their rows is large.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use futures::Stream;
use tokio::time::Instant;

use super::repartition::LISTS_DIVISOR;
use super::row_bytes::{compacted, rows_within, shown_bytes_of, unnested_within, with_few_buffers, with_own_buffers};
use super::token::CancellationToken;
use crate::functions::ValueBudget;
use crate::pass_through::{PassThrough, PassThroughExec};
use rowkey_base::clock::timer_now;

/// After this time a stream yields.
const TIME_SLICE: Duration = Duration::from_millis(5);

/// How many rows of a batch are handed on at a time.
#[derive(Debug, Clone)]
pub(super) enum Cut {
    Rows(usize),
    /// At most so many, and as many as show no more bytes than the values of a batch may have when
    /// an operator repeats each so often, beside constants of so many bytes.
    Repeated {
        rows_max: usize,
        times: usize,
        constants_bytes: usize,
    },
    /// As many as operators gather where rows have lists.
    Gathered,
    /// As many as show no more bytes than that once these lists are unnested: all other values of
    /// a row are in each row of it then.
    Unnested(Arc<[usize]>),
    /// As many as show no more bytes than the values of a batch may have, in buffers of their own:
    /// for operators that repeat long values.
    Bytes,
    /// At most so many, and as many as show a part of what the values of a batch may have, in
    /// buffers of their own if they show little of theirs: sorts keep batches, and would count each
    /// with the whole.
    Sorted {
        rows_max: usize,
    },
}

/// Returns the batches of its input; an error once the statement is cancelled.
#[derive(Debug, Clone)]
struct Cancellable {
    token: Arc<CancellationToken>,
    cut: Cut,
}

pub(super) fn checked(
    input: Arc<dyn ExecutionPlan>,
    cut: Cut,
    token: &Arc<CancellationToken>,
) -> Arc<dyn ExecutionPlan> {
    PassThroughExec::over(input, Cancellable { token: Arc::clone(token), cut })
}

impl PassThrough for Cancellable {
    const NAME: &'static str = "CancellableExec";

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let budget = ValueBudget::of(context.session_config().options());
        let rows = input.execute(partition, context)?;
        Ok(checked_rows(rows, self.cut.clone(), &self.token, budget))
    }
}

/// [`checked`], for rows that are read already.
pub(super) fn checked_rows(
    rows: SendableRecordBatchStream,
    cut: Cut,
    token: &Arc<CancellationToken>,
    budget: ValueBudget,
) -> SendableRecordBatchStream {
    Box::pin(CancellableStream { rows, token: Arc::clone(token), slice_ends: None, cut, budget, pending: None })
}

struct CancellableStream {
    rows: SendableRecordBatchStream,
    token: Arc<CancellationToken>,
    /// None before the first batch of a time slice.
    slice_ends: Option<Instant>,
    cut: Cut,
    budget: ValueBudget,
    /// What is left of the last batch.
    pending: Option<RecordBatch>,
}

impl CancellableStream {
    /// The first rows of a batch, or of the rest of one; the rest is pending.
    fn cut(&mut self, batch: RecordBatch, is_rest: bool) -> Result<RecordBatch> {
        let rows = match &self.cut {
            Cut::Sorted { rows_max } => rows_within(&batch, self.budget.sorted_bytes()).min(*rows_max),
            Cut::Rows(most) => batch.num_rows().min(*most),
            Cut::Repeated { rows_max, times, constants_bytes } => {
                let rows = rows_within(&batch, self.budget.batch_bytes() / times).min(*rows_max);
                if rows == 1 {
                    let bytes = shown_bytes_of(&batch.slice(0, 1)).saturating_add(*constants_bytes);
                    self.budget.row(bytes.saturating_mul(*times))?;
                }
                rows
            }
            Cut::Unnested(lists) => {
                let (rows, bytes) = unnested_within(&batch, lists, self.budget.batch_bytes());
                self.budget.rows(rows, bytes)?;
                rows
            }
            Cut::Gathered => batch.num_rows().min((self.budget.gathered_rows() / LISTS_DIVISOR).max(1)),
            Cut::Bytes => rows_within(&batch, self.budget.batch_bytes()),
        };
        if let Cut::Bytes = self.cut
            && rows == 1
        {
            self.budget.row(shown_bytes_of(&batch.slice(0, 1)))?;
        }
        if rows == batch.num_rows() && !is_rest {
            return match self.cut {
                Cut::Rows(_) | Cut::Repeated { .. } | Cut::Gathered | Cut::Unnested(_) => Ok(batch),
                Cut::Bytes => with_few_buffers(batch),
                Cut::Sorted { .. } => with_own_buffers(batch),
            };
        }
        self.pending = (rows < batch.num_rows()).then(|| batch.slice(rows, batch.num_rows() - rows));
        let piece = batch.slice(0, rows);
        match self.cut {
            Cut::Rows(_) | Cut::Repeated { .. } | Cut::Gathered | Cut::Unnested(_) => Ok(piece),
            Cut::Bytes | Cut::Sorted { .. } => compacted(&piece),
        }
    }
}

impl Stream for CancellableStream {
    type Item = Result<RecordBatch, DataFusionError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.token.check()?;
        let now = timer_now();
        match self.slice_ends {
            Some(end) if now >= end => {
                self.slice_ends = None;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Some(_) => {}
            None => self.slice_ends = Some(now + TIME_SLICE),
        }
        if let Some(batch) = self.pending.take() {
            return Poll::Ready(Some(self.cut(batch, true)));
        }
        let batch = match self.rows.as_mut().poll_next(context) {
            Poll::Ready(batch) => batch.map(|batch| batch.and_then(|batch| self.cut(batch, false))),
            // A pending stream has yielded.
            Poll::Pending => {
                self.slice_ends = None;
                return Poll::Pending;
            }
        };
        Poll::Ready(batch)
    }
}

impl RecordBatchStream for CancellableStream {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, StringViewArray};
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::datasource::memory::MemorySourceConfig;
    use datafusion::prelude::{SessionConfig, SessionContext};
    use futures::TryStreamExt;

    use super::super::signals::Signals;
    use super::*;

    const TEXT_BYTES: usize = 1 << 20;

    /// One text, shown in so many rows, as an operator with the least budget hands them on.
    async fn pieces(rows: usize) -> Result<Vec<RecordBatch>> {
        let one = StringViewArray::from_iter_values(["x".repeat(TEXT_BYTES)]);
        let texts = StringViewArray::try_new(vec![one.views()[0]; rows].into(), one.data_buffers().to_vec(), None)?;
        let schema = Arc::new(Schema::new(vec![Field::new("t", DataType::Utf8View, true)]));
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(texts)])?;
        let input = MemorySourceConfig::try_new_exec(&[vec![batch]], schema, None)?;
        let operator = checked(input, Cut::Bytes, &CancellationToken::new(Arc::new(Signals::new())));
        let mut config = SessionConfig::new();
        config.options_mut().extensions.insert(ValueBudget::of_memory(1));
        operator.execute(0, SessionContext::new_with_config(config).task_ctx())?.try_collect().await
    }

    #[tokio::test]
    async fn rows_that_show_a_long_value_again_and_again_are_handed_on_in_pieces() {
        let batches = pieces(100).await.expect("rows");
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 100);
        for batch in &batches {
            let texts = batch.column(0).as_string_view();
            let held = texts.data_buffers().iter().map(|buffer| buffer.len()).sum::<usize>();
            assert_eq!(held, batch.num_rows() * TEXT_BYTES);
            assert!(held <= ValueBudget::of_memory(1).batch_bytes());
        }
        assert_eq!(pieces(2).await.expect("rows").len(), 1);
    }
}
