//! `rowkey sql` at a terminal: a prompt like psql's.
//!
//! [`shell`] reads lines ([`editor`], [`history`], [`completion`]), cuts them into statements and
//! meta commands ([`lexer`], [`statements`], [`meta`]), lets [`execute`] run them on other threads
//! and shows what comes out ([`display`], [`pager`], [`trouble`]). The prompt has a thread of its
//! own, which may wait for the user.

mod completion;
mod describe;
mod display;
mod edit;
mod editor;
mod execute;
mod help;
mod history;
mod lexer;
mod local_copy;
mod meta;
mod pager;
mod shell;
mod statements;
mod trouble;
mod variables;

use super::failure::{Failure, Outcome};
use super::serve::COMPUTE_STACK_BYTES;
use rowkey_sql::engine::Engine;
use shell::Shell;
use std::sync::Arc;

/// Asks for statements until the user leaves.
pub(super) async fn run(database: Arc<Engine>, location: &str) -> Result<Outcome, Failure> {
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let compute = tokio::runtime::Builder::new_multi_thread()
        // One more, for what Tab asks while a statement is abandoned.
        .worker_threads(threads + 1)
        .thread_name("query")
        .thread_stack_size(COMPUTE_STACK_BYTES)
        .enable_all()
        .build()
        .map_err(|error| {
            Failure::plain(format!("cannot start the threads that run queries: {error}"), "allow more threads")
        })?;
    let (handle, location) = (compute.handle().clone(), location.to_owned());
    let done = tokio::task::spawn_blocking(move || Shell::new(database, location, handle)?.run()).await;
    // A statement that does not stop is not waited for.
    compute.shutdown_background();
    match done {
        Ok(done) => done.map(|()| Outcome::Well),
        Err(error) => Err(Failure::defect(format!("the prompt ended unexpectedly: {error}"))),
    }
}
