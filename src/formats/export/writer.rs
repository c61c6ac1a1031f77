//! One face for all writers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::{ExportFormat, Layout};
use super::plain_csv::PlainCsvWriter;
use crate::output::{Compression, Destination, PartFolder, Sink, WriteError, Written};
use crate::parquet::{ParquetWriter, PartitionFolders};
use crate::service_json::{JsonLinesWriter, PageFolder, ServiceJsonWriter};
use crate::survey::Survey;
use crate::typed_csv::TypedCsvWriter;
use rowkey_model::rows::Rows;

/// Most properties that have columns of their own; each is held in memory by every row group.
const COLUMNS_MAX: usize = 10_000;

/// What is written, and how.
#[derive(Debug)]
pub struct ExportTarget {
    pub destination: Destination,
    pub format: ExportFormat,
    pub layout: Layout,
    /// Of the files; of Parquet, of the pages in it.
    pub compression: Option<Compression>,
    /// Whether what has the name already is replaced.
    pub overwrite: bool,
    /// Names in metadata.
    pub account: String,
    pub table: String,
    pub written: Arc<Written>,
}

/// Writes entities in one format, in bounded memory.
pub struct EntityWriter(Writer);

enum Writer {
    Parquet(Box<ParquetWriter>),
    PartitionFolders(Box<PartitionFolders>),
    TypedCsv(TypedCsvWriter),
    ServiceJson(ServiceJsonWriter),
    Pages(PageFolder),
    JsonLines(JsonLinesWriter),
    PlainCsv(PlainCsvWriter),
}

/// Begins an export of entities whose properties `survey` knows; formats without columns need no
/// more of it than the names.
pub fn open(target: ExportTarget, survey: &Survey) -> Result<EntityWriter, WriteError> {
    let ExportTarget { destination, format, layout, compression, overwrite, account, table, written } = target;
    if format.has_columns() {
        let columns = survey.properties().len();
        if columns > COLUMNS_MAX {
            return Err(WriteError::Refused(format!(
                "{} has a column for each property, at most {COLUMNS_MAX}, and there are {columns}; json and ndjson have no columns",
                format.name()
            )));
        }
    }
    let text = if format == ExportFormat::Parquet { None } else { compression };
    let folder = |own: &dyn Fn(&Path) -> bool| -> Result<PartFolder, WriteError> {
        let path = path_of(&destination)?;
        PartFolder::create(&path, overwrite, own, &written)
    };
    let writer = match (format, layout) {
        (ExportFormat::ServiceJson, Layout::Pages) => {
            Writer::Pages(PageFolder::new(folder(&PageFolder::is_page)?, &account, &table, text, survey))
        }
        (ExportFormat::Parquet, Layout::ByPartitionKey) => Writer::PartitionFolders(Box::new(PartitionFolders::new(
            folder(&PartitionFolders::is_part)?,
            survey,
            compression,
        ))),
        (_, Layout::Pages) => {
            return Err(WriteError::Refused(format!("pages are of json, not of {}", format.name())));
        }
        (_, Layout::ByPartitionKey) => {
            return Err(WriteError::Refused(format!("files by PartitionKey are of parquet, not of {}", format.name())));
        }
        (_, Layout::OneFile) => {
            let sink = Sink::open(destination, overwrite, text, &written)?;
            match format {
                ExportFormat::Parquet => Writer::Parquet(Box::new(ParquetWriter::new(sink, survey, compression)?)),
                ExportFormat::TypedCsv => Writer::TypedCsv(TypedCsvWriter::new(sink, survey)?),
                ExportFormat::ServiceJson => {
                    Writer::ServiceJson(ServiceJsonWriter::new(sink, &account, &table, survey.names())?)
                }
                ExportFormat::NdJson => Writer::JsonLines(JsonLinesWriter::new(sink, survey.names())),
                ExportFormat::PlainCsv => Writer::PlainCsv(PlainCsvWriter::new(sink, survey)?),
            }
        }
    };
    Ok(EntityWriter(writer))
}

fn path_of(destination: &Destination) -> Result<PathBuf, WriteError> {
    match destination {
        Destination::Path(path) => Ok(path.clone()),
        Destination::Stream(name, _) => Err(WriteError::Refused(format!("{name} is no folder"))),
    }
}

impl EntityWriter {
    /// Writes entities, in key order from one call to the next, numbered by the survey's names.
    pub fn write(&mut self, rows: &Rows) -> Result<(), WriteError> {
        match &mut self.0 {
            Writer::Parquet(writer) => writer.write(rows.iter()),
            Writer::PartitionFolders(writer) => writer.write(rows),
            Writer::TypedCsv(writer) => writer.write(rows),
            Writer::ServiceJson(writer) => writer.write(rows.iter()),
            Writer::Pages(writer) => writer.write(rows),
            Writer::JsonLines(writer) => writer.write(rows),
            Writer::PlainCsv(writer) => writer.write(rows),
        }
    }

    /// Ends the export: it is durable under its name.
    pub fn finish(self) -> Result<(), WriteError> {
        match self.0 {
            Writer::Parquet(writer) => writer.finish(),
            Writer::PartitionFolders(writer) => writer.finish(),
            Writer::TypedCsv(writer) => writer.finish(),
            Writer::ServiceJson(writer) => writer.finish(),
            Writer::Pages(writer) => writer.finish(),
            Writer::JsonLines(writer) => writer.finish(),
            Writer::PlainCsv(writer) => writer.finish(),
        }
    }
}

impl std::fmt::Debug for EntityWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EntityWriter")
    }
}
