//! `rowkey import`: exports into a table, or all tables of an emulator's database.

mod inputs;
mod progress;
mod remote;
mod report;

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::arguments::{DATA_MEMORY, ImportArguments, OnError};
use super::failure::{ExitStatus, Failure, tell};
use super::interruption;
use super::progress::ProgressLine;
use super::text::counted;
use inputs::Input;
use progress::State;
use rowkey_base::clock::{Clock, SystemClock};
use rowkey_formats::{Format, KeyColumns, Manifest, PropertyTypes, RejectsFile, Source};
use rowkey_model::TableName;
use rowkey_sql::engine::{ImportOptions, ImportReport, SkippedAccount};
use rowkey_sql::session::SqlState;

/// Rejects and skipped files that are named; of more there is a count.
const LISTED_MAX: usize = 20;

pub(super) async fn run(arguments: ImportArguments) -> Result<ExitStatus, Failure> {
    if let Some(url) = &arguments.server {
        return remote::run(&arguments, url).await;
    }
    let location = arguments.data.location()?;
    let inputs = inputs::find(&arguments.paths)?;
    tell_some(inputs.skipped.iter().map(|path| format!("skipped {}: not an export by its name", path.display())));
    let mut sources = Vec::with_capacity(inputs.found.len());
    for input in inputs.found {
        open_sources(input, arguments.table.as_ref(), &mut sources)?;
    }
    let types = types(&arguments)?;
    let rejects = arguments.rejects.as_deref().map(rejects_file).transpose()?;
    if arguments.table.is_none() {
        expect_table_names(&mut sources, arguments.format)?;
    }

    // A folder that is not there would be made, and there is nothing in it to compare with.
    let is_missing = arguments.dry_run && super::expect_folder(&location).is_err();
    let location = if is_missing { DATA_MEMORY } else { &location };
    let database = super::open(location, &arguments.data).await?;
    if database.is_read_only() && !arguments.dry_run {
        let message = format!("{} is open for reading only", super::without_query(location));
        return Err(Failure::plain(message, "import into a folder on this machine that can be written"));
    }
    let on_reject = arguments.on_error.map_or_else(Default::default, OnError::on_reject);
    let options = ImportOptions {
        format: arguments.format,
        from_account: arguments.from_account.clone(),
        on_reject,
        types,
        keys: KeyColumns { partition: arguments.pk_column.clone(), row: arguments.rk_column.clone() },
        since: arguments.since,
        rejects: rejects.clone(),
        dry_run: arguments.dry_run,
        strict: arguments.strict,
        ..ImportOptions::default()
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let line = io::stderr()
        .is_terminal()
        .then(|| {
            let (progress, bytes_total) = (Arc::clone(&options.progress), inputs.bytes_total);
            ProgressLine::start("import progress", Arc::clone(&clock), move |elapsed| {
                let state = State {
                    phase: progress.phase(),
                    entities: progress.entities(),
                    bytes: progress.bytes(),
                    bytes_total,
                    elapsed,
                };
                state.line()
            })
        })
        .transpose()
        .map_err(|error| Failure::plain(format!("cannot start a thread: {error}"), "is a limit on threads reached?"))?;
    let table = arguments.table.clone();
    let begun_with = Arc::clone(&clock);
    let interrupted = interruption::watch()
        .map_err(|error| Failure::plain(format!("cannot wait for signals: {error}"), "run it again"))?;
    let running = Arc::clone(&options.progress);
    let mut importing = tokio::task::spawn_blocking(move || {
        let mut reports: Vec<Imported> = Vec::new();
        let mut begun = begun_with.elapsed();
        let mut done = |table: &str, report: ImportReport| {
            let now = begun_with.elapsed();
            reports.push(Imported { table: table.to_owned(), report, took: now.saturating_sub(begun) });
            begun = now;
        };
        let result = match &table {
            Some(table) => database.entities().import_blocking(table.as_str(), sources, &options).map(|report| {
                done(table.as_str(), report);
                Vec::new()
            }),
            None => database.entities().import_tables_blocking(sources, &options, &mut done),
        };
        (reports, result)
    });
    let (imported, interrupted) = tokio::select! {
        imported = &mut importing => (imported, None),
        Ok(status) = interrupted => {
            running.cancel();
            (importing.await, Some(status))
        }
    };
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
        tell_some(report.warnings.iter().map(|warning| format!("warning: {warning}")));
        report::print(report, table, *took, arguments.dry_run, &mut out)?;
        tell_some(report::assumed(report).into_iter());
    }
    out.flush()?;
    let result = result.map_err(|error| match interrupted {
        Some(status) if error.sqlstate() == SqlState::QUERY_CANCELED => Failure::Interrupted {
            message: "the import was interrupted".to_owned(),
            hint: match reports.is_empty() {
                true => "tables are as they were; run it again".to_owned(),
                false => "what is told above was imported, and other tables are as they were; run it again".to_owned(),
            },
            status,
        },
        _ => Failure::Engine(error),
    });
    for SkippedAccount { input, account, tables } in result? {
        let tables = counted(tables.len() as u64, "table", "tables");
        tell(format_args!(
            "skipped {input}: {tables} of account {account}; --account {account} imports them into an account of that name"
        ));
    }
    let rejected: u64 = reports.iter().map(|imported| imported.report.rejected).sum();
    let entities: u64 = reports.iter().map(|imported| imported.report.entities).sum();
    if let Some(rejects) = rejects.filter(|_| rejected > 0) {
        let path = rejects.path().display();
        tell(format_args!("note: rejected entities are in {path}: correct them and import that file"));
    }
    if rejected > 0 {
        let were = if rejected == 1 { "was" } else { "were" };
        tell(format_args!("warning: {} {were} rejected and left out", counted(rejected, "entity", "entities")));
    }
    Ok(outcome(rejected, entities, arguments.on_error))
}

/// The exit status of an import of so many rejected and other entities.
fn outcome(rejected: u64, entities: u64, on_error: Option<OnError>) -> ExitStatus {
    match (rejected, on_error) {
        (0, _) => ExitStatus::Well,
        (_, None) => ExitStatus::Rejected,
        // Nothing but rejects is no export of entities.
        (_, Some(OnError::Skip)) if entities > 0 => ExitStatus::Well,
        (_, Some(OnError::Skip | OnError::Stop)) => ExitStatus::Found,
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

fn open_sources(input: Input, table: Option<&TableName>, sources: &mut Vec<Source>) -> Result<(), Failure> {
    match input {
        Input::Standard => sources.push(Source::stream("standard input", Box::new(io::stdin()))),
        Input::File(path) => sources.push(Source::file(&path)?),
        Input::Manifests(paths) => {
            let manifests = paths.iter().map(|path| Manifest::read(path)).collect::<Result<Vec<_>, _>>()?;
            let mut tables: Vec<&str> = manifests.iter().map(|manifest| manifest.table.as_str()).collect();
            tables.sort();
            tables.dedup();
            let is_wanted = |name: &str| table.is_some_and(|table| table.as_str().eq_ignore_ascii_case(name));
            // Exports of one table are taken whatever name it is to have.
            let wanted = tables.iter().any(|name| is_wanted(name));
            if tables.len() > 1 && !wanted {
                let message = format!("the manifests are of several tables: {}", tables.join(", "));
                return Err(Failure::plain(message, "name one of them with --table NAME, or give one manifest"));
            }
            for manifest in manifests.into_iter().filter(|manifest| !wanted || is_wanted(&manifest.table)) {
                if let (Some(warning), true) = (&manifest.warning, manifest.sources.is_empty()) {
                    return Err(Failure::plain(
                        warning,
                        "the data files lie beside the manifest and begin with its name",
                    ));
                }
                sources.extend(manifest.sources);
            }
        }
    }
    Ok(())
}

/// The types of the command line over those of the file.
fn types(arguments: &ImportArguments) -> Result<PropertyTypes, Failure> {
    const HOW: &str = "for example --types At=Edm.DateTime,Count=Edm.Int64";
    let mut types = PropertyTypes::default();
    if let Some(path) = &arguments.types_file {
        let shown = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::plain(format!("{shown}: cannot read it: {error}"), "it holds types of properties")
        })?;
        types.extend(&text).map_err(|reason| Failure::usage(format!("{shown}: {reason}"), HOW))?;
    }
    for text in &arguments.types {
        types.extend(text).map_err(|reason| Failure::usage(reason, HOW))?;
    }
    Ok(types)
}

fn rejects_file(path: &Path) -> Result<Arc<RejectsFile>, Failure> {
    let file = RejectsFile::new(path);
    let refused =
        |error| Failure::plain(format!("{}: {error}", path.display()), "name another file with --rejects FILE");
    file.map(Arc::new).map_err(refused)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rejects_that_were_to_be_skipped_end_well() {
        for (rejected, entities, on_error, expected) in [
            (0, 0, None, ExitStatus::Well),
            (1, 9, None, ExitStatus::Rejected),
            (1, 0, None, ExitStatus::Rejected),
            (1, 9, Some(OnError::Skip), ExitStatus::Well),
            (1, 0, Some(OnError::Skip), ExitStatus::Found),
            (0, 9, Some(OnError::Stop), ExitStatus::Well),
        ] {
            assert_eq!(outcome(rejected, entities, on_error), expected, "{rejected} of {entities}, {on_error:?}");
        }
    }
}
