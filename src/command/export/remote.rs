//! An export from a server that runs: by COPY TO STDOUT.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::pin::pin;

use futures::TryStreamExt;

use super::super::arguments::ExportArguments;
use super::super::failure::{ExitStatus, Failure, tell};
use super::super::text::grouped;
use super::super::{interruption, remote};
use rowkey_base::clock::{Clock, SystemClock};
use rowkey_formats::{Compression, ExportFormat};

/// Exports a table, or the rows of a query, into one file, which has its name when all of it is
/// there.
pub(super) async fn run(arguments: &ExportArguments, url: &str) -> Result<ExitStatus, Failure> {
    let format = super::options(arguments)?.format;
    if Compression::of_path(&arguments.output).is_some() {
        return Err(Failure::usage(
            "an export from a server is not compressed",
            "leave .gz or .zst away, and compress the file behind; parquet is compressed inside",
        ));
    }
    let what = match (&arguments.query, &arguments.table) {
        (Some(query), _) => format!("({})", query.trim().trim_end_matches(';')),
        (None, Some(table)) => format!("\"{}\"", table.as_str()),
        (None, None) => return Err(Failure::usage("there is nothing to export", "name a table with --table NAME")),
    };
    let copy = format!("COPY {what} TO STDOUT ({})", copy_options(format));
    let interrupted = interruption::watch()
        .map_err(|error| Failure::plain(format!("cannot wait for signals: {error}"), "run it again"))?;
    let mut output = Output::create(&arguments.output, arguments.overwrite)?;
    let clock = SystemClock::new();
    let begun = clock.elapsed();
    let bytes = tokio::select! {
        written = write(url, &copy, &mut output) => written?,
        // What was written so far goes with the output.
        Ok(status) = interrupted => {
            return Err(Failure::Interrupted {
                message: "the export was interrupted".to_owned(),
                hint: "nothing was written but to standard output; run it again".to_owned(),
                status,
            });
        }
    };
    output.finish()?;
    let took = clock.elapsed().saturating_sub(begun).as_secs_f64();
    let to = if output.path.is_none() { "standard output".to_owned() } else { arguments.output.display().to_string() };
    tell(format_args!("exported to {to}: {} bytes in {took:.1} s", grouped(bytes)));
    Ok(ExitStatus::Well)
}

/// Options of COPY for a format.
fn copy_options(format: ExportFormat) -> &'static str {
    match format {
        ExportFormat::Parquet => "FORMAT parquet",
        ExportFormat::TypedCsv => "FORMAT typed_csv",
        ExportFormat::ServiceJson => "FORMAT json",
        ExportFormat::NdJson => "FORMAT ndjson",
        ExportFormat::PlainCsv => "FORMAT csv, HEADER",
    }
}

/// Writes what the COPY sends; the answer is how many bytes.
async fn write(url: &str, copy: &str, output: &mut Output) -> Result<u64, Failure> {
    let client = remote::connect(url).await?;
    let mut chunks = pin!(client.copy_out(copy).await.map_err(remote::failure)?);
    let mut bytes = 0;
    while let Some(chunk) = chunks.try_next().await.map_err(remote::failure)? {
        output.write(&chunk)?;
        bytes += chunk.len() as u64;
    }
    Ok(bytes)
}

/// A file that has another name until it is complete, or standard output.
struct Output {
    /// None for standard output.
    path: Option<PathBuf>,
    part: Option<(PathBuf, File)>,
    overwrite: bool,
}

impl Output {
    fn create(path: &Path, overwrite: bool) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Self { path: None, part: None, overwrite });
        }
        if !overwrite && path.exists() {
            return Err(there_already(path));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let part = path.with_file_name(format!(".{name}.{}.part", uuid::Uuid::new_v4().simple()));
        let file = File::create_new(&part).map_err(|error| unwritable(path, &error))?;
        Ok(Self { path: Some(path.to_owned()), part: Some((part, file)), overwrite })
    }

    fn write(&mut self, chunk: &[u8]) -> Result<(), Failure> {
        match (&mut self.part, &self.path) {
            (Some((_, file)), Some(path)) => file.write_all(chunk).map_err(|error| unwritable(path, &error)),
            _ => io::stdout().write_all(chunk).map_err(Failure::Write),
        }
    }

    /// Gives the file its name.
    fn finish(&mut self) -> Result<(), Failure> {
        let (Some((part, file)), Some(path)) = (&self.part, &self.path) else {
            return io::stdout().flush().map_err(Failure::Write);
        };
        file.sync_all().map_err(|error| unwritable(path, &error))?;
        if self.overwrite {
            fs::rename(part, path).map_err(|error| unwritable(path, &error))?;
            self.part = None;
            return Ok(());
        }
        // A link, unlike another name, does not replace what has come meanwhile; the other goes.
        fs::hard_link(part, path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => there_already(path),
            _ => unwritable(path, &error),
        })
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some((part, _)) = self.part.take()
            && let Err(error) = fs::remove_file(&part)
        {
            tell(format_args!("warning: {} is left: {error}", part.display()));
        }
    }
}

fn there_already(path: &Path) -> Failure {
    Failure::plain(format!("{} is there already", path.display()), "--overwrite replaces it")
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::plain(format!("{}: cannot write it: {error}", path.display()), "name another file with --output FILE")
}
