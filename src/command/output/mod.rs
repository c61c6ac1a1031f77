//! Results on standard output.

mod csv;
mod expanded;
mod fitted;
mod json;
mod number;
mod table;
mod time;
mod value;

use std::io::{self, Write};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use clap::ValueEnum;

pub(super) use expanded::ExpandedWriter;
pub(super) use fitted::FittedWriter;
pub(super) use table::TableWriter;
pub(super) use value::{Column, decoded};

use super::failure::Failure;
use rowkey_sql::session::Answer;

/// A form to print results in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// Aligned columns for people
    Table,
    /// Comma-separated values with a header line
    Csv,
    /// An array of objects for each result
    Json,
}

/// Why a result cannot be printed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("column \"{column}\": {source}")]
    Value { column: String, source: ArrowError },

    #[error("the result has two columns called \"{column}\", and an object has room for one")]
    ColumnTwice { column: String },

    #[error(transparent)]
    Write(#[from] io::Error),
}

impl Error {
    pub(super) fn hint(&self) -> Option<&'static str> {
        match self {
            Error::ColumnTwice { .. } => Some("give one of them another name with AS, or use --output csv"),
            Error::Value { .. } | Error::Write(_) => None,
        }
    }
}

/// Writes one result, batch by batch. Nothing is written before there is a row or the end is known.
pub(super) trait ResultWriter {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), Error>;

    /// The end of the result.
    fn finish(&mut self, out: &mut dyn Write) -> Result<(), Error>;

    /// The result ended in an error: the rows so far, and nothing that looks like an end.
    fn abandon(&mut self, out: &mut dyn Write) -> Result<(), Error>;
}

fn writer(form: Form, schema: &SchemaRef) -> Result<Box<dyn ResultWriter>, Error> {
    Ok(match form {
        Form::Table => Box::new(TableWriter::new(schema)),
        Form::Csv => Box::new(csv::CsvWriter::new(schema)),
        Form::Json => Box::new(json::JsonWriter::new(schema)?),
    })
}

/// Prints an answer as it comes. A statement without a result prints nothing.
pub(super) async fn print(mut answer: Answer, form: Form, out: &mut dyn Write) -> Result<(), Failure> {
    let schema = answer.schema();
    if schema.fields().is_empty() {
        while let Some(batch) = answer.next().await {
            batch?;
        }
        return Ok(());
    }
    let mut writer = writer(form, &schema)?;
    while let Some(batch) = answer.next().await {
        match batch {
            Ok(batch) => writer.batch(&batch, out)?,
            Err(error) => {
                writer.abandon(out)?;
                return Err(error.into());
            }
        }
    }
    Ok(writer.finish(out)?)
}

/// The columns of a batch, in the form that [`Column`] reads.
fn columns_of(batch: &RecordBatch) -> Result<Vec<arrow::array::ArrayRef>, Error> {
    let schema = batch.schema_ref();
    let columns = batch.columns().iter().zip(schema.fields());
    columns.map(|(array, field)| decoded(array).map_err(|source| value_error(field.name(), source))).collect()
}

fn value_error(column: &str, source: ArrowError) -> Error {
    Error::Value { column: column.to_owned(), source }
}

/// Opens the columns of a batch (as [`columns_of`] gives them) for reading.
fn open_columns<'a>(batch: &RecordBatch, arrays: &'a [arrow::array::ArrayRef]) -> Result<Vec<Column<'a>>, Error> {
    let fields = batch.schema_ref().fields();
    let columns = arrays.iter().zip(fields);
    columns
        .map(|(array, field)| Column::new(array.as_ref()).map_err(|source| value_error(field.name(), source)))
        .collect()
}

#[cfg(test)]
mod samples;
