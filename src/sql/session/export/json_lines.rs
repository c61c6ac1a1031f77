//! Rows of a query as JSON, one object a line, as PostgreSQL's `row_to_json` has them.

use arrow::array::RecordBatch;

use crate::planner::Column;
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::types::json::write_quoted;
use rowkey_postgres::types::{JsonWriter, TextStyle};

/// The columns of a query.
#[derive(Debug)]
pub(super) struct JsonLines<'a> {
    columns: &'a [Column],
    /// The names as JSON strings, each with its colon.
    labels: Vec<String>,
    style: &'a TextStyle,
}

impl<'a> JsonLines<'a> {
    pub(super) fn of(columns: &'a [Column], style: &'a TextStyle) -> Result<Self> {
        let mut labels: Vec<String> = Vec::with_capacity(columns.len());
        for column in columns {
            let mut label = String::new();
            write_quoted(column.field.name(), &mut label);
            label.push(':');
            if labels.contains(&label) {
                let message =
                    format!("column \"{}\" occurs twice, and an object has each name once", column.field.name());
                return Err(
                    Error::new(SqlState::DUPLICATE_COLUMN, message).with_hint("name one of them otherwise, with AS")
                );
            }
            labels.push(label);
        }
        Ok(Self { columns, labels, style })
    }

    /// Appends the lines of a batch.
    pub(super) fn push(&self, batch: &RecordBatch, out: &mut String) -> Result<()> {
        let columns = self.columns.iter().zip(batch.columns());
        let writers = columns.map(|(column, array)| JsonWriter::of(&column.field, array, self.style));
        let writers = writers.collect::<std::result::Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            out.push('{');
            for (place, writer) in writers.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                out.push_str(&self.labels[place]);
                writer.write(row, out)?;
            }
            out.push_str("}\n");
        }
        Ok(())
    }
}
