//! Values of any Arrow type as text and as JSON.

use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, FixedSizeBinaryArray, Float32Array, Float64Array};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::number::{write_float4, write_float8};
use super::time::{TimeForm, write_timestamp};

/// Fixed-size binary of this length is a Guid.
const GUID_BYTES: i32 = 16;

/// For what is not written here: what cannot be written is an error rather than text.
pub(super) const OPTIONS: FormatOptions<'static> = FormatOptions::new().with_display_error(false);

/// Whether the type's values are numbers, which line up on the right.
pub(super) fn is_number(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => values.is_numeric(),
        DataType::RunEndEncoded(_, values) => values.data_type().is_numeric(),
        other => other.is_numeric(),
    }
}

/// The array without the encodings that [`Column`] does not read.
pub(crate) fn decoded(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::RunEndEncoded(_, values) => decoded(&cast(array, values.data_type())?),
        DataType::Float16 => cast(array, &DataType::Float32),
        _ => Ok(array.clone()),
    }
}

/// A column of a batch, ready to be written value by value.
pub(crate) struct Column<'a> {
    nulls: Option<NullBuffer>,
    values: Values<'a>,
}

type Bytes<'a> = Box<dyn Fn(usize) -> &'a [u8] + 'a>;
type Items<'a> = Box<dyn Fn(usize) -> Range<usize> + 'a>;
type Text<'a> = Box<dyn Fn(usize) -> &'a str + 'a>;

enum Values<'a> {
    Boolean(&'a BooleanArray),
    Float8(&'a Float64Array),
    Float4(&'a Float32Array),
    /// Integers and decimals, whose text is a JSON number too.
    Number(ArrayFormatter<'a>),
    Timestamp {
        values: ScalarBuffer<i64>,
        unit: TimeUnit,
        zoned: bool,
    },
    Guid(&'a FixedSizeBinaryArray),
    Binary(Bytes<'a>),
    Text(Text<'a>),
    List {
        items: Items<'a>,
        values: Box<Column<'a>>,
    },
    Map {
        items: Items<'a>,
        keys: Box<Column<'a>>,
        values: Box<Column<'a>>,
    },
    Struct(Vec<(&'a str, Column<'a>)>),
    Dictionary {
        keys: Vec<usize>,
        values: Box<Column<'a>>,
    },
    Other(ArrayFormatter<'a>),
}

impl<'a> Column<'a> {
    pub(crate) fn new(array: &'a dyn Array) -> Result<Self, ArrowError> {
        Ok(Self { nulls: array.logical_nulls(), values: Values::new(array)? })
    }

    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Adds the value as psql would show it; nothing for NULL.
    pub(crate) fn write_text(&self, row: usize, out: &mut String) -> Result<(), ArrowError> {
        if self.is_null(row) {
            return Ok(());
        }
        match &self.values {
            Values::Boolean(array) => out.push(if array.value(row) { 't' } else { 'f' }),
            Values::Float8(array) => write_float8(array.value(row), out),
            Values::Float4(array) => write_float4(array.value(row), out),
            Values::Timestamp { values, unit, zoned } => {
                write_timestamp(values[row], *unit, *zoned, TimeForm::Sql, out)?;
            }
            Values::Guid(array) => write_guid(array.value(row), out),
            Values::Binary(bytes) => {
                out.push_str("\\x");
                bytes(row).iter().for_each(|byte| push_hex(*byte, out));
            }
            Values::Text(text) => out.push_str(text(row)),
            Values::List { items, values } => {
                out.push('[');
                for (at, item) in items(row).enumerate() {
                    out.push_str(if at == 0 { "" } else { ", " });
                    values.write_nested(item, out)?;
                }
                out.push(']');
            }
            Values::Map { items, keys, values } => {
                out.push('{');
                for (at, item) in items(row).enumerate() {
                    out.push_str(if at == 0 { "" } else { ", " });
                    keys.write_nested(item, out)?;
                    out.push_str(": ");
                    values.write_nested(item, out)?;
                }
                out.push('}');
            }
            Values::Struct(fields) => {
                out.push('{');
                for (at, (name, values)) in fields.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { ", " });
                    out.push_str(name);
                    out.push_str(": ");
                    values.write_nested(row, out)?;
                }
                out.push('}');
            }
            Values::Dictionary { keys, values } => values.write_text(keys[row], out)?,
            Values::Number(text) | Values::Other(text) => text.value(row).write(out)?,
        }
        Ok(())
    }

    /// Adds the value as a part of another, where NULL must show.
    fn write_nested(&self, row: usize, out: &mut String) -> Result<(), ArrowError> {
        if self.is_null(row) {
            out.push_str("NULL");
            return Ok(());
        }
        self.write_text(row, out)
    }

    /// Adds the value as JSON.
    pub(super) fn write_json(&self, row: usize, out: &mut String) -> Result<(), ArrowError> {
        if self.is_null(row) {
            out.push_str("null");
            return Ok(());
        }
        match &self.values {
            Values::Boolean(array) => out.push_str(if array.value(row) { "true" } else { "false" }),
            Values::Float8(array) if array.value(row).is_finite() => write_float8(array.value(row), out),
            Values::Float4(array) if array.value(row).is_finite() => write_float4(array.value(row), out),
            Values::Number(text) => text.value(row).write(out)?,
            Values::Text(text) => write_json_string(text(row), out)?,
            Values::Timestamp { values, unit, zoned } => {
                out.push('"');
                write_timestamp(values[row], *unit, *zoned, TimeForm::Iso, out)?;
                out.push('"');
            }
            Values::Binary(bytes) => {
                out.push('"');
                BASE64.encode_string(bytes(row), out);
                out.push('"');
            }
            Values::List { items, values } => {
                out.push('[');
                for (at, item) in items(row).enumerate() {
                    out.push_str(if at == 0 { "" } else { "," });
                    values.write_json(item, out)?;
                }
                out.push(']');
            }
            Values::Map { items, keys, values } => {
                out.push('{');
                for (at, item) in items(row).enumerate() {
                    out.push_str(if at == 0 { "" } else { "," });
                    let mut key = String::new();
                    keys.write_text(item, &mut key)?;
                    write_json_string(&key, out)?;
                    out.push(':');
                    values.write_json(item, out)?;
                }
                out.push('}');
            }
            Values::Dictionary { keys, values } => values.write_json(keys[row], out)?,
            Values::Struct(fields) => {
                out.push('{');
                for (at, (name, values)) in fields.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { "," });
                    write_json_string(name, out)?;
                    out.push(':');
                    values.write_json(row, out)?;
                }
                out.push('}');
            }
            Values::Float8(_) | Values::Float4(_) | Values::Guid(_) | Values::Other(_) => {
                let mut text = String::new();
                self.write_text(row, &mut text)?;
                write_json_string(&text, out)?;
            }
        }
        Ok(())
    }
}

impl<'a> Values<'a> {
    fn new(array: &'a dyn Array) -> Result<Self, ArrowError> {
        Ok(match array.data_type() {
            DataType::Boolean => Values::Boolean(array.as_boolean()),
            DataType::Float64 => Values::Float8(array.as_primitive()),
            DataType::Float32 => Values::Float4(array.as_primitive()),
            DataType::Timestamp(unit, zone) => {
                let values = match unit {
                    TimeUnit::Second => array.as_primitive::<TimestampSecondType>().values(),
                    TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().values(),
                    TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().values(),
                    TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().values(),
                };
                Values::Timestamp { values: values.clone(), unit: *unit, zoned: zone.is_some() }
            }
            DataType::FixedSizeBinary(GUID_BYTES) => Values::Guid(array.as_fixed_size_binary()),
            DataType::FixedSizeBinary(_) => {
                let array = array.as_fixed_size_binary();
                Values::Binary(Box::new(|row| array.value(row)))
            }
            DataType::Binary => {
                let array = array.as_binary::<i32>();
                Values::Binary(Box::new(|row| array.value(row)))
            }
            DataType::LargeBinary => {
                let array = array.as_binary::<i64>();
                Values::Binary(Box::new(|row| array.value(row)))
            }
            DataType::BinaryView => {
                let array = array.as_binary_view();
                Values::Binary(Box::new(|row| array.value(row)))
            }
            DataType::Utf8 => {
                let array = array.as_string::<i32>();
                Values::Text(Box::new(|row| array.value(row)))
            }
            DataType::LargeUtf8 => {
                let array = array.as_string::<i64>();
                Values::Text(Box::new(|row| array.value(row)))
            }
            DataType::Utf8View => {
                let array = array.as_string_view();
                Values::Text(Box::new(|row| array.value(row)))
            }
            DataType::List(_) => {
                let array = array.as_list::<i32>();
                let offsets = array.value_offsets();
                Values::List {
                    items: Box::new(|row| offsets[row] as usize..offsets[row + 1] as usize),
                    values: Box::new(Column::new(array.values().as_ref())?),
                }
            }
            DataType::LargeList(_) => {
                let array = array.as_list::<i64>();
                let offsets = array.value_offsets();
                Values::List {
                    items: Box::new(|row| offsets[row] as usize..offsets[row + 1] as usize),
                    values: Box::new(Column::new(array.values().as_ref())?),
                }
            }
            DataType::FixedSizeList(_, length) => {
                let length = *length as usize;
                Values::List {
                    items: Box::new(move |row| row * length..(row + 1) * length),
                    values: Box::new(Column::new(array.as_fixed_size_list().values().as_ref())?),
                }
            }
            DataType::Struct(fields) => {
                let columns = fields.iter().zip(array.as_struct().columns());
                let fields = columns.map(|(field, array)| Ok((field.name().as_str(), Column::new(array.as_ref())?)));
                Values::Struct(fields.collect::<Result<_, ArrowError>>()?)
            }
            DataType::Map(..) => {
                let array = array.as_map();
                let offsets = array.value_offsets();
                Values::Map {
                    items: Box::new(|row| offsets[row] as usize..offsets[row + 1] as usize),
                    keys: Box::new(Column::new(array.keys().as_ref())?),
                    values: Box::new(Column::new(array.values().as_ref())?),
                }
            }
            DataType::Dictionary(..) => {
                let array = array.as_any_dictionary();
                // Without values there is nothing for keys to point to, and all rows are NULL.
                let keys = if array.values().is_empty() { Vec::new() } else { array.normalized_keys() };
                Values::Dictionary { keys, values: Box::new(Column::new(array.values().as_ref())?) }
            }
            number if number.is_numeric() => Values::Number(ArrayFormatter::try_new(array, &OPTIONS)?),
            _ => Values::Other(ArrayFormatter::try_new(array, &OPTIONS)?),
        })
    }
}

/// A Guid in its usual form, 8-4-4-4-12.
fn write_guid(bytes: &[u8], out: &mut String) {
    for (at, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&at) {
            out.push('-');
        }
        push_hex(*byte, out);
    }
}

fn push_hex(byte: u8, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(char::from(DIGITS[usize::from(byte >> 4)]));
    out.push(char::from(DIGITS[usize::from(byte & 15)]));
}

/// Adds text as a JSON string.
pub(super) fn write_json_string(text: &str, out: &mut String) -> Result<(), ArrowError> {
    let quoted = serde_json::to_string(text).map_err(|error| ArrowError::JsonError(error.to_string()))?;
    out.push_str(&quoted);
    Ok(())
}

#[cfg(test)]
mod tests;
