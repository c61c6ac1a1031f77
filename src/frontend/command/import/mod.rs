//! `rowkey import`: exports into a table, or all tables of an emulator's database.

mod inputs;
mod progress;
mod report;

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use super::arguments::{ImportArguments, OnError};
use super::failure::{Failure, Outcome, tell};
use super::text::counted;
use crate::clock::{Clock, SystemClock};
use crate::formats::{Format, Source};
use crate::frontend::embedded::{ImportOptions, ImportReport, SkippedAccount};
use inputs::Input;
use progress::ProgressLine;

/// Rejects and skipped files that are named; of more there is a count.
const LISTED_MAX: usize = 20;

pub(super) async fn run(arguments: ImportArguments) -> Result<Outcome, Failure> {
    let location = arguments.data.location()?;
    let inputs = inputs::find(&arguments.paths)?;
    tell_some(inputs.skipped.iter().map(|path| format!("skipped {}: not an export by its name", path.display())));
    let mut sources = inputs.found.iter().map(open_source).collect::<Result<Vec<_>, _>>()?;
    if arguments.table.is_none() {
        expect_table_names(&mut sources, arguments.format)?;
    }

    let database = super::open(&location).await?;
    let on_reject = arguments.on_error.on_reject();
    let options = ImportOptions {
        format: arguments.format,
        from_account: arguments.from_account.clone(),
        on_reject,
        ..ImportOptions::default()
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let line = io::stderr()
        .is_terminal()
        .then(|| ProgressLine::start(Arc::clone(&options.progress), inputs.bytes_total, Arc::clone(&clock)))
        .transpose()
        .map_err(|error| Failure::plain(format!("cannot start a thread: {error}"), "is a limit on threads reached?"))?;
    let table = arguments.table.clone();
    let begun_with = Arc::clone(&clock);
    let imported = tokio::task::spawn_blocking(move || {
        let mut reports: Vec<Imported> = Vec::new();
        let mut begun = begun_with.elapsed();
        let mut done = |table: &str, report: ImportReport| {
            let now = begun_with.elapsed();
            reports.push(Imported { table: table.to_owned(), report, took: now.saturating_sub(begun) });
            begun = now;
        };
        let result = match &table {
            Some(table) => database.import(table.as_str(), sources, &options).map(|report| {
                done(table.as_str(), report);
                Vec::new()
            }),
            None => database.import_tables(sources, &options, &mut done),
        };
        (reports, result)
    })
    .await;
    if let Some(line) = line {
        line.end();
    }
    let (reports, result) =
        imported.map_err(|error| Failure::defect(format!("the import ended unexpectedly: {error}")))?;

    // Tables imported before an error stay.
    let mut out = io::stdout().lock();
    for (at, Imported { table, report, took }) in reports.iter().enumerate() {
        let unlisted = report.rejected.saturating_sub(report.rejects.len() as u64);
        tell_some_of(report.rejects.iter().map(|reject| format!("rejected {reject}")), unlisted);
        if at > 0 {
            writeln!(out)?;
        }
        report::print(report, table, *took, &mut out)?;
    }
    out.flush()?;
    for SkippedAccount { input, account, tables } in result? {
        let tables = counted(tables.len() as u64, "table", "tables");
        tell(format_args!("skipped {input}: {tables} of account {account}; --from-account {account} imports them"));
    }
    let rejected: u64 = reports.iter().map(|imported| imported.report.rejected).sum();
    let entities: u64 = reports.iter().map(|imported| imported.report.entities).sum();
    match (rejected, arguments.on_error) {
        (0, _) => Ok(Outcome::Well),
        (_, OnError::Stop) => Ok(Outcome::Found),
        (rejected, OnError::Skip) => {
            let were = if rejected == 1 { "was" } else { "were" };
            tell(format_args!("warning: {} {were} rejected and left out", counted(rejected, "entity", "entities")));
            // Nothing but rejects is no export of entities.
            Ok(if entities == 0 { Outcome::Found } else { Outcome::Well })
        }
    }
}

/// A table that was imported.
struct Imported {
    table: String,
    report: ImportReport,
    took: Duration,
}

/// Refuses inputs that do not say which table they are of, before anything is opened.
fn expect_table_names(sources: &mut [Source], format: Option<Format>) -> Result<(), Failure> {
    for source in sources {
        let format = match format {
            Some(format) => format,
            None => source.detect()?,
        };
        if format != Format::AzuriteDatabase {
            return Err(Failure::usage(
                format!("{}: which table is it? Only a database of Azurite names its tables", source.name()),
                "name the table to import into with --table NAME",
            ));
        }
    }
    Ok(())
}

fn open_source(input: &Input) -> Result<Source, Failure> {
    Ok(match input {
        Input::Standard => Source::stream("standard input", Box::new(io::stdin())),
        Input::File(path) => Source::file(path)?,
    })
}

/// Says the first few on standard error, and how many there are beyond.
fn tell_some(lines: impl ExactSizeIterator<Item = String>) {
    tell_some_of(lines, 0);
}

fn tell_some_of(lines: impl ExactSizeIterator<Item = String>, unlisted: u64) {
    let more = lines.len().saturating_sub(LISTED_MAX) as u64 + unlisted;
    for line in lines.take(LISTED_MAX) {
        tell(line);
    }
    if more > 0 {
        tell(format_args!("... and {} more", super::text::grouped(more)));
    }
}
