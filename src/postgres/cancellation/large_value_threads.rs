//! Admission control of statements that make large values: they run on a few threads of their own.
//!
//! What a kernel takes while it evaluates is in no memory pool, and is several times the most that
//! one batch may show. It takes it on the thread that runs it: so the number of threads bounds it,
//! where a permit that a statement holds while it waits for another could stop them all.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, stream};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::error::external;
use crate::pass_through::{PassThrough, PassThroughExec};
use rowkey_base::{Error, SqlState};

/// The runtime that plans with large values run on, an extension of a session's configuration.
/// Without it they run where they are polled.
#[derive(Debug)]
pub struct LargeValueThreads(Handle);

impl LargeValueThreads {
    /// The threads of this runtime.
    pub fn new(runtime: Handle) -> Self {
        Self(runtime)
    }
}

/// Runs a plan on those threads.
#[derive(Debug, Clone)]
struct OnLargeValueThreads;

pub(super) fn on_large_value_threads(plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    PassThroughExec::over(plan, OnLargeValueThreads)
}

/// A plan before its first batch, and after.
enum Rows {
    Planned { plan: Arc<dyn ExecutionPlan>, partition: usize, context: Arc<TaskContext> },
    Begun(SendableRecordBatchStream),
}

impl Rows {
    async fn next(self) -> (Option<Result<RecordBatch>>, Option<Self>) {
        let mut rows = match self {
            // Operators may start their tasks as soon as they are executed.
            Self::Planned { plan, partition, context } => match plan.execute(partition, context) {
                Ok(rows) => rows,
                Err(error) => return (Some(Err(error)), None),
            },
            Self::Begun(rows) => rows,
        };
        let next = rows.next().await;
        (next, Some(Self::Begun(rows)))
    }
}

impl PassThrough for OnLargeValueThreads {
    const NAME: &'static str = "LargeValueThreadsExec";

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let Some(threads) = context.session_config().get_extension::<LargeValueThreads>() else {
            return input.execute(partition, context);
        };
        let planned = Rows::Planned { plan: Arc::clone(input), partition, context };
        let rows = stream::unfold(Some(planned), move |rows| {
            let threads = threads.0.clone();
            async move { next_on(&threads, rows?).await }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(input.schema(), rows)))
    }
}

/// The next batch, by a task on these threads: none is computed before it is asked for. Dropped, it
/// aborts the task.
async fn next_on(threads: &Handle, rows: Rows) -> Option<(Result<RecordBatch>, Option<Rows>)> {
    let mut task = JoinSet::new();
    task.spawn_on(rows.next(), threads);
    match task.join_next().await? {
        Ok((batch, rest)) => Some((batch?, rest)),
        // As if it had run where it was polled.
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => {
            let stopped = Error::new(SqlState::ADMIN_SHUTDOWN, "the engine is shutting down");
            Some((Err(external(stopped)), None))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use arrow::datatypes::{Schema, SchemaRef};
    use datafusion::physical_plan::empty::EmptyExec;
    use datafusion::prelude::{SessionConfig, SessionContext};
    use futures::TryStreamExt;
    use futures::future::try_join_all;

    use super::*;

    /// Rows that block their thread as a kernel does, and count how many do so at a time.
    #[derive(Debug, Clone, Default)]
    struct Kernel {
        running: Arc<AtomicUsize>,
        most: Arc<AtomicUsize>,
        panics: bool,
    }

    impl PassThrough for Kernel {
        const NAME: &'static str = "KernelExec";

        fn execute(
            &self,
            input: &Arc<dyn ExecutionPlan>,
            _: usize,
            _: Arc<TaskContext>,
        ) -> Result<SendableRecordBatchStream> {
            let schema: SchemaRef = input.schema();
            let (kernel, of) = (self.clone(), Arc::clone(&schema));
            let batches = stream::iter(0..3).map(move |_| {
                assert!(!kernel.panics, "a defect");
                let running = kernel.running.fetch_add(1, Ordering::SeqCst) + 1;
                kernel.most.fetch_max(running, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(2));
                kernel.running.fetch_sub(1, Ordering::SeqCst);
                Ok(RecordBatch::new_empty(Arc::clone(&of)))
            });
            Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
        }
    }

    fn runtime(threads: usize) -> tokio::runtime::Runtime {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(threads).build().expect("a runtime")
    }

    /// The batches of so many plans that are read beside one another.
    fn read(kernel: &Kernel, threads: Handle, plans: usize) -> Result<usize> {
        let config = SessionConfig::new().with_extension(Arc::new(LargeValueThreads::new(threads)));
        let context = SessionContext::new_with_config(config).task_ctx();
        runtime(8).block_on(async {
            let read = (0..plans).map(|_| {
                let empty = Arc::new(EmptyExec::new(Arc::new(Schema::empty())));
                let plan = on_large_value_threads(PassThroughExec::over(empty, kernel.clone()));
                let context = Arc::clone(&context);
                let read = async move { plan.execute(0, context)?.try_collect::<Vec<_>>().await };
                async { tokio::spawn(read).await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())) }
            });
            Ok(try_join_all(read).await?.iter().map(Vec::len).sum())
        })
    }

    #[test]
    fn as_many_evaluate_at_a_time_as_there_are_threads() {
        let (kernel, few) = (Kernel::default(), runtime(2));
        assert_eq!(read(&kernel, few.handle().clone(), 12).expect("rows"), 36);
        assert!((1..=2).contains(&kernel.most.load(Ordering::SeqCst)));
    }

    #[test]
    fn the_end_of_the_threads_is_an_error_and_a_panic_is_one_of_who_reads() {
        let few = runtime(1);
        let handle = few.handle().clone();
        let panicked = std::panic::catch_unwind(|| {
            read(&Kernel { panics: true, ..Kernel::default() }, handle.clone(), 1).expect("rows")
        });
        assert!(panicked.is_err());
        assert_eq!(read(&Kernel::default(), handle.clone(), 1).expect("rows"), 3);
        drop(few);
        let error = read(&Kernel::default(), handle, 1).expect_err("ended");
        assert!(error.to_string().contains("shutting down"), "{error}");
    }
}
