//! The rows of a WITH query, computed once as far as the foremost reader wants them, and kept for
//! the others.
//!
//! Readers compute the rows: whichever wants one that there is not yet polls the query. None waits
//! for another to be polled, which may never be: the two sides of a join wait for one another, and
//! LIMIT stops asking.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::task::{Context, Poll, Wake, Waker, ready};

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, SpillFile, TaskContext};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, SpillMetrics};
use datafusion::physical_plan::spill::{SpillManager, get_record_batch_memory_size};
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::Stream;

/// The rows of one WITH query of one execution of a statement.
pub struct CteSpool {
    name: String,
    /// How its rows are computed, once it is known.
    query: OnceLock<(Arc<dyn ExecutionPlan>, Arc<TaskContext>)>,
    /// Locked by readers alone: who finds it locked waits for the reader that gives it back.
    producer: Mutex<Producer>,
    kept: Mutex<Kept>,
    waiting: Arc<Waiting>,
    /// A reader found the producer locked by another one that polled it.
    contended: AtomicBool,
}

impl CteSpool {
    pub(super) fn new(name: String) -> Arc<Self> {
        Arc::new(Self {
            name,
            query: OnceLock::new(),
            producer: Mutex::new(Producer::Planned),
            kept: Mutex::default(),
            waiting: Arc::default(),
            contended: AtomicBool::new(false),
        })
    }

    /// Of the WITH query.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How its rows are computed. Only the first time: partitions of a plan are executed one by
    /// one.
    pub(super) fn fill_from(&self, plan: &Arc<dyn ExecutionPlan>, context: &Arc<TaskContext>) {
        self.query.get_or_init(|| {
            lock(&self.kept).begin(&self.name, plan, context);
            (Arc::clone(plan), Arc::clone(context))
        });
    }

    /// Its rows from the first one on, as batches of a schema.
    pub(super) fn reader(
        self: &Arc<Self>,
        schema: SchemaRef,
        projection: Option<Vec<usize>>,
        limit: Option<usize>,
    ) -> CteReader {
        CteReader { spool: Arc::clone(self), schema, projection, rows_left: limit, next: 0, file: None }
    }

    /// Computes more rows than `known` batches, if there are not more already.
    fn poll_more(&self, known: usize, context: &mut Context<'_>) -> Poll<()> {
        self.waiting.add(context.waker());
        let Some(mut producer) = self.producer() else { return Poll::Pending };
        let has_more = lock(&self.kept).has_more_than(known);
        let polled = match has_more {
            true => Poll::Ready(()),
            false => {
                let waker = Waker::from(Arc::clone(&self.waiting));
                let polled = producer.poll_next(self.query.get(), &mut Context::from_waker(&waker));
                polled.map(|batch| lock(&self.kept).add(batch))
            }
        };
        drop(producer);
        // In one order for all: either the lock is seen as given back, or this as set.
        fence(Ordering::SeqCst);
        // A reader that found it locked meanwhile may be the only one that is polled again.
        if self.contended.swap(false, Ordering::SeqCst) || polled.is_ready() {
            self.waiting.wake_all();
        }
        polled
    }

    /// The producer, unless another reader holds its lock, which then wakes all that wait.
    fn producer(&self) -> Option<MutexGuard<'_, Producer>> {
        let try_lock = || match self.producer.try_lock() {
            Ok(producer) => Some(producer),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        try_lock().or_else(|| {
            self.contended.store(true, Ordering::SeqCst);
            fence(Ordering::SeqCst);
            // It may have been given back before that was noted.
            try_lock()
        })
    }
}

impl fmt::Debug for CteSpool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CteSpool").field("name", &self.name).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The query, from which rows come in order.
enum Producer {
    Planned,
    Running(SendableRecordBatchStream),
    Ended,
}

impl Producer {
    fn poll_next(
        &mut self,
        query: Option<&(Arc<dyn ExecutionPlan>, Arc<TaskContext>)>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<RecordBatch>>> {
        if matches!(self, Self::Planned) {
            let rows = match query {
                Some((plan, task)) => execute_stream(Arc::clone(plan), Arc::clone(task)),
                None => internal_err!("a WITH query is read before it is started"),
            };
            match rows {
                Ok(rows) => *self = Self::Running(rows),
                Err(error) => {
                    *self = Self::Ended;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
        let batch = match self {
            Self::Running(rows) => ready!(rows.as_mut().poll_next(context)),
            Self::Planned | Self::Ended => None,
        };
        if !matches!(batch, Some(Ok(_))) {
            *self = Self::Ended;
        }
        Poll::Ready(batch)
    }
}

/// Rows that were computed, in their order.
#[derive(Default)]
struct Kept {
    /// With the places of their first batches.
    runs: Vec<(usize, Run)>,
    batches: usize,
    end: Option<std::result::Result<(), Arc<DataFusionError>>>,
    store: Option<Store>,
}

/// Neighbouring batches.
enum Run {
    InMemory(RecordBatch),
    OnDisk(Arc<dyn SpillFile>),
}

/// Memory and disk.
struct Store {
    reservation: MemoryReservation,
    spills: SpillManager,
}

/// What there is at a place.
enum Found {
    Batch(RecordBatch),
    /// In a file, behind so many others.
    File(SendableRecordBatchStream, usize),
    End,
    Failed(DataFusionError),
    NotYet,
}

impl Kept {
    fn begin(&mut self, name: &str, plan: &Arc<dyn ExecutionPlan>, context: &Arc<TaskContext>) {
        let consumer = MemoryConsumer::new(format!("CTE {name}")).with_can_spill(true);
        let metrics = SpillMetrics::new(&ExecutionPlanMetricsSet::new(), 0);
        self.store = Some(Store {
            reservation: consumer.register(&context.runtime_env().memory_pool),
            spills: SpillManager::new(context.runtime_env(), metrics, plan.schema()),
        });
    }

    fn has_more_than(&self, batches: usize) -> bool {
        self.batches > batches || self.end.is_some()
    }

    fn add(&mut self, batch: Option<Result<RecordBatch>>) {
        let added = match batch {
            None => {
                self.end = Some(Ok(()));
                return;
            }
            Some(Ok(batch)) if batch.num_rows() == 0 => return,
            Some(Ok(batch)) => self.keep(batch),
            Some(Err(error)) => Err(error),
        };
        if let Err(error) = added {
            self.end = Some(Err(Arc::new(error)));
        }
    }

    fn keep(&mut self, batch: RecordBatch) -> Result<()> {
        let bytes = get_record_batch_memory_size(&batch);
        if let Some(store) = &self.store
            && store.reservation.try_grow(bytes).is_err()
            // Without columns there is nothing to write.
            && batch.num_columns() > 0
        {
            self.spill(batch)?;
        } else {
            self.runs.push((self.batches, Run::InMemory(batch)));
        }
        self.batches += 1;
        Ok(())
    }

    /// Writes what is in memory since the last time, and one more batch.
    fn spill(&mut self, batch: RecordBatch) -> Result<()> {
        let Some(store) = &self.store else { return internal_err!("rows are kept before a query has begun") };
        let written = self.runs.iter().rposition(|(_, run)| matches!(run, Run::OnDisk(_))).map_or(0, |last| last + 1);
        let first = self.runs.get(written).map_or(self.batches, |(first, _)| *first);
        let mut batches: Vec<RecordBatch> = Vec::new();
        for (_, run) in self.runs.drain(written..) {
            match run {
                Run::InMemory(batch) => batches.push(batch),
                Run::OnDisk(_) => return internal_err!("rows are written twice"),
            }
        }
        batches.push(batch);
        let Some(file) = store.spills.spill_record_batch_and_finish(&batches, "CTE")? else {
            return internal_err!("no rows were written");
        };
        self.runs.push((first, Run::OnDisk(file)));
        store.reservation.free();
        Ok(())
    }

    /// The batch of a place, or the file that it is in.
    fn at(&self, place: usize) -> Result<Found> {
        if place < self.batches {
            let behind = self.runs.partition_point(|(first, _)| *first <= place);
            return match (behind.checked_sub(1).and_then(|at| self.runs.get(at)), &self.store) {
                (Some((_, Run::InMemory(batch))), _) => Ok(Found::Batch(batch.clone())),
                (Some((first, Run::OnDisk(file))), Some(store)) => {
                    let rows = store.spills.read_spill_as_stream_unbuffered(Arc::clone(file), None)?;
                    Ok(Found::File(rows, place - first))
                }
                _ => internal_err!("rows of a WITH query were lost"),
            };
        }
        Ok(match &self.end {
            None => Found::NotYet,
            Some(Ok(())) => Found::End,
            Some(Err(error)) => Found::Failed(DataFusionError::Shared(Arc::clone(error))),
        })
    }
}

/// Readers to be polled again.
#[derive(Default)]
struct Waiting(Mutex<Vec<Waker>>);

impl Waiting {
    fn add(&self, waker: &Waker) {
        let mut wakers = lock(&self.0);
        if !wakers.iter().any(|known| known.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }

    fn wake_all(&self) {
        // Without the lock, which a woken reader takes.
        let wakers = std::mem::take(&mut *lock(&self.0));
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.wake_all();
    }
}

/// One reader of the rows.
pub(super) struct CteReader {
    spool: Arc<CteSpool>,
    schema: SchemaRef,
    projection: Option<Vec<usize>>,
    rows_left: Option<usize>,
    /// The place of the next batch.
    next: usize,
    /// The file that it is in, behind so many others.
    file: Option<(SendableRecordBatchStream, usize)>,
}

impl CteReader {
    fn poll_batch(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        loop {
            if let Some((rows, skipped)) = &mut self.file {
                match ready!(rows.as_mut().poll_next(context)) {
                    Some(Ok(_)) if *skipped > 0 => *skipped -= 1,
                    Some(Ok(batch)) => {
                        self.next += 1;
                        return Poll::Ready(Some(Ok(batch)));
                    }
                    Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                    None => self.file = None,
                }
                continue;
            }
            let found = lock(&self.spool.kept).at(self.next);
            match found? {
                Found::Batch(batch) => {
                    self.next += 1;
                    return Poll::Ready(Some(Ok(batch)));
                }
                Found::File(rows, before) => self.file = Some((rows, before)),
                Found::End => return Poll::Ready(None),
                Found::Failed(error) => return Poll::Ready(Some(Err(error))),
                Found::NotYet => ready!(self.spool.poll_more(self.next, context)),
            }
        }
    }

    /// The columns and rows of a batch that are wanted.
    fn wanted(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let columns = match &self.projection {
            Some(places) => batch.project(places)?.columns().to_vec(),
            None => batch.columns().to_vec(),
        };
        let rows = self.rows_left.map_or(batch.num_rows(), |left| left.min(batch.num_rows()));
        if let Some(left) = &mut self.rows_left {
            *left -= rows;
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?.slice(0, rows))
    }
}

impl Stream for CteReader {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.rows_left == Some(0) {
            return Poll::Ready(None);
        }
        let batch = ready!(self.poll_batch(context));
        Poll::Ready(batch.map(|batch| batch.and_then(|batch| self.wanted(batch))))
    }
}

impl RecordBatchStream for CteReader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::{DataType, Field, Int64Type, Schema};
    use datafusion::datasource::memory::MemorySourceConfig;
    use datafusion::execution::runtime_env::RuntimeEnvBuilder;
    use datafusion::prelude::{SessionConfig, SessionContext};
    use futures::{StreamExt, TryStreamExt};

    use super::*;
    use crate::memory_pool::FairPool;

    const BATCHES: i64 = 40;
    const ROWS: i64 = 1_000;

    /// A spool of numbers in order, with so much memory.
    fn spool(memory_bytes: usize) -> Result<(Arc<CteSpool>, SchemaRef)> {
        let schema = Arc::new(Schema::new(vec![
            Field::new("n", DataType::Int64, false),
            Field::new("m", DataType::Int64, false),
        ]));
        let batch = |at: i64| {
            let numbers: Int64Array = (at * ROWS..(at + 1) * ROWS).collect();
            RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(numbers.clone()), Arc::new(numbers)])
        };
        let batches = (0..BATCHES).map(batch).collect::<std::result::Result<Vec<_>, _>>()?;
        let plan = MemorySourceConfig::try_new_exec(&[batches], Arc::clone(&schema), None)?;
        let pool = Arc::new(FairPool::new(memory_bytes));
        let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool).build_arc()?;
        let context = SessionContext::new_with_config_rt(SessionConfig::new(), runtime).task_ctx();
        let spool = CteSpool::new("u".to_owned());
        spool.fill_from(&(plan as Arc<dyn ExecutionPlan>), &context);
        Ok((spool, schema))
    }

    fn numbers(batches: &[RecordBatch]) -> Vec<i64> {
        batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect()
    }

    #[tokio::test]
    async fn readers_read_the_same_rows_from_memory_and_from_disk() {
        for memory_bytes in [64 << 20, 100_000, 1] {
            let (spool, schema) = spool(memory_bytes).expect("a spool");
            // A reader that is never polled blocks no other.
            let _never = spool.reader(Arc::clone(&schema), None, None);
            let mut slow = spool.reader(Arc::clone(&schema), None, None);
            let first = slow.next().await.expect("a batch").expect("rows");
            let all: Vec<_> = spool.reader(Arc::clone(&schema), None, None).try_collect().await.expect("rows");
            let expected: Vec<i64> = (0..BATCHES * ROWS).collect();
            assert_eq!(numbers(&all), expected, "{memory_bytes}");
            // What it has begun to read in memory may be on disk by now.
            let mut rest = vec![first];
            rest.extend(slow.try_collect::<Vec<_>>().await.expect("rows"));
            assert_eq!(numbers(&rest), expected, "{memory_bytes}");
            let is_on_disk = lock(&spool.kept).runs.iter().any(|(_, run)| matches!(run, Run::OnDisk(_)));
            assert_eq!(is_on_disk, memory_bytes < 1 << 20);
        }
    }

    #[tokio::test]
    async fn a_reader_computes_no_more_than_it_wants() {
        let (spool, schema) = spool(64 << 20).expect("a spool");
        let one = Arc::new(schema.project(&[1]).expect("a column"));
        let few: Vec<_> = spool.reader(one, Some(vec![1]), Some(1_500)).try_collect().await.expect("rows");
        assert_eq!(numbers(&few), (0..1_500).collect::<Vec<_>>());
        assert_eq!(lock(&spool.kept).batches, 2);
    }

    /// A plan of several partitions starts its queries once for each, while others read.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn who_starts_a_query_again_keeps_no_reader_waiting() {
        for _ in 0..2_000 {
            let (spool, schema) = spool(64 << 20).expect("a spool");
            let (plan, context) = spool.query.get().cloned().expect("started");
            let reader = spool.reader(schema, None, Some(1));
            let reads = tokio::spawn(reader.try_collect::<Vec<_>>());
            let starts = tokio::task::spawn_blocking(move || {
                for _ in 0..100 {
                    spool.fill_from(&plan, &context);
                }
            });
            let rows = tokio::time::timeout(Duration::from_secs(20), reads).await.expect("it is woken");
            assert_eq!(numbers(&rows.expect("no panic").expect("rows")), [0]);
            starts.await.expect("no panic");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn many_readers_at_once() {
        let (spool, schema) = spool(100_000).expect("a spool");
        let readers = (0..8).map(|_| {
            let reader = spool.reader(Arc::clone(&schema), None, None);
            tokio::spawn(async move { reader.try_collect::<Vec<_>>().await })
        });
        for reader in readers.collect::<Vec<_>>() {
            let rows = reader.await.expect("no panic").expect("rows");
            assert_eq!(numbers(&rows), (0..BATCHES * ROWS).collect::<Vec<_>>());
        }
    }
}
