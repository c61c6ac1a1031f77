//! COPY TO a file of the server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, CopySource};
use datafusion::sql::sqlparser::tokenizer::Location;

use super::export::{ExportOptions, write_lines, write_rows};
use super::file_access::FileAccess;
use super::session::Session;
use crate::compiler::Prepared;
use crate::executor::copy::CopyOptions;
use rowkey_base::{Error, Result, SqlState};
use rowkey_formats::{Compression, Destination, ExportFormat, LineOutput, error_within, path_within};
use rowkey_postgres::syntax::{CopyArgument, CopyOption, CopyStatement, Source};

/// How a file is written.
enum Form {
    /// PostgreSQL's text, CSV or binary format.
    Lines(CopyOptions),
    /// A format of exports.
    Export(ExportFormat),
}

impl Session {
    /// Refuses a path for output that leads into the data folder, or that the data folder lies in.
    pub fn expect_outside_data(&self, path: &Path) -> Result<()> {
        Ok(self.compiler().store().expect_outside(path)?)
    }

    /// Writes the rows of a COPY to a file, which has its name when all of them are there; a file
    /// of that name is replaced. Gives the tag.
    pub(crate) async fn copy_to_file(
        &mut self,
        prepared: &Arc<Prepared>,
        copy: &CopyStatement,
        file: &str,
    ) -> Result<String> {
        let access = self.file_access().clone();
        self.write_copy(prepared, copy, file).await.map_err(|error| match &access {
            FileAccess::Within(folder) => error_within(folder, error),
            FileAccess::Anywhere | FileAccess::Nowhere => error,
        })
    }

    async fn write_copy(&mut self, prepared: &Arc<Prepared>, copy: &CopyStatement, file: &str) -> Result<String> {
        let CopyStatement { statement: copy, options } = copy;
        let ast::Statement::Copy { source, .. } = copy else {
            return Err(Error::new(SqlState::INTERNAL_ERROR, "no COPY"));
        };
        let path = allowed(self.file_access(), file)?;
        if let FileAccess::Within(_) = self.file_access() {
            // The export asks again, in an error that names the path as it was resolved.
            self.expect_outside_data(&path).map_err(|error| {
                Error::new(error.sqlstate(), format!("permission denied to COPY to file \"{file}\""))
                    .with_detail("It lies in the folder of the database, or cannot be told from what does.")
            })?;
        }
        let compression = Compression::of_path(&path);
        let is_table = matches!(source, CopySource::Table { columns, .. } if columns.is_empty());
        let form = form(options, &prepared.statement.source, &path, is_table)?;
        let mut export = ExportOptions::new(match &form {
            Form::Lines(_) => ExportFormat::PlainCsv,
            Form::Export(format) => *format,
        });
        export.overwrite = true;
        export.compression = compression;
        if export.format == ExportFormat::Parquet && compression.is_some() {
            let message = "Parquet is compressed inside: other programs do not read it in a compressed file";
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        let destination = Destination::Path(path);
        let context = self.context();
        let (compiler, executor) = (Arc::clone(self.compiler()), self.executor().clone());
        match form {
            Form::Export(_) if is_table => {
                let (_, _, target, _) = executor.copied_table(&context, prepared, copy)?;
                let name = target.name().to_owned();
                drop(target);
                self.compute().drop_apart(context);
                self.export_apart(&name, &export, destination).await?;
            }
            Form::Export(_) => {
                let (signals, style) = (Arc::clone(&context.signals), Arc::clone(context.session.settings.style()));
                let rows = executor.copied_rows(context, prepared, copy).await?;
                let export = export.clone();
                let written = async move { write_rows(rows, &style, &export, destination, &compiler).await };
                self.compute().run(&signals, written).await?;
            }
            Form::Lines(options) => {
                let signals = Arc::clone(&context.signals);
                let copy = executor.lines_of_copy(context, prepared, copy, options).await?;
                let export = export.clone();
                let written = async move {
                    let output = LineOutput::open(export.target(destination, &compiler, "")?)?;
                    write_lines(copy, &export, output).await
                };
                self.compute().run(&signals, written).await?;
            }
        }
        Ok(format!("COPY {}", export.progress.entities()))
    }
}

/// The path of a file, if it may be written.
fn allowed(access: &FileAccess, file: &str) -> Result<PathBuf> {
    match access {
        FileAccess::Anywhere => Ok(PathBuf::from(file)),
        FileAccess::Within(folder) => path_within(folder, Path::new(file))?.ok_or_else(|| {
            let message = format!("permission denied to COPY to file \"{file}\"");
            Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
                .with_detail("Only plain files in the folder that the server was started with may be written.")
                .with_hint("Name it relative to that folder.")
        }),
        FileAccess::Nowhere => {
            let message = "permission denied to COPY to a file";
            Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
                .with_detail("Only a server that was started with --copy-dir writes files, into that folder.")
                .with_hint("Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone."))
        }
    }
}

/// The format of exports that the options of a COPY TO STDOUT name; `None` if they name none.
pub(super) fn entity_format(options: &[CopyOption], source: &Source) -> Result<Option<ExportFormat>> {
    let names_one = |option: &CopyOption| match &option.argument {
        CopyArgument::Text(name) => option.name == "format" && export_format(&name.to_ascii_lowercase()).is_some(),
        _ => false,
    };
    if !options.iter().any(names_one) {
        return Ok(None);
    }
    Ok(match form(options, source, Path::new(""), false)? {
        Form::Export(format) => Some(format),
        Form::Lines(_) => None,
    })
}

/// The format that the options name, or where they name none, the end of the file's name.
fn form(options: &[CopyOption], source: &Source, path: &Path, is_table: bool) -> Result<Form> {
    let mut named = options.iter().filter(|option| option.name == "format");
    let format = match (named.next(), named.next()) {
        (Some(CopyOption { argument: CopyArgument::Text(name), .. }), None) => {
            export_format(&name.to_ascii_lowercase())
        }
        // Two of them are one too many, which is told with the other options.
        (Some(_), _) => None,
        (None, _) => match ExportFormat::of_path(path) {
            // A table is written whole. Rows of a query may have no keys, and values that entities
            // do not have; and options of PostgreSQL's CSV mean that one.
            Some(ExportFormat::TypedCsv) if !is_table || !options.is_empty() => {
                return Ok(Form::Lines(csv_by_name(options, source)?));
            }
            format => format,
        },
    };
    let Some(format) = format else { return CopyOptions::of(options, true, source).map(Form::Lines) };
    match options.iter().find(|option| option.name != "format") {
        Some(other) => {
            let message = format!("COPY {other} is not available with FORMAT {}", copy_name(format));
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
        }
        None => Ok(Form::Export(format)),
    }
}

/// PostgreSQL's CSV in a file whose name alone says that it is one; its first line has the names of
/// the columns unless the options say otherwise.
fn csv_by_name(options: &[CopyOption], source: &Source) -> Result<CopyOptions> {
    let mut options = options.to_vec();
    let mut add = |name: &str, argument: &str| {
        let argument = CopyArgument::Text(argument.to_owned());
        options.push(CopyOption { name: name.to_owned(), argument, location: Location::empty() });
    };
    add("format", "csv");
    add("header", "true");
    if options.iter().filter(|option| option.name == "header").count() > 1 {
        options.pop();
    }
    CopyOptions::of(&options, true, source)
}

/// The formats beside PostgreSQL's own, whose CSV is another one than Storage Explorer's.
fn export_format(name: &str) -> Option<ExportFormat> {
    ExportFormat::ALL
        .into_iter()
        .filter(|format| *format != ExportFormat::PlainCsv)
        .find(|format| copy_name(*format) == name)
}

fn copy_name(format: ExportFormat) -> &'static str {
    match format {
        ExportFormat::TypedCsv => "typed_csv",
        format => format.name(),
    }
}
