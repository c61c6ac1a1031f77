//! Results on standard output.

mod columns;
mod expanded;
mod fitted;
mod json;
mod json_value;
mod lines;
mod table;

use std::io::{self, Write};

use arrow::array::RecordBatch;
use clap::ValueEnum;

pub(super) use columns::ResultColumns;
pub(super) use expanded::ExpandedWriter;
pub(super) use fitted::FittedWriter;
pub(super) use table::TableWriter;

use rowkey_postgres::types;

/// A form to print results in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// Aligned columns for people
    Table,
    /// Comma-separated values with a header line
    Csv,
    /// An array of objects for each result
    Json,
    /// An object for each row, one to a line
    Ndjson,
    /// Tab-separated values with a header line; \t, \n, \\ in values, \N for NULL
    Tsv,
    /// A table of Markdown
    Markdown,
    /// A line for each column
    Lines,
}

impl Form {
    /// Whether it is for people: then what writes did is told beside results.
    pub(super) fn is_for_people(self) -> bool {
        matches!(self, Form::Table | Form::Lines)
    }
}

/// Why a result cannot be printed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("column \"{column}\": {source}")]
    Value { column: String, source: types::Error },

    #[error("the result has two columns called \"{column}\", and an object has room for one")]
    ColumnTwice { column: String },

    #[error(transparent)]
    Write(#[from] io::Error),
}

impl Error {
    fn value(column: &str, source: types::Error) -> Self {
        Error::Value { column: column.to_owned(), source }
    }

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

pub(super) fn writer(form: Form, columns: ResultColumns) -> Result<Box<dyn ResultWriter>, Error> {
    Ok(match form {
        Form::Table => Box::new(TableWriter::new(columns, "")),
        Form::Csv => Box::new(lines::LineWriter::new(columns, lines::LineForm::Csv)),
        Form::Json => Box::new(json::JsonWriter::new(columns, json::Rows::Array)?),
        Form::Ndjson => Box::new(json::JsonWriter::new(columns, json::Rows::Lines)?),
        Form::Tsv => Box::new(lines::LineWriter::new(columns, lines::LineForm::Tsv)),
        Form::Markdown => Box::new(lines::LineWriter::new(columns, lines::LineForm::Markdown)),
        Form::Lines => Box::new(ExpandedWriter::new(columns, "")),
    })
}

#[cfg(test)]
mod samples;
