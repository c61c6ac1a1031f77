//! The threads that plan and compute.
//!
//! A session lives where its caller polls it: for a server, on the runtime that serves sockets and
//! timers. Work that is bounded by construction, a read or a write by key, runs there. All else is
//! a task here, so that nothing another session waits for stands behind it, and its rows come back
//! over a channel.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use thread_priority::{ThreadPriority, ThreadPriorityValue, set_current_thread_priority};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinSet;

use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::cancellation::{LargeValueThreads, Signals};

/// More threads than processors: a step that computes for long then shares a processor with the
/// others' short ones, as the system divides it, instead of keeping it.
const THREADS_EACH: usize = 4;
const THREADS_MIN: usize = 16;
/// Of those that make large values, and of those that plan longer texts, where there are fewer
/// processors: what they take is in no pool, and their number bounds it.
const FEW_THREADS_MIN: usize = 4;
/// Shorter texts are planned beside what computes.
const LONG_TEXT_BYTES_MIN: usize = 4 << 10;
/// Deep plans and expressions are walked by recursion, and an overflow ends the process with all of
/// its sessions. Pages that are not used take no memory.
const STACK_BYTES: usize = 64 << 20;
/// Of 99; 50 is what threads begin with. On Linux it is a nice value of 5: a third of the share
/// that other threads get beside it.
const PRIORITY: u8 = 35;

/// The threads of one engine that plan and compute.
#[derive(Debug)]
pub struct ComputeRuntime {
    /// None once it is dropped.
    runtime: Option<Runtime>,
    /// For statements that make large values; None once it is dropped.
    large_values: Option<Runtime>,
    /// For plans of longer texts; None once it is dropped.
    planning: Option<Runtime>,
    /// For reads by key of large pages, which take some milliseconds and do not wait behind plans;
    /// None once it is dropped.
    key_reads: Option<Runtime>,
}

/// Cancels work on drop, unless it is done: it ends where it checks its signals next, or awaits.
struct CancelOnDrop<'a> {
    signals: &'a Signals,
    done: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.signals.abandon();
        }
    }
}

impl ComputeRuntime {
    /// Starts the threads.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` where the system gives the process no more threads or descriptors.
    pub(crate) fn start() -> Result<Self> {
        let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let runtime = threads("compute", (processors * THREADS_EACH).max(THREADS_MIN))?;
        let few = processors.max(FEW_THREADS_MIN);
        let (large_values, planning) = (threads("large-values", few)?, threads("planning", few)?);
        let key_reads = Some(threads("key-reads", few)?);
        Ok(Self { runtime: Some(runtime), large_values: Some(large_values), planning: Some(planning), key_reads })
    }

    /// The threads of statements that make large values.
    pub(crate) fn large_value_threads(&self) -> Option<LargeValueThreads> {
        self.large_values.as_ref().map(|runtime| LargeValueThreads::new(runtime.handle().clone()))
    }

    /// Frees a large value in the background.
    pub fn drop_apart(&self, large: impl Send + 'static) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(async move { drop(large) });
        }
    }

    fn handle(&self) -> Result<&Handle> {
        self.runtime.as_ref().map(Runtime::handle).ok_or_else(stopped)
    }

    /// Whether a text is planned on threads for that.
    pub(crate) fn plans_apart(&self, text: &str) -> bool {
        text.len() >= LONG_TEXT_BYTES_MIN
    }

    /// Reads by key, as [`Self::run`] does other work.
    pub(crate) async fn read_by_key<T: Send + 'static>(
        &self,
        signals: &Signals,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        run_on(self.key_reads.as_ref().ok_or_else(stopped)?.handle(), signals, work).await
    }

    /// Plans a text to the end, as [`Self::run`] does other work.
    pub(crate) async fn plan<T: Send + 'static>(
        &self,
        text: &str,
        signals: &Signals,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let planning = self.planning.as_ref().filter(|_| self.plans_apart(text));
        match planning {
            Some(planning) => run_on(planning.handle(), signals, work).await,
            None => self.run(signals, work).await,
        }
    }

    /// Runs work of a statement to its end. `signals` are the statement's own
    /// ([`Signals::of_statement`]).
    ///
    /// # Errors
    /// The work's own; `INTERNAL_ERROR` where it panicked, which costs this statement only.
    pub async fn run<T: Send + 'static>(
        &self,
        signals: &Signals,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        run_on(self.handle()?, signals, work).await
    }
}

async fn run_on<T: Send + 'static>(
    threads: &Handle,
    signals: &Signals,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let mut cancel = CancelOnDrop { signals, done: false };
    // A JoinSet aborts its tasks on drop.
    let mut task = JoinSet::new();
    task.spawn_on(AssertUnwindSafe(work).catch_unwind(), threads);
    let done = task.join_next().await;
    cancel.done = true;
    match done {
        // Whatever the work made of it on its way, a statement that is stopped says so.
        Some(Ok(Ok(done))) => done.map_err(|error| signals.interruption().err().unwrap_or(error)),
        Some(Ok(Err(panic))) => Err(panicked(panic.as_ref())),
        Some(Err(_)) | None => Err(stopped()),
    }
}

impl Drop for ComputeRuntime {
    fn drop(&mut self) {
        let runtimes = [self.runtime.take(), self.large_values.take(), self.planning.take(), self.key_reads.take()];
        for runtime in runtimes.into_iter().flatten() {
            end_apart(runtime);
        }
    }
}

fn threads(name: &str, count: usize) -> Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(count).thread_name(name).thread_stack_size(STACK_BYTES).enable_all();
    builder.on_thread_start(give_way);
    builder.build().map_err(|error| {
        Error::new(SqlState::OUT_OF_MEMORY, format!("cannot start the threads that run statements: {error}"))
            .with_hint("allow the process more threads and descriptors")
    })
}

/// Ends a runtime on a thread of its own: an engine may be dropped where blocking is not allowed.
///
/// There its threads are joined. `shutdown_background` detaches them while they end, and glibc
/// reads the descriptor of a thread that it detaches after that may be gone: it lies on the
/// thread's stack, which is unmapped at once where it is as large as these
/// (<https://sourceware.org/bugzilla/show_bug.cgi?id=19951>).
fn end_apart(runtime: Runtime) {
    let ending = Arc::new(Mutex::new(Some(runtime)));
    let taken = |ending: &Mutex<Option<Runtime>>| ending.lock().unwrap_or_else(PoisonError::into_inner).take();
    let apart = Arc::clone(&ending);
    let begun = std::thread::Builder::new().name("compute-end".to_owned()).spawn(move || drop(taken(&apart)));
    // Where the system gives the process no more threads.
    if begun.is_err()
        && let Some(runtime) = taken(&ending)
    {
        runtime.shutdown_background();
    }
}

/// Lets threads that serve sockets and timers go first: what they do is short.
fn give_way() {
    if let Ok(priority) = ThreadPriorityValue::try_from(PRIORITY) {
        // Where the system refuses, or the process has a lower one already, it stays as it is.
        let _set = set_current_thread_priority(ThreadPriority::Crossplatform(priority));
    }
}

fn stopped() -> Error {
    Error::new(SqlState::ADMIN_SHUTDOWN, "the engine is shutting down")
}

/// The error of a statement whose work panicked.
pub fn panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    let message = panic.downcast_ref::<&str>().copied();
    let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("of unknown cause");
    Error::new(SqlState::INTERNAL_ERROR, format!("the statement failed by a defect of the engine: {message}"))
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        // As an embedder may have it: one thread, which nothing here may block.
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work)
    }

    #[test]
    fn a_panic_costs_its_statement_only() {
        let compute = ComputeRuntime::start().expect("threads");
        let signals = Signals::new();
        let failed = block_on(compute.run::<()>(&signals, async { panic!("a defect") })).expect_err("panicked");
        assert_eq!(failed.sqlstate(), SqlState::INTERNAL_ERROR);
        assert!(failed.to_string().contains("a defect"), "{failed}");
        assert_eq!(block_on(compute.run(&signals, async { Ok(1) })).expect("goes on"), 1);
    }

    #[test]
    fn a_runtime_is_dropped_where_blocking_is_not_allowed_and_its_threads_end() {
        let compute = ComputeRuntime::start().expect("threads");
        let held = Arc::new(());
        let seen = Arc::downgrade(&held);
        block_on(async {
            let handle = compute.handle().expect("a runtime").clone();
            handle.spawn(async move {
                let _held = held;
                std::future::pending::<()>().await;
            });
            drop(compute);
            let waits = async {
                while seen.strong_count() > 0 {
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                }
            };
            tokio::time::timeout(std::time::Duration::from_secs(60), waits).await.expect("its tasks are dropped");
        });
    }

    #[test]
    fn dropped_work_is_cancelled() {
        let compute = ComputeRuntime::start().expect("threads");
        let signals = Signals::new().of_statement();
        let (begun, has_begun) = oneshot::channel();
        let (ended, has_ended) = oneshot::channel();
        let seen = Arc::clone(&signals);
        block_on(async {
            let work = compute.run(&signals, async move {
                begun.send(()).expect("awaited");
                // It computes, and awaits nothing.
                while seen.check().is_ok() {
                    std::thread::yield_now();
                }
                ended.send(()).expect("awaited");
                Ok(())
            });
            tokio::select! {
                biased;
                _ = work => panic!("it does not end by itself"),
                begun = has_begun => begun.expect("begins"),
            }
            has_ended.await.expect("ends");
        });
    }
}
