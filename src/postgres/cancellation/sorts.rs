//! Sorts by the width of their rows.
//!
//! An external sort returns batches of as many rows as the session says, and so does the merge of
//! its spilled runs, which has a batch of each run in memory: of wide rows these do not fit. How
//! wide rows are is not known while they are planned, so a sort first peeks at a batch of its input
//! and takes its batch size from that.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::stream::{iter, once};
use futures::{StreamExt, TryStreamExt};

use super::operator::{Cut, checked_rows};
use super::row_bytes::row_bytes;
use super::small_batches::{whole_batch_size, with_batch_size};
use super::token::CancellationToken;
use crate::functions::ValueBudget;
use crate::pass_through::{PassThrough, PassThroughExec};

/// A sort, or a merge of sorted rows, that keeps batches in buffers of their own, and as small as
/// its memory asks for.
pub(super) fn sort_by_width(sort: Arc<dyn ExecutionPlan>, token: &Arc<CancellationToken>) -> Arc<dyn ExecutionPlan> {
    PassThroughExec::over(sort, SortByWidth { token: Arc::clone(token) })
}

/// Runs its input, a sort or a merge, with as many rows a batch as have the bytes of one.
#[derive(Debug, Clone)]
struct SortByWidth {
    token: Arc<CancellationToken>,
}

impl PassThrough for SortByWidth {
    const NAME: &'static str = "SortByWidthExec";

    fn execute(
        &self,
        sort: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let schema = sort.schema();
        let rows = sorted(Arc::clone(sort), partition, context, Arc::clone(&self.token));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, once(rows).try_flatten())))
    }
}

async fn sorted(
    sort: Arc<dyn ExecutionPlan>,
    partition: usize,
    context: Arc<TaskContext>,
    token: Arc<CancellationToken>,
) -> Result<SendableRecordBatchStream> {
    let [input] = sort.children()[..] else { return internal_err!("a sort has one input") };
    let input = Arc::clone(input);
    let peeked = match sort.is::<SortExec>() {
        true => vec![(partition, Peeked::of(Arc::clone(&input), partition, Arc::clone(&context)).await?)],
        false => peek_all(&input, &context).await?,
    };
    let budget = ValueBudget::of(context.session_config().options());
    let widest = peeked.iter().filter_map(|(_, peeked)| peeked.first.as_ref());
    let rows_max = widest.clone().map(|batch| rows_of(batch, budget.sorted_bytes())).min().unwrap_or(usize::MAX);
    let rows_max = rows_max.min(whole_batch_size(&context));
    // The first rows of all stay in a heap, which does not spill.
    let heap = sort.downcast_ref::<SortExec>().and_then(|sort| Some((sort, sort.fetch()?)));
    let sort = match heap {
        Some((heap, fetch)) if widest.map(|batch| rows_of(batch, budget.batch_bytes())).any(|rows| rows < fetch) => {
            Arc::new(LocalLimitExec::new(Arc::new(heap.with_fetch(None)), fetch))
        }
        _ => sort,
    };
    // Each batch is then sorted into one: slices of it would be counted with the whole.
    let cut = Cut::Sorted { rows_max };
    let peeked = peeked.into_iter().map(|(at, peeked)| (at, checked_rows(peeked.all(), cut.clone(), &token, budget)));
    let read = PassThroughExec::over(input, AlreadyRead(Arc::new(Mutex::new(peeked.collect()))));
    over(sort, read)?.execute(partition, with_batch_size(&context, rows_max))
}

/// The same sort, below its limit if it has one, over another input.
fn over(sort: Arc<dyn ExecutionPlan>, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let input = match sort.downcast_ref::<LocalLimitExec>() {
        Some(limit) => over(Arc::clone(limit.input()), input)?,
        None => input,
    };
    replace_children_if_necessary(sort, vec![input])
}

/// The rows of a partition, whose first batch is read.
struct Peeked {
    /// It has rows.
    first: Option<RecordBatch>,
    rest: SendableRecordBatchStream,
}

impl Peeked {
    async fn of(input: Arc<dyn ExecutionPlan>, partition: usize, context: Arc<TaskContext>) -> Result<Self> {
        let mut rest = input.execute(partition, context)?;
        loop {
            match rest.next().await.transpose()? {
                Some(empty) if empty.num_rows() == 0 => {}
                first => return Ok(Self { first, rest }),
            }
        }
    }

    fn all(self) -> SendableRecordBatchStream {
        let Self { first, rest } = self;
        Box::pin(RecordBatchStreamAdapter::new(rest.schema(), iter(first.map(Ok)).chain(rest)))
    }
}

/// All partitions at the same time: each may be a sort.
async fn peek_all(input: &Arc<dyn ExecutionPlan>, context: &Arc<TaskContext>) -> Result<Vec<(usize, Peeked)>> {
    let partitions = 0..input.output_partitioning().partition_count();
    let peek = |partition| SpawnedTask::spawn(Peeked::of(Arc::clone(input), partition, Arc::clone(context)));
    let tasks: Vec<_> = partitions.map(peek).collect();
    let mut all = Vec::with_capacity(tasks.len());
    for (partition, task) in tasks.into_iter().enumerate() {
        all.push((
            partition,
            task.join_unwind().await.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))??,
        ));
    }
    Ok(all)
}

/// How many rows as wide as those of a batch have so many bytes: one at least.
fn rows_of(batch: &RecordBatch, bytes_max: usize) -> usize {
    let rows = batch.num_rows() as u128 * bytes_max as u128 / (row_bytes(batch).max(1) as u128);
    usize::try_from(rows).unwrap_or(usize::MAX).max(1)
}

/// The rows of the input, by partition, which are read already.
#[derive(Clone)]
struct AlreadyRead(Arc<Mutex<HashMap<usize, SendableRecordBatchStream>>>);

impl fmt::Debug for AlreadyRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AlreadyRead")
    }
}

impl PassThrough for AlreadyRead {
    const NAME: &'static str = "AlreadyReadExec";

    fn execute(
        &self,
        _: &Arc<dyn ExecutionPlan>,
        partition: usize,
        _: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&partition) {
            Some(rows) => Ok(rows),
            None => internal_err!("partition {partition} is read twice"),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Int64Array, StringViewArray};
    use arrow::compute::SortOptions;
    use arrow::datatypes::{DataType, Field, Int64Type, Schema};
    use datafusion::datasource::memory::MemorySourceConfig;
    use datafusion::execution::runtime_env::RuntimeEnvBuilder;
    use datafusion::physical_expr::expressions::Column;
    use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
    use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
    use datafusion::prelude::{SessionConfig, SessionContext};

    use super::super::signals::Signals;
    use super::*;
    use crate::memory_pool::FairPool;

    const POOL_BYTES: usize = 32 << 20;

    /// So many rows, each with a text of so many bytes, in the order of their numbers reversed;
    /// sorted in a pool of [`POOL_BYTES`].
    async fn batches(rows: i64, bytes: usize, by_width: bool) -> Result<Vec<RecordBatch>> {
        let sort = sort_of(&[rows], bytes)?;
        let sort = if by_width { sort_by_width(sort, &token()) } else { sort };
        sort.execute(0, context()?)?.try_collect().await
    }

    fn token() -> Arc<CancellationToken> {
        CancellationToken::new(Arc::new(Signals::new()))
    }

    /// A sort of partitions with so many rows.
    fn sort_of(partitions: &[i64], bytes: usize) -> Result<Arc<dyn ExecutionPlan>> {
        let fields = vec![Field::new("n", DataType::Int64, false), Field::new("t", DataType::Utf8View, false)];
        let schema = Arc::new(Schema::new(fields));
        let partitions = partitions.iter().map(|rows| {
            let numbers: Vec<i64> = (0..*rows).rev().collect();
            let batches = numbers.chunks(1000).map(|numbers| {
                let texts = numbers.iter().map(|number| format!("{number:0>bytes$}"));
                let texts = Arc::new(StringViewArray::from_iter_values(texts));
                RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(Int64Array::from(numbers.to_vec())), texts])
            });
            batches.collect::<Result<Vec<_>, _>>()
        });
        let mut partitions = partitions.collect::<Result<Vec<_>, _>>()?;
        // The first batch may be empty.
        partitions.iter_mut().for_each(|batches| batches.insert(0, RecordBatch::new_empty(Arc::clone(&schema))));
        let input = MemorySourceConfig::try_new_exec(&partitions, schema, None)?;
        Ok(Arc::new(SortExec::new(key(), input).with_preserve_partitioning(true)))
    }

    fn key() -> LexOrdering {
        LexOrdering::from([PhysicalSortExpr::new(Arc::new(Column::new("n", 0)), SortOptions::default())])
    }

    fn context() -> Result<Arc<TaskContext>> {
        let mut config = SessionConfig::new().set_usize("datafusion.execution.sort_spill_reservation_bytes", 1 << 20);
        config.options_mut().extensions.insert(ValueBudget::of_memory(2 * POOL_BYTES as u64));
        let files = ValueBudget::of(config.options()).merge_fan_in(POOL_BYTES, 3);
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(FairPool::new(POOL_BYTES)))
            .with_max_spill_merge_fan_in(files)
            .build_arc()?;
        Ok(SessionContext::new_with_config_rt(config, runtime).task_ctx())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn sorts_beside_each_other_leave_memory_for_each_other() {
        let sorts = sort_by_width(sort_of(&[5000, 4000, 3000], 20_000).expect("a sort"), &token());
        let merge = Arc::new(SortPreservingMergeExec::new(key(), sorts));
        let merge = sort_by_width(merge, &token());
        let rows = merge.execute(0, context().expect("a context")).expect("rows");
        let batches: Vec<_> = rows.try_collect().await.expect("rows");
        let mut expected: Vec<i64> = (0..5000).chain(0..4000).chain(0..3000).collect();
        expected.sort_unstable();
        assert_eq!(numbers(&batches), expected);
    }

    fn numbers(batches: &[RecordBatch]) -> Vec<i64> {
        batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect()
    }

    #[tokio::test]
    async fn wide_rows_are_sorted_in_little_memory() {
        let sorted = batches(5000, 20_000, true).await.expect("rows");
        assert_eq!(numbers(&sorted), (0..5000).collect::<Vec<_>>());
        assert!(sorted.iter().all(|batch| batch.num_rows() < 100));
    }

    #[tokio::test]
    async fn narrow_rows_come_in_batches_of_the_session() {
        let sorted = batches(20_000, 20, true).await.expect("rows");
        assert_eq!(numbers(&sorted), (0..20_000).collect::<Vec<_>>());
        assert!(sorted.iter().any(|batch| batch.num_rows() == 8192));
    }

    #[tokio::test]
    async fn the_first_of_wide_rows_spill_as_well() {
        for fetch in [3, 3000] {
            let sort = sort_of(&[5000], 20_000).expect("a sort");
            let sort = sort.downcast_ref::<SortExec>().expect("a sort").with_fetch(Some(fetch));
            let sort = sort_by_width(Arc::new(sort), &token());
            let rows = sort.execute(0, context().expect("a context")).expect("rows");
            let batches: Vec<_> = rows.try_collect().await.expect("rows");
            assert_eq!(numbers(&batches), (0..fetch as i64).collect::<Vec<_>>());
        }
    }

    /// Without the operator, DataFusion's sort ends for want of memory.
    #[tokio::test]
    async fn a_sort_alone_does_not_fit() {
        let error = batches(5000, 20_000, false).await.expect_err("too wide");
        assert!(error.to_string().contains("memory"), "{error}");
    }
}
