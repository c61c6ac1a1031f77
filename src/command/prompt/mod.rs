//! `rowkey sql` at a terminal: a prompt like psql's.
//!
//! [`shell`] reads lines ([`editor`], [`history`], [`completion`]), cuts them into statements and
//! meta commands ([`lexer`], [`statements`], [`meta`]), lets [`execute`] run them on other threads
//! and shows the results ([`display`], [`pager`], `diagnostics`). The prompt has a thread of its
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
mod variables;

use std::sync::Arc;

use super::failure::{ExitStatus, Failure};
use rowkey_sql::engine::Engine;
use shell::Shell;

/// Asks for statements until the user leaves.
pub(super) async fn run(database: Arc<Engine>, location: &str) -> Result<ExitStatus, Failure> {
    let (handle, location) = (tokio::runtime::Handle::current(), location.to_owned());
    let done = tokio::task::spawn_blocking(move || Shell::new(database, location, handle)?.run()).await;
    match done {
        Ok(done) => done.map(|()| ExitStatus::Well),
        Err(error) => Err(Failure::defect(format!("the prompt ended unexpectedly: {error}"))),
    }
}
