//! `rowkey import`: exports into a table.

mod inputs;
mod progress;
mod report;

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use super::arguments::{ImportArguments, OnError};
use super::failure::{Failure, Outcome, tell};
use super::text::counted;
use crate::clock::{Clock, SystemClock};
use crate::formats::Source;
use crate::frontend::embedded::ImportOptions;
use inputs::Input;
use progress::ProgressLine;

/// Rejects and skipped files that are named; of more there is a count.
const LISTED_MAX: usize = 20;

pub(super) async fn run(arguments: ImportArguments) -> Result<Outcome, Failure> {
    let location = arguments.data.location()?;
    let inputs = inputs::find(&arguments.paths)?;
    tell_some(inputs.skipped.iter().map(|path| format!("skipped {}: not an export by its name", path.display())));
    let sources = inputs.found.iter().map(open_source).collect::<Result<Vec<_>, _>>()?;

    let database = super::open(&location).await?;
    let on_reject = arguments.on_error.on_reject();
    let options = ImportOptions { format: arguments.format, on_reject, ..ImportOptions::default() };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let begun = clock.elapsed();
    let line = io::stderr()
        .is_terminal()
        .then(|| ProgressLine::start(Arc::clone(&options.progress), inputs.bytes_total, Arc::clone(&clock)))
        .transpose()
        .map_err(|error| Failure::plain(format!("cannot start a thread: {error}"), "is a limit on threads reached?"))?;
    let table = arguments.table.as_str().to_owned();
    let imported = tokio::task::spawn_blocking(move || {
        database.import(&table, sources, &options).map(|report| (database, report))
    })
    .await;
    if let Some(line) = line {
        line.end();
    }
    let (_database, report) = match imported {
        Ok(imported) => imported?,
        Err(error) => {
            return Err(Failure::defect(format!("the import ended unexpectedly: {error}")));
        }
    };
    let took = clock.elapsed().saturating_sub(begun);

    let unlisted = report.rejected.saturating_sub(report.rejects.len() as u64);
    tell_some_of(report.rejects.iter().map(|reject| format!("rejected {reject}")), unlisted);
    let mut out = io::stdout().lock();
    report::print(&report, arguments.table.as_str(), took, &mut out)?;
    out.flush()?;
    match (report.rejected, arguments.on_error) {
        (0, _) => Ok(Outcome::Well),
        (_, OnError::Stop) => Ok(Outcome::Found),
        (rejected, OnError::Skip) => {
            let were = if rejected == 1 { "was" } else { "were" };
            tell(format_args!("warning: {} {were} rejected and left out", counted(rejected, "entity", "entities")));
            // Nothing but rejects is no export of entities.
            Ok(if report.entities == 0 { Outcome::Found } else { Outcome::Well })
        }
    }
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
