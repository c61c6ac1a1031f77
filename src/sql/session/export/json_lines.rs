//! Rows of a query as JSON, one object a line, as PostgreSQL's `row_to_json` has them.

use arrow::array::RecordBatch;
use bytes::BytesMut;

use crate::planner::Column;
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::types::{ColumnEncoder, Format, TextStyle, type_of};

/// What a value looks like in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// As it is, unless it is no finite number.
    Number,
    Boolean,
    /// JSON already.
    Json,
    /// A text with a `T` between date and time.
    Time,
    /// The same with an offset, whose minutes are always there.
    ZonedTime,
    Text,
}

/// The columns of a query.
#[derive(Debug)]
pub(super) struct JsonLines<'a> {
    columns: &'a [Column],
    /// The names as JSON strings, each with its colon.
    labels: Vec<Vec<u8>>,
    shapes: Vec<Shape>,
    style: &'a TextStyle,
}

impl<'a> JsonLines<'a> {
    pub(super) fn of(columns: &'a [Column], style: &'a TextStyle) -> Result<Self> {
        let mut labels: Vec<Vec<u8>> = Vec::with_capacity(columns.len());
        for column in columns {
            let mut label = Vec::new();
            push_string(&mut label, column.field.name());
            label.push(b':');
            if labels.contains(&label) {
                let message =
                    format!("column \"{}\" occurs twice, and an object has each name once", column.field.name());
                return Err(
                    Error::new(SqlState::DUPLICATE_COLUMN, message).with_hint("name one of them otherwise, with AS")
                );
            }
            labels.push(label);
        }
        Ok(Self { columns, labels, shapes: columns.iter().map(shape).collect(), style })
    }

    /// Appends the lines of a batch.
    pub(super) fn push(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let encoders = batch
            .columns()
            .iter()
            .zip(self.columns)
            .map(|(array, column)| ColumnEncoder::new(&column.field, array, Format::Text, self.style));
        let encoders = encoders.collect::<std::result::Result<Vec<_>, _>>()?;
        let mut text = BytesMut::new();
        for row in 0..batch.num_rows() {
            out.push(b'{');
            for (place, encoder) in encoders.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(&self.labels[place]);
                if encoder.is_null(row) {
                    out.extend_from_slice(b"null");
                    continue;
                }
                text.clear();
                encoder.write(row, &mut text)?;
                push_value(out, self.shapes[place], &text)?;
            }
            out.extend_from_slice(b"}\n");
        }
        Ok(())
    }
}

fn shape(column: &Column) -> Shape {
    match type_of(&column.field).map(|ty| ty.name) {
        Some("int2" | "int4" | "int8" | "float4" | "float8" | "numeric" | "oid") => Shape::Number,
        Some("bool") => Shape::Boolean,
        Some("json" | "jsonb") => Shape::Json,
        Some("timestamp") => Shape::Time,
        Some("timestamptz") => Shape::ZonedTime,
        _ => Shape::Text,
    }
}

fn push_value(out: &mut Vec<u8>, shape: Shape, text: &[u8]) -> Result<()> {
    let text =
        std::str::from_utf8(text).map_err(|_| Error::new(SqlState::INTERNAL_ERROR, "a value's text is not UTF-8"))?;
    match shape {
        Shape::Boolean => out.extend_from_slice(if text == "t" { b"true" } else { b"false" }),
        Shape::Json => out.extend_from_slice(text.as_bytes()),
        Shape::Number if text.ends_with(|c: char| c.is_ascii_digit()) => out.extend_from_slice(text.as_bytes()),
        Shape::Time => push_string(out, &text.replacen(' ', "T", 1)),
        Shape::ZonedTime => {
            let mut text = text.replacen(' ', "T", 1);
            if text.len() >= 3 && matches!(text.as_bytes()[text.len() - 3], b'+' | b'-') {
                text.push_str(":00");
            }
            push_string(out, &text);
        }
        Shape::Number | Shape::Text => push_string(out, text),
    }
    Ok(())
}

fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for c in text.chars() {
        match c {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            c if c < ' ' => out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes()),
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}
