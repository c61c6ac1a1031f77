//! Values as JSON.
//!
//! Numbers, booleans, arrays and objects are JSON's own. The rest is text that does not depend on
//! the session: times are UTC in ISO 8601, intervals are ISO 8601 durations, bytes are base64. What
//! JSON has no number for (NaN, infinities) is text too.

use std::ops::Range;
use std::sync::LazyLock;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::BytesMut;

use rowkey_postgres::types::{ColumnEncoder, Error, Format, IntervalStyle, TextStyle, oid, type_of};

static STYLE: LazyLock<TextStyle> =
    LazyLock::new(|| TextStyle { interval_style: IntervalStyle::Iso8601, ..TextStyle::default() });

/// A column of a batch, ready to be written value by value.
pub(super) struct JsonColumn(Shape);

enum Shape {
    Leaf { kind: Leaf, encoder: ColumnEncoder<'static> },
    Array { nulls: Option<NullBuffer>, items: Items, values: Box<JsonColumn> },
    Object { nulls: Option<NullBuffer>, members: Vec<(String, JsonColumn)> },
}

/// The items of a row's list.
type Items = Box<dyn Fn(usize) -> Range<usize>>;

/// What the text of a value becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaf {
    Boolean,
    Number,
    /// A date and a time, whose text has a blank between them.
    Time,
    Bytes,
    Text,
}

impl Leaf {
    fn of(field: &Field) -> Self {
        match type_of(field) {
            Some(ty) if ty.oid == oid::BOOL => Leaf::Boolean,
            Some(ty) if ty.oid == oid::BYTEA => Leaf::Bytes,
            Some(ty) if matches!(ty.oid, oid::TIMESTAMP | oid::TIMESTAMPTZ) => Leaf::Time,
            Some(ty) if ty.category == 'N' => Leaf::Number,
            _ => Leaf::Text,
        }
    }
}

impl JsonColumn {
    pub(super) fn new(field: &Field, array: &ArrayRef) -> Result<Self, Error> {
        let nulls = array.nulls().cloned();
        let list = |items: Items, item: &Field, values: &ArrayRef| {
            let values = Box::new(Self::new(item, values)?);
            Ok(Self(Shape::Array { nulls: nulls.clone(), items, values }))
        };
        match array.data_type() {
            DataType::List(item) => {
                let array = array.as_list::<i32>();
                let offsets = array.offsets().clone();
                list(Box::new(move |row| offsets[row] as usize..offsets[row + 1] as usize), item, array.values())
            }
            DataType::LargeList(item) => {
                let array = array.as_list::<i64>();
                let offsets = array.offsets().clone();
                list(Box::new(move |row| offsets[row] as usize..offsets[row + 1] as usize), item, array.values())
            }
            DataType::FixedSizeList(item, length) => {
                let length = *length as usize;
                let values = array.as_fixed_size_list().values();
                list(Box::new(move |row| row * length..(row + 1) * length), item, values)
            }
            DataType::Struct(fields) => {
                let members = fields.iter().zip(array.as_struct().columns());
                let members = members.map(|(field, array)| Ok((label(field.name()), Self::new(field, array)?)));
                Ok(Self(Shape::Object { nulls, members: members.collect::<Result<_, Error>>()? }))
            }
            _ => {
                let kind = Leaf::of(field);
                // The binary form of bytes is themselves.
                let format = if kind == Leaf::Bytes { Format::Binary } else { Format::Text };
                Ok(Self(Shape::Leaf { kind, encoder: ColumnEncoder::new(field, array, format, &STYLE)? }))
            }
        }
    }

    fn is_null(&self, row: usize) -> bool {
        match &self.0 {
            Shape::Leaf { encoder, .. } => encoder.is_null(row),
            Shape::Array { nulls, .. } | Shape::Object { nulls, .. } => {
                nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
            }
        }
    }

    /// Adds a value to a text. The buffer is for what is in between.
    pub(super) fn write(&self, row: usize, buffer: &mut BytesMut, out: &mut String) -> Result<(), Error> {
        if self.is_null(row) {
            out.push_str("null");
            return Ok(());
        }
        match &self.0 {
            Shape::Leaf { kind: Leaf::Bytes, encoder } => {
                buffer.clear();
                encoder.write(row, buffer)?;
                out.push('"');
                BASE64.encode_string(buffer, out);
                out.push('"');
            }
            Shape::Leaf { kind, encoder } => write_leaf(*kind, encoder.text(row, buffer)?, out),
            Shape::Array { items, values, .. } => {
                out.push('[');
                for (at, item) in items(row).enumerate() {
                    out.push_str(if at == 0 { "" } else { "," });
                    values.write(item, buffer, out)?;
                }
                out.push(']');
            }
            Shape::Object { members, .. } => {
                out.push('{');
                for (at, (label, values)) in members.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { "," });
                    out.push_str(label);
                    values.write(row, buffer, out)?;
                }
                out.push('}');
            }
        }
        Ok(())
    }
}

fn write_leaf(kind: Leaf, text: &str, out: &mut String) {
    match kind {
        Leaf::Boolean => out.push_str(if text == "t" { "true" } else { "false" }),
        Leaf::Number if text.ends_with(|last: char| last.is_ascii_digit()) => out.push_str(text),
        Leaf::Time => {
            let zoned = text.replacen("+00", "Z", 1);
            out.push_str(&string(&zoned.replacen(' ', "T", 1)));
        }
        Leaf::Number | Leaf::Bytes | Leaf::Text => out.push_str(&string(text)),
    }
}

/// A text as a JSON string.
fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A name as a JSON string with its colon.
pub(super) fn label(name: &str) -> String {
    string(name) + ":"
}

#[cfg(test)]
mod tests;
