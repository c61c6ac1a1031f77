//! Rows of a query.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::error::ArrowError;

use super::from_rows::EntityRows;
use super::json_lines::JsonLines;
use super::options::{ExportOptions, ExportReport};
use crate::compiler::Compiler;
use crate::executor::Rows;
use crate::executor::copy::{CopyOptions, CopyOut};
use crate::planner::Column;
use crate::session::session::{Outcome, Session};
use rowkey_base::{Error, Result, SqlState};
use rowkey_formats::{Destination, ExportFormat, Layout, LineOutput, TableWriter, open_export};
use rowkey_postgres::types::{DateFormat, DateStyle, TextStyle};
use rowkey_storage::run::OTHER_COLUMN;

/// Rows written at a time.
const BATCH_ROWS_MAX: usize = 1024;
/// Names in metadata, where rows of a query are written as entities of a table.
const TABLE: &str = "Query";

impl Session {
    /// Exports the rows of a query, with the columns that it has; formats of entities want the keys
    /// among them.
    pub async fn export_query(
        &mut self,
        query: &str,
        options: &ExportOptions,
        destination: Destination,
    ) -> Result<ExportReport> {
        let statement = Arc::new(rowkey_postgres::syntax::parse(query)?);
        let prepared = Arc::new(self.prepare(statement, &[]).await?);
        if prepared.columns.is_none() {
            return Err(Error::new(SqlState::INVALID_STATEMENT, "the statement has no rows to export"));
        }
        let Outcome::Rows(rows) = self.run(&prepared, &Arc::default()).await? else {
            return Err(Error::new(SqlState::INVALID_STATEMENT, "the statement has no rows to export"));
        };
        let style = Arc::clone(self.settings().style());
        let compiler = Arc::clone(self.compiler());
        write_rows(rows, &style, options, destination, &compiler).await
    }
}

/// Writes rows in the format of the options.
pub(crate) async fn write_rows(
    mut rows: Rows,
    style: &Arc<TextStyle>,
    options: &ExportOptions,
    destination: Destination,
    compiler: &Compiler,
) -> Result<ExportReport> {
    let progress = &options.progress;
    let target = options.target(destination, compiler, TABLE)?;
    let columns = Arc::clone(&rows.columns);
    refuse_other(&columns)?;
    let is_entities = matches!(options.format, ExportFormat::TypedCsv | ExportFormat::ServiceJson);
    if options.layout != Layout::OneFile && !is_entities {
        return Err(Error::new(SqlState::INVALID_STATEMENT, "rows of a query are written to one file"));
    }
    let mut notes: Vec<String> = options.format.losses().iter().map(|loss| (*loss).to_owned()).collect();
    match options.format {
        ExportFormat::TypedCsv | ExportFormat::ServiceJson => {
            let entities = EntityRows::of(&columns)?;
            let mut writer = open_export(target, &entities.survey())?;
            while let Some(batch) = rows.next(BATCH_ROWS_MAX).await? {
                writer.write(&entities.rows(&batch)?)?;
                progress.add(batch.num_rows() as u64);
                progress.turn().await;
            }
            writer.finish()?;
            notes.push("times of a query are whole microseconds; --table and --where keep all seven digits".to_owned());
        }
        ExportFormat::NdJson => {
            // JSON has times in ISO 8601, whatever the session's style.
            let iso = DateStyle { format: DateFormat::Iso, ..style.date_style };
            let style = TextStyle { date_style: iso, ..TextStyle::clone(style) };
            let lines = JsonLines::of(&columns, &style)?;
            let mut output = LineOutput::open(target)?;
            let mut out = String::new();
            while let Some(batch) = rows.next(BATCH_ROWS_MAX).await? {
                out.clear();
                lines.push(&batch, &mut out)?;
                output.put(out.as_bytes())?;
                progress.add(batch.num_rows() as u64);
                progress.turn().await;
            }
            output.finish()?;
            notes.push("types are those of JSON; --table and --where keep those of entities".to_owned());
        }
        ExportFormat::PlainCsv => {
            let copy = CopyOut::new(rows, CopyOptions::csv_with_header(), &[], Arc::clone(style))?;
            write_lines(copy, options, LineOutput::open(target)?).await?;
        }
        ExportFormat::Parquet => {
            let fields: Vec<Arc<Field>> = columns.iter().map(|column| Arc::clone(&column.field)).collect();
            let mut writer = None;
            let schema = Arc::new(Schema::new(fields));
            let mut target = Some(target);
            loop {
                let batch = rows.next(BATCH_ROWS_MAX * 8).await?.map(|batch| json_as_texts(&batch)).transpose()?;
                // Batches say best what they are; without any, the columns do.
                let schema = batch.as_ref().map_or(Arc::clone(&schema), |batch| batch.schema());
                if let Some(target) = target.take() {
                    writer = Some(TableWriter::open(target, &schema)?);
                }
                let (Some(batch), Some(writer)) = (batch, writer.as_mut()) else { break };
                writer.write(&batch)?;
                progress.add(batch.num_rows() as u64);
                progress.turn().await;
            }
            if let Some(writer) = writer {
                writer.finish()?;
            }
        }
    }
    Ok(progress.report(notes))
}

/// A `json` is held in bytes, which other readers of a file would not take for text.
fn json_as_texts(batch: &RecordBatch) -> Result<RecordBatch> {
    let schema = batch.schema();
    let is_json = |field: &Arc<Field>| *field.data_type() == DataType::LargeBinary;
    if !schema.fields().iter().any(is_json) {
        return Ok(batch.clone());
    }
    let failed = |error: ArrowError| Error::new(SqlState::INTERNAL_ERROR, error.to_string());
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        if is_json(field) {
            fields.push(Arc::new(field.as_ref().clone().with_data_type(DataType::LargeUtf8)));
            columns.push(cast(column, &DataType::LargeUtf8).map_err(failed)?);
        } else {
            fields.push(Arc::clone(field));
            columns.push(Arc::clone(column));
        }
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options).map_err(failed)
}

/// Refuses the column of properties without columns: its content is an internal form, which no
/// import reads.
fn refuse_other(columns: &[Column]) -> Result<()> {
    let is_other = |column: &Column| {
        let is_bytes = matches!(column.field.data_type(), DataType::Binary | DataType::BinaryView);
        column.field.name() == OTHER_COLUMN && is_bytes
    };
    if !columns.iter().any(is_other) {
        return Ok(());
    }
    let message = format!(
        "column \"{OTHER_COLUMN}\" holds all properties without a column of their own, in a form that is not for export"
    );
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint(format!(
        "export whole entities with --table, and --where for some of them; or select columns, and other_property(\"{OTHER_COLUMN}\", 'Name') for a property without one"
    )))
}

/// Writes rows as COPY does.
pub(crate) async fn write_lines(mut copy: CopyOut, options: &ExportOptions, mut output: LineOutput) -> Result<()> {
    let (mut out, mut lines) = (Vec::new(), copy.lines());
    while let Some(batch) = copy.rows.next(BATCH_ROWS_MAX).await? {
        lines.write(&batch, 0, |line| {
            out.extend_from_slice(line);
            true
        })?;
        output.put(&out)?;
        out.clear();
        options.progress.add(batch.num_rows() as u64);
        options.progress.turn().await;
    }
    output.put(&lines.end())?;
    Ok(output.finish()?)
}
