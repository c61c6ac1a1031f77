//! `rowkey export`: a table, some of its entities, or the rows of a query, into files that others
//! read.

mod progress;
mod remote;

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::arguments::ExportArguments;
use super::failure::{ExitStatus, Failure, tell};
use super::interruption;
use super::progress::ProgressLine;
use super::text::{counted, grouped};
use rowkey_base::clock::{Clock, SystemClock};
use rowkey_formats::{Compression, Destination, ExportFormat, Layout, WriteError};
use rowkey_model::{Cut, Interval, KeyRange};
use rowkey_sql::engine::{Engine, Options};
use rowkey_sql::session::Error;
use rowkey_sql::session::{ExportOptions, ExportReport, Selection};

pub(super) async fn run(arguments: ExportArguments) -> Result<ExitStatus, Failure> {
    if let Some(url) = &arguments.server {
        return remote::run(&arguments, url).await;
    }
    let location = arguments.data.location()?;
    let options = options(&arguments)?;
    let selection = selection(&arguments)?;
    super::expect_folder(&location)?;
    let opened = arguments.read_only.applied_to(arguments.data.applied_to(Options::default()));
    let database = super::open_as(&location, opened).await?;
    let is_stream = arguments.output == Path::new("-");
    let destination = match is_stream {
        true => Destination::Stream("standard output".into(), Box::new(io::stdout())),
        false => Destination::Path(arguments.output.clone()),
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    // Exported to a terminal, the output itself is shown.
    let is_shown = io::stderr().is_terminal() && !(is_stream && io::stdout().is_terminal());
    let line = is_shown
        .then(|| {
            let progress = Arc::clone(&options.progress);
            ProgressLine::start("export progress", Arc::clone(&clock), move |elapsed| {
                progress::state(progress.entities(), progress.bytes(), elapsed)
            })
        })
        .transpose()
        .map_err(|error| Failure::plain(format!("cannot start a thread: {error}"), "is a limit on threads reached?"))?;
    let begun = clock.elapsed();
    let interrupted = interruption::watch()
        .map_err(|error| Failure::plain(format!("cannot wait for signals: {error}"), "run it again"))?;
    let exported = tokio::select! {
        exported = export(&database, &arguments, &selection, &options, destination) => Ok(exported),
        // Dropping the future removes what was written so far.
        Ok(status) = interrupted => Err(status),
    };
    if let Some(line) = line {
        line.end();
    }
    let exported = exported.map_err(|status| Failure::Interrupted {
        message: "the export was interrupted".to_owned(),
        hint: match is_stream {
            true => "what was written to standard output is not all of it; run it again".to_owned(),
            false => "nothing was written; run it again".to_owned(),
        },
        status,
    })?;
    let report = exported.map_err(failure)?;
    for note in &report.notes {
        tell(format_args!("note: {note}"));
    }
    tell(summary(&report, &arguments, clock.elapsed().saturating_sub(begun)));
    Ok(ExitStatus::Well)
}

async fn export(
    database: &Engine,
    arguments: &ExportArguments,
    selection: &Selection,
    options: &ExportOptions,
    destination: Destination,
) -> Result<ExportReport, Error> {
    match (&arguments.query, &arguments.table) {
        (Some(query), _) => database.export_query(database.account(), query, options, destination).await,
        (None, table) => {
            let table = table.as_ref().map_or("", |table| table.as_str());
            database.export(database.account(), table, selection, options, destination).await
        }
    }
}

/// A broken pipe is no error of the export.
fn failure(error: Error) -> Failure {
    let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<WriteError>());
    match source {
        Some(source) if source.is_broken_pipe() => Failure::Write(io::ErrorKind::BrokenPipe.into()),
        _ => Failure::Engine(error),
    }
}

fn summary(report: &ExportReport, arguments: &ExportArguments, took: Duration) -> String {
    let what = match arguments.query {
        Some(_) => counted(report.entities, "row", "rows"),
        None => counted(report.entities, "entity", "entities"),
    };
    let to = match arguments.output == Path::new("-") {
        true => "standard output".to_owned(),
        false => arguments.output.display().to_string(),
    };
    let files =
        if report.files == 1 { String::new() } else { format!(" in {}", counted(report.files, "file", "files")) };
    format!("exported {what} to {to}{files}: {} bytes in {:.1} s", grouped(report.bytes), took.as_secs_f64())
}

/// Format, layout and compression: by the arguments, else by the name of the output.
fn options(arguments: &ExportArguments) -> Result<ExportOptions, Failure> {
    let compression_of_name = Compression::of_path(&arguments.output);
    let format = match (arguments.format, ExportFormat::of_path(&arguments.output)) {
        (Some(format), _) | (None, Some(format)) => format,
        (None, None) if arguments.pages => ExportFormat::ServiceJson,
        (None, None) if arguments.partition_by_key => ExportFormat::Parquet,
        (None, None) => {
            return Err(Failure::usage(
                format!("{} does not say which format is wanted", arguments.output.display()),
                "name it with --format parquet, csv, json, ndjson or plain-csv, or end the name of the file in .parquet, .csv, .json or .ndjson",
            ));
        }
    };
    let layout = match (arguments.pages, arguments.partition_by_key) {
        (true, _) => Layout::Pages,
        (_, true) => Layout::ByPartitionKey,
        _ => Layout::OneFile,
    };
    if layout == Layout::Pages && format != ExportFormat::ServiceJson {
        return Err(Failure::usage(format!("--pages is for json, not for {}", format.name()), "leave --pages out"));
    }
    if layout == Layout::ByPartitionKey && format != ExportFormat::Parquet {
        let message = format!("--partition-by-key is for parquet, not for {}", format.name());
        return Err(Failure::usage(message, "leave --partition-by-key out"));
    }
    if format == ExportFormat::Parquet && compression_of_name.is_some() {
        return Err(Failure::usage(
            "Parquet is compressed inside: other programs do not read it in a compressed file",
            "end the name in .parquet; --compress gzip or zstd is what the pages in it are compressed with",
        ));
    }
    if let (Some(named), Some(asked)) = (compression_of_name, arguments.compress)
        && named != asked
    {
        let message = format!("{} is no name for what is compressed with {}", arguments.output.display(), asked.name());
        return Err(Failure::usage(message, format!("end the name in .{}", asked.extension())));
    }
    let compression = arguments.compress.or(compression_of_name);
    Ok(ExportOptions { layout, compression, overwrite: arguments.overwrite, ..ExportOptions::new(format) })
}

fn selection(arguments: &ExportArguments) -> Result<Selection, Failure> {
    if let Some(condition) = &arguments.condition {
        return Ok(Selection::Where(condition.clone()));
    }
    let Some(partition) = &arguments.partition else { return Ok(Selection::All) };
    let cut = |row: &Option<String>, open: Cut| row.as_ref().map_or(open, |row| Cut::Before(row.clone()));
    let rows = Interval::new(cut(&arguments.from_row, Cut::Start), cut(&arguments.to_row, Cut::End));
    match rows {
        Some(rows) => Ok(Selection::Range(KeyRange::rows(partition, &rows))),
        None => Err(Failure::usage("no RowKey lies between --from-row and --to-row", "the first is below the second")),
    }
}
