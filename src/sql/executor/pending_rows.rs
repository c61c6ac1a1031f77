//! Rows that are computed before their client takes them, and the memory that all of them share: a
//! client may leave a large answer unread for as long as it likes.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use datafusion::common::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::{FutureExt, Stream, StreamExt, stream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::compute::panicked;
use crate::provider::open_bytes;
use crate::row_budget::{HeldRows, RowBudget};
use rowkey_base::clock::timer_now;
use rowkey_postgres::cancellation::row_bytes;
use rowkey_postgres::error::external;

/// How long the first rows of an answer are held back, to see whether they are all.
const END_AWAITED: Duration = Duration::from_millis(2);
/// How long an answer waits for the memory of others that are open, and how often it looks.
const ADMISSION_AWAITED: Duration = Duration::from_secs(2);
const ADMISSION_TRIED_EACH: Duration = Duration::from_millis(10);
/// Batches that wait for a slow reader.
const BATCHES_AHEAD: usize = 1;
/// Batches of so many bytes are not counted.
const FREE_BYTES: usize = 1 << 20;
/// What a plan that waits for its reader holds in each of its partitions, in batches: one that is
/// made, and what it is made of.
const BATCHES_HELD: usize = 2;
/// A scan has its chunks as they are stored, and dictionaries of them decoded.
const OPEN_COPIES: usize = 2;
/// Batches of so many bytes come one at a time where memory is short, and larger ones always do.
const ALONE_BYTES: usize = 4 << 20;

type Batch = Result<RecordBatch, DataFusionError>;

/// A batch on its way to the client.
struct Counted {
    batch: Batch,
    held: Option<HeldRows>,
    /// No other is computed until its reader asks for it.
    is_alone: bool,
    /// Dropped when its reader does.
    asked: Option<oneshot::Sender<()>>,
}

impl Counted {
    /// The batch with the memory that it takes; in its place the error where there is none.
    fn of(batch: Batch, budget: &Arc<RowBudget>) -> Self {
        let Ok(rows) = &batch else { return Self::free(batch) };
        let bytes = encoded_bytes(rows);
        if bytes <= FREE_BYTES {
            return Self::free(batch);
        }
        let held = budget.take(bytes);
        if held.is_none() && bytes > ALONE_BYTES {
            return Self::free(Err(external(budget.exhausted(bytes))));
        }
        let is_alone = held.is_none() || bytes > ALONE_BYTES;
        Self { batch, held, is_alone, asked: None }
    }

    fn free(batch: Batch) -> Self {
        Self { batch, held: None, is_alone: false, asked: None }
    }

    /// Where it comes alone, what ends when its reader asks for the next.
    fn awaited(&mut self) -> Option<oneshot::Receiver<()>> {
        self.is_alone.then(|| {
            let (asked, awaited) = oneshot::channel();
            self.asked = Some(asked);
            awaited
        })
    }
}

/// A row is encoded while its batch is there.
fn encoded_bytes(rows: &RecordBatch) -> usize {
    let bytes = row_bytes(rows);
    bytes + bytes / rows.num_rows().max(1)
}

/// A plan that may wait for its reader.
pub(super) struct OpenPlan {
    pub plan: Arc<dyn ExecutionPlan>,
    /// The memory of all such plans.
    pub budget: Arc<RowBudget>,
}

impl OpenPlan {
    /// Waits a while for others to be read to their end: where they are those of the same session,
    /// that would be for ever.
    async fn admitted(&self, first: &Batch) -> Result<HeldRows, DataFusionError> {
        let bytes = self.bytes(first)?;
        let until = timer_now() + ADMISSION_AWAITED;
        loop {
            if let Some(held) = self.budget.take_at_most_all(bytes) {
                return Ok(held);
            }
            if timer_now() >= until {
                return Err(external(self.budget.too_many_answers(bytes)));
            }
            tokio::time::sleep(ADMISSION_TRIED_EACH).await;
        }
    }

    /// What it holds, by its first rows, which may be a slice of what an operator has.
    fn bytes(&self, first: &Batch) -> Result<usize, DataFusionError> {
        let (encoded, whole) =
            first.as_ref().map_or((0, 0), |first| (encoded_bytes(first), first.get_array_memory_size()));
        let batches = encoded.saturating_mul(BATCHES_HELD * partitions(&self.plan));
        Ok(batches.max(whole).saturating_add(OPEN_COPIES * open_bytes(&self.plan)?))
    }
}

/// How many partitions of a plan are computed beside one another, one after another where it is
/// gathered.
fn partitions(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let mut node = plan;
    loop {
        let count = node.output_partitioning().partition_count();
        node = match node.children().as_slice() {
            _ if count > 1 => return count,
            [input] => *input,
            _ => return 1,
        };
    }
}

/// Rows of which the first are there, or the end. The rest comes from a task of its own, and the
/// memory that its plan holds is counted until it is dropped.
pub(super) async fn begun(
    mut rows: SendableRecordBatchStream,
    plan: &OpenPlan,
    budget: &Arc<RowBudget>,
) -> SendableRecordBatchStream {
    let schema = rows.schema();
    let (mut ready, mut awaited, mut ended): (Vec<Counted>, _, _) = (Vec::new(), None, true);
    if let Some(first) = rows.next().await {
        let mut first = Counted::of(first, budget);
        ended = first.batch.is_err();
        awaited = first.awaited();
        // Most answers are one batch, and end at once behind it: then there is no task to make, and
        // nothing to wait for between threads.
        let waits = !ended && first.held.is_none() && awaited.is_none();
        ready.push(first);
        if waits && let Ok(next) = tokio::time::timeout(END_AWAITED, rows.next()).await {
            let mut next = next.map(|next| Counted::of(next, budget));
            ended = next.as_ref().is_none_or(|next| next.batch.is_err());
            awaited = next.as_mut().and_then(Counted::awaited);
            ready.extend(next);
        }
    }
    let Some(first) = ready.first().filter(|_| !ended) else {
        return Box::pin(RecordBatchStreamAdapter::new(schema, released(stream::iter(ready))));
    };
    let held = match plan.admitted(&first.batch).await {
        Ok(held) => held,
        Err(error) => {
            let refused = stream::iter([Counted::free(Err(error))]);
            return Box::pin(RecordBatchStreamAdapter::new(schema, released(refused)));
        }
    };
    let rest = spawned(rows, held, Arc::clone(budget), awaited);
    Box::pin(RecordBatchStreamAdapter::new(schema, released(stream::iter(ready).chain(rest))))
}

/// The batches, each of which is held until the next one is asked for.
fn released(counted: impl Stream<Item = Counted> + Send + 'static) -> impl Stream<Item = Batch> + Send {
    stream::unfold((Box::pin(counted), None), |(mut counted, before)| async move {
        drop(before);
        let Counted { batch, held, asked, .. } = counted.next().await?;
        Some((batch, (counted, Some((held, asked)))))
    })
}

/// Goes on with rows in a task of their own, on the runtime that this is called on: a batch ahead
/// of who reads them, wherever that is, unless one comes alone. Dropped, it aborts the task.
fn spawned(
    mut rows: SendableRecordBatchStream,
    held: HeldRows,
    budget: Arc<RowBudget>,
    mut awaited: Option<oneshot::Receiver<()>>,
) -> impl Stream<Item = Counted> + Send {
    let (sender, receiver) = mpsc::channel::<Counted>(BATCHES_AHEAD);
    let mut task = JoinSet::new();
    task.spawn(async move {
        let pumped = AssertUnwindSafe(async {
            while let Ok(permit) = sender.reserve().await {
                if let Some(awaited) = awaited.take() {
                    // Nothing is sent: the other end is dropped.
                    let _asked = awaited.await;
                }
                let Some(batch) = rows.next().await else { break };
                let mut counted = Counted::of(batch, &budget);
                awaited = counted.awaited();
                let has_failed = counted.batch.is_err();
                permit.send(counted);
                if has_failed {
                    break;
                }
            }
        });
        let pumped = pumped.catch_unwind().await;
        // Before the channel closes: at the end of the rows the statement holds nothing any more.
        drop((rows, held));
        if let Err(panic) = pumped {
            let error = external(panicked(panic.as_ref()));
            // Its reader may be gone.
            let _told = sender.send(Counted::free(Err(error))).await;
        }
    });
    stream::unfold((receiver, task), |(mut receiver, task)| async move {
        let batch = receiver.recv().await?;
        Some((batch, (receiver, task)))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow::array::{ArrayRef, StringViewArray};
    use arrow::datatypes::Schema;
    use datafusion::physical_plan::empty::EmptyExec;

    use super::*;

    const MIB: usize = 1 << 20;

    /// A plan of one partition, with memory of its own.
    fn one() -> OpenPlan {
        of_partitions(1, &RowBudget::of_plans(1 << 30))
    }

    fn of_partitions(count: usize, budget: &Arc<RowBudget>) -> OpenPlan {
        let plan = EmptyExec::new(Arc::new(Schema::empty())).with_partitions(count);
        OpenPlan { plan: Arc::new(plan), budget: Arc::clone(budget) }
    }

    fn text_of(bytes: usize) -> RecordBatch {
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["x".repeat(bytes)]));
        RecordBatch::try_from_iter([("text", texts)]).expect("a batch")
    }

    /// Batches of one text each, and how many of them were computed.
    fn texts(bytes: usize, count: usize) -> (SendableRecordBatchStream, Arc<AtomicUsize>) {
        let computed = Arc::new(AtomicUsize::new(0));
        let (counter, batch) = (Arc::clone(&computed), text_of(bytes));
        let schema = batch.schema();
        let batches = stream::iter(0..count).map(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
            Ok(batch.clone())
        });
        (Box::pin(RecordBatchStreamAdapter::new(schema, batches)), computed)
    }

    /// Lets the tasks go as far as they do by themselves.
    async fn settle() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn large_batches_come_one_at_a_time_and_small_ones_ahead() {
        let budget = RowBudget::beside(256 << 20);
        for (bytes, computed_before, computed_after) in [(5 * MIB, 1, 2), (MIB, 2, 3)] {
            let (rows, computed) = texts(bytes, 4);
            let mut rows = begun(rows, &one(), &budget).await;
            settle().await;
            assert_eq!(computed.load(Ordering::Relaxed), computed_before, "{bytes}");
            rows.next().await.expect("first").expect("rows");
            settle().await;
            assert_eq!(computed.load(Ordering::Relaxed), computed_before, "{bytes}");
            rows.next().await.expect("second").expect("rows");
            settle().await;
            assert_eq!(computed.load(Ordering::Relaxed), computed_after, "{bytes}");
            assert_eq!(rows.count().await, 2);
        }
        assert_eq!(budget.bytes_left(), 64 << 20);
    }

    #[tokio::test]
    async fn what_clients_leave_unread_is_bounded() {
        let budget = RowBudget::beside(64 << 20);
        let mut unread = Vec::new();
        // A text of 3 MiB counts as 6: its batch, and the row when it is encoded.
        for _ in 0..2 {
            unread.push(begun(texts(3 * MIB, 3).0, &one(), &budget).await);
        }
        let mut refused = begun(texts(3 * MIB, 3).0, &one(), &budget).await;
        let error = refused.next().await.expect("an answer").expect_err("no memory");
        assert!(error.to_string().contains("out of memory for"), "{error}");
        // Those that take less come, but not ahead.
        unread.push(begun(texts(3 * MIB / 2, 3).0, &one(), &budget).await);
        let (rows, computed) = texts(3 * MIB / 2, 3);
        let mut few = begun(rows, &one(), &budget).await;
        few.next().await.expect("first").expect("rows");
        settle().await;
        assert_eq!(computed.load(Ordering::Relaxed), 1);
        assert_eq!(few.count().await, 2);
        drop(unread);
        assert_eq!(begun(texts(3 * MIB, 3).0, &one(), &budget).await.count().await, 3);
        assert_eq!(budget.bytes_left(), 16 << 20);
    }

    #[tokio::test]
    async fn plans_that_wait_for_their_readers_are_bounded() {
        let (rows, plans) = (RowBudget::beside(64 << 20), RowBudget::of_plans(64 << 20));
        // Two batches of each, of 1 MiB and its row encoded.
        let plan = || of_partitions(4, &plans);
        let mut waiting = Vec::new();
        for rows_max in [None, None, Some(1024)] {
            assert_eq!(plans.batch_rows_max(), rows_max);
            waiting.push(begun(texts(MIB, 4).0, &plan(), &rows).await);
        }
        assert_eq!(plans.batch_rows_max(), Some(256));
        let mut refused = begun(texts(MIB, 4).0, &plan(), &rows).await;
        let error = refused.next().await.expect("an answer").expect_err("no memory");
        assert!(error.to_string().contains("of an answer beside others"), "{error}");
        // One that ends at once needs none.
        assert_eq!(begun(texts(MIB, 1).0, &plan(), &rows).await.count().await, 1);
        drop((waiting, refused));
        settle().await;
        assert_eq!(begun(texts(MIB, 4).0, &plan(), &rows).await.count().await, 4);
        settle().await;
        assert_eq!(plans.bytes_left(), 64 << 20);
    }

    #[tokio::test]
    async fn a_panic_among_rows_is_their_error() {
        let schema = Arc::new(Schema::empty());
        let first = RecordBatch::new_empty(Arc::clone(&schema));
        let batches = stream::iter(0..3).then(move |at| {
            let first = first.clone();
            async move {
                if at == 1 {
                    tokio::time::sleep(100 * END_AWAITED).await;
                    panic!("a defect")
                }
                Ok(first)
            }
        });
        let rows = Box::pin(RecordBatchStreamAdapter::new(schema, batches));
        let batches = begun(rows, &one(), &RowBudget::beside(1 << 20)).await.collect::<Vec<_>>().await;
        assert_eq!(batches.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false]);
    }
}
