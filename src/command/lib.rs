//! The command line.
//!
//! Results go to standard output and everything else to standard error. The exit status is 0 only
//! when all went well: 1 after an error, a finding of `check` or a reject under `--on-error stop`;
//! 2 when the arguments make no sense; 3 when an import rejected entities without `--on-error`; 130
//! and 143 when SIGINT or SIGTERM ended an export; 141 when the reader of standard output went
//! away before the end (as for a program ended by SIGPIPE), without a message.

mod account;
mod arguments;
mod check;
mod diagnostics;
mod export;
mod failure;
mod import;
mod interruption;
mod listen_address;
mod manual;
mod output;
mod progress;
mod prompt;
mod remote;
mod request_log;
mod rest_door;
mod sample;
mod script;
mod serve;
mod sql;
mod text;
mod tour;
mod unreadable;

use std::path::Path;
use std::process::ExitCode;

pub use arguments::Arguments;

use arguments::{Command, DataArguments, EngineArguments};
use failure::Failure;

use rowkey_sql::engine::{Engine, Options};
use rowkey_sql::session::SqlState;
use std::sync::Arc;

/// Runs the command and prints its error, if there is one.
pub async fn run(arguments: Arguments) -> ExitCode {
    let outcome = match arguments.command {
        Command::Serve(arguments) => serve::run(arguments).await,
        Command::Sql(arguments) => sql::run(arguments).await,
        Command::Import(arguments) => import::run(arguments).await,
        Command::Export(arguments) => export::run(arguments).await,
        Command::Check(arguments) => check::run(arguments).await,
        Command::Account(arguments) => account::run(arguments).await,
        Command::Completions(arguments) => manual::completions(arguments.shell),
        Command::Man => manual::pages(),
    };
    match outcome {
        Ok(outcome) => outcome.exit_code(),
        Err(failure) => {
            failure.tell();
            failure.exit_code()
        }
    }
}

/// Refuses a missing folder, which opening would create empty.
fn expect_folder(location: &str) -> Result<(), Failure> {
    if location == arguments::DATA_MEMORY || location.contains("://") {
        return Ok(());
    }
    match Path::new(location).try_exists() {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::plain(
            format!("there is no data folder {location}"),
            "name the folder with --data DIR or in ROWKEY_DATA",
        )),
        Err(error) => Err(unreadable::not_looked_at(location, &error)),
    }
}

/// A location as it is shown: the query of a URL may be a signature, which is a secret.
fn without_query(location: &str) -> &str {
    match location.split_once('?') {
        Some((place, _)) if place.contains("://") => place,
        _ => location,
    }
}

/// The hint where another process has the data folder: most often it is `rowkey serve`.
const ASK_ITS_SERVER: &str = "if it is a server, it takes statements by psql -h 127.0.0.1 -p 5433 -U rowkey \
                              devstoreaccount1, imports and exports by --server \
                              postgresql://rowkey@127.0.0.1:5433/devstoreaccount1; another data folder can be named with --data DIR";

/// Opens the database; the error has a hint when another process owns the folder.
async fn open(location: &str, data: &DataArguments) -> Result<Arc<Engine>, Failure> {
    open_as(location, data.applied_to(Options::default())).await
}

async fn open_with(location: &str, data: &DataArguments, engine: &EngineArguments) -> Result<Arc<Engine>, Failure> {
    open_as(location, engine.applied_to(data.applied_to(Options::default()))).await
}

async fn open_as(location: &str, options: Options) -> Result<Arc<Engine>, Failure> {
    let asked = options.read_only;
    let opened = Engine::open(location, options).await.map(Arc::new);
    let database = opened.map_err(|error| match error.sqlstate() {
        SqlState::LOCK_FILE_EXISTS if error.hint().is_none() => Failure::plain(error, ASK_ITS_SERVER),
        SqlState::SERIALIZATION_FAILURE | SqlState::IO_ERROR if error.hint().is_none() => {
            let remedy = unreadable::cause(&error).and_then(unreadable::remedy);
            Failure::plain(error, remedy.unwrap_or("another data folder can be named with --data DIR"))
        }
        _ => Failure::Engine(error),
    })?;
    if database.is_read_only() && !asked && !location.contains("://") {
        eprintln!("note: there is no permission to write in {location}: it is open for reading only");
    }
    if let Some(mended) = database.mended() {
        eprintln!("note: {mended}");
    }
    Ok(database)
}
