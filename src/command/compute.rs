//! The threads that run statements.

use tokio::runtime::{Builder, Runtime};

use super::failure::Failure;

/// Deep plans and expressions are walked by recursion, and an overflow ends the process with all of
/// its sessions. Pages that are not used take no memory.
const STACK_BYTES: usize = 64 << 20;

/// Processors of this machine that the process may use.
pub(super) fn processors() -> usize {
    std::thread::available_parallelism().map_or(2, std::num::NonZero::get)
}

pub(super) fn runtime(threads: usize) -> Result<Runtime, Failure> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(threads).thread_name("query").thread_stack_size(STACK_BYTES).enable_all();
    builder.build().map_err(|error| {
        Failure::plain(format!("cannot start the threads that run queries: {error}"), "allow more threads")
    })
}
