//! Documents made of values: `to_json`, `json_build_object`, `json_agg` and their like.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field};
use datafusion::common::Result;

use super::super::kind::Kind;
use super::super::scalar::{Arguments, Call, Function, stable};
use super::documents::Built;
use super::{JSON_OF_ARRAY, JSON_OF_PAIRS, JSONB_OF_ARRAY, JSONB_OF_PAIRS, invalid};
use crate::types::json::normalized;
use crate::types::{JsonWriter, TextStyle};

/// Times are written in the session's zone.
pub(super) static FUNCTIONS: [Function; 12] = [
    stable("to_json", 1..=1, returns_document, values),
    stable("to_jsonb", 1..=1, returns_document, values),
    stable("row_to_json", 1..=2, returns_row, values),
    stable("array_to_json", 1..=2, returns_array, values),
    stable("json_build_object", 0..=usize::MAX, returns_object, objects),
    stable("jsonb_build_object", 0..=usize::MAX, returns_object, objects),
    stable("json_build_array", 0..=usize::MAX, returns_document, arrays),
    stable("jsonb_build_array", 0..=usize::MAX, returns_document, arrays),
    stable(JSON_OF_ARRAY, 1..=1, returns_document, collected),
    stable(JSONB_OF_ARRAY, 1..=1, returns_document, collected),
    stable(JSON_OF_PAIRS, 1..=1, returns_document, pairs),
    stable(JSONB_OF_PAIRS, 1..=1, returns_document, pairs),
];

fn is_jsonb(function: &str) -> bool {
    function.starts_with("jsonb") || function == "to_jsonb"
}

fn document(function: &str) -> DataType {
    if is_jsonb(function) { DataType::LargeUtf8 } else { DataType::LargeBinary }
}

fn returns_document(arguments: &Arguments) -> Result<DataType> {
    Ok(document(arguments.function))
}

fn returns_row(arguments: &Arguments) -> Result<DataType> {
    match arguments.types.first() {
        Some(DataType::Struct(_) | DataType::Null) => Ok(document(arguments.function)),
        _ => arguments.undefined(),
    }
}

fn returns_array(arguments: &Arguments) -> Result<DataType> {
    match arguments.kind(0) {
        Kind::Array | Kind::Null => Ok(document(arguments.function)),
        _ => arguments.undefined(),
    }
}

fn returns_object(arguments: &Arguments) -> Result<DataType> {
    if !arguments.types.len().is_multiple_of(2) {
        return invalid("argument list must have even number of elements");
    }
    Ok(document(arguments.function))
}

/// A column of documents: each row's as `write` leaves it, NULL where there is none.
fn made(call: &Call, mut write: impl FnMut(usize, &mut String) -> Result<bool>) -> Result<ArrayRef> {
    let mut built = Built::of(call.returns);
    let mut reserved = call.budget.reserve(call.rows, call.args.iter().map(super::super::held_bytes).sum());
    let mut out = String::new();
    for row in 0..call.rows {
        out.clear();
        if !write(row, &mut out)? {
            built.append(None);
            continue;
        }
        reserved.value(out.len())?;
        if is_jsonb(call.function) {
            built.append(Some(&normalized(&out)?));
        } else {
            built.append(Some(&out));
        }
    }
    Ok(built.finish())
}

/// The session's, but for dates.
fn style(call: &Call) -> TextStyle {
    TextStyle { date_style: TextStyle::default().date_style, ..call.zone.style().clone() }
}

fn writer<'a>(array: &ArrayRef, style: &'a TextStyle) -> Result<JsonWriter<'a>> {
    Ok(JsonWriter::of(&Field::new("", array.data_type().clone(), true), array, style)?)
}

fn writers<'a>(call: &Call, style: &'a TextStyle) -> Result<Vec<JsonWriter<'a>>> {
    call.args.iter().map(|array| writer(array, style)).collect()
}

fn values(call: &Call) -> Result<ArrayRef> {
    let style = style(call);
    let value = writer(call.arg(0)?, &style)?;
    let pretty = match call.len() {
        2 => Some(call.as_type(1, &DataType::Boolean)?.as_boolean().clone()),
        _ => None,
    };
    made(call, |row, out| {
        let pretty = match &pretty {
            Some(flags) if flags.is_null(row) => return Ok(false),
            Some(flags) => flags.value(row),
            None => false,
        };
        let has = value.has(row);
        if has {
            value.write_lines(row, pretty, out)?;
        }
        Ok(has)
    })
}

fn objects(call: &Call) -> Result<ArrayRef> {
    let style = style(call);
    let writers = writers(call, &style)?;
    made(call, |row, out| {
        out.push('{');
        for (at, pair) in writers.chunks(2).enumerate() {
            let [key, value] = pair else { continue };
            if at > 0 {
                out.push_str(", ");
            }
            if !key.has(row) {
                return match is_jsonb(call.function) {
                    true => invalid(format!("argument {}: key must not be null", 2 * at + 1)),
                    false => invalid(format!("argument {} cannot be null", 2 * at + 1)),
                };
            }
            key.write_key(row, out)?;
            out.push_str(" : ");
            value.write(row, out)?;
        }
        out.push('}');
        Ok(true)
    })
}

fn arrays(call: &Call) -> Result<ArrayRef> {
    let style = style(call);
    let writers = writers(call, &style)?;
    made(call, |row, out| {
        out.push('[');
        for (at, value) in writers.iter().enumerate() {
            if at > 0 {
                out.push_str(", ");
            }
            value.write(row, out)?;
        }
        out.push(']');
        Ok(true)
    })
}

/// What `array_agg` has collected.
fn collected(call: &Call) -> Result<ArrayRef> {
    let style = style(call);
    let Some(list) = call.arg(0)?.as_list_opt::<i32>() else { return made(call, |_, _| Ok(false)) };
    let items = writer(list.values(), &style)?;
    let separator = if items.is_composite() { ", \n " } else { ", " };
    let offsets = list.value_offsets();
    made(call, |row, out| {
        if list.is_null(row) {
            return Ok(false);
        }
        out.push('[');
        for (at, item) in (offsets[row] as usize..offsets[row + 1] as usize).enumerate() {
            if at > 0 {
                // A NULL has no line of its own.
                out.push_str(if items.has(item) { separator } else { ", " });
            }
            items.write(item, out)?;
        }
        out.push(']');
        Ok(true)
    })
}

/// Rows of key and value that `array_agg` has collected.
fn pairs(call: &Call) -> Result<ArrayRef> {
    let style = style(call);
    let Some(list) = call.arg(0)?.as_list_opt::<i32>() else { return made(call, |_, _| Ok(false)) };
    let Some([keys, values]) = list.values().as_struct_opt().map(|rows| rows.columns()) else {
        return call_undefined(call);
    };
    let (keys, values) = (writer(keys, &style)?, writer(values, &style)?);
    let offsets = list.value_offsets();
    made(call, |row, out| {
        if list.is_null(row) {
            return Ok(false);
        }
        out.push_str("{ ");
        for (at, item) in (offsets[row] as usize..offsets[row + 1] as usize).enumerate() {
            if at > 0 {
                out.push_str(", ");
            }
            if !keys.has(item) {
                return invalid("field name must not be null");
            }
            keys.write_key(item, out)?;
            out.push_str(" : ");
            values.write(item, out)?;
        }
        out.push_str(" }");
        Ok(true)
    })
}

fn call_undefined(call: &Call) -> Result<ArrayRef> {
    super::super::scalar::undefined(call.function, call.args.iter().map(|array| array.data_type()))
}
