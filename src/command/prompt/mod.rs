//! `rowkey sql` at a terminal: a prompt like psql's, whose commands a text may hold as well.
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
use crate::output::Form;
use rowkey_sql::engine::Engine;
use shell::Shell;
use statements::{Lines, Piece};

/// Asks for statements until the user leaves.
pub(super) async fn run(database: Arc<Engine>, location: &str) -> Result<ExitStatus, Failure> {
    let (handle, location) = (tokio::runtime::Handle::current(), location.to_owned());
    let done = tokio::task::spawn_blocking(move || Shell::run(database, location, handle)).await;
    match done {
        Ok(done) => done.map(|()| ExitStatus::Well),
        Err(error) => Err(Failure::defect(format!("the prompt ended unexpectedly: {error}"))),
    }
}

/// Runs a text of statements and commands.
pub(super) async fn run_text(
    database: Arc<Engine>,
    location: &str,
    text: String,
    form: Form,
) -> Result<ExitStatus, Failure> {
    let (handle, location) = (tokio::runtime::Handle::current(), location.to_owned());
    let run = move || Shell::run_text(database, location, handle, &text, form);
    match tokio::task::spawn_blocking(run).await {
        Ok(done) => done.map(|()| ExitStatus::Well),
        Err(error) => Err(Failure::defect(format!("the text ended unexpectedly: {error}"))),
    }
}

/// The statements of a text that has commands as well, which begin with a backslash; `None` if it
/// has none.
pub(super) fn statements_beside_commands(text: &str) -> Option<Vec<String>> {
    if !text.contains('\\') {
        return None;
    }
    let (mut lines, mut statements, mut has_commands) = (Lines::default(), Vec::new(), false);
    lines.push(text);
    while let Some(piece) = lines.next() {
        match piece {
            Piece::Statement(statement) => statements.push(statement),
            Piece::Meta(_) => has_commands = true,
        }
    }
    statements.extend(lines.take_pending());
    has_commands.then_some(statements)
}
