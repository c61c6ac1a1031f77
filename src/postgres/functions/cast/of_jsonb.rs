//! Casts of `jsonb` to what it holds, and of `json` to it.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, LargeStringArray, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::super::error::{SqlState, fail, out_of_range};
use super::super::kind::Kind;
use super::super::zone::Zone;
use super::cast_array;
use crate::types::json::{Json, JsonKind, normalized};

/// Numbers and truth values. A number is read from its digits.
pub(super) fn to_scalar(array: &ArrayRef, to: Kind, wanted: &DataType, zone: &Zone) -> Result<ArrayRef> {
    let held = if to == Kind::Bool { JsonKind::Boolean } else { JsonKind::Number };
    let texts = array.as_string::<i64>().iter().map(|text| {
        let Some(text) = text else { return Ok(None) };
        let json = Json::read(text)?;
        if json.kind == held {
            return Ok(Some(json.text()));
        }
        let kind = if json.kind.is_scalar() || json.kind == JsonKind::Array { json.kind.name() } else { "object" };
        let message = format!("cannot cast jsonb {kind} to type {}", to.name());
        fail(SqlState::INVALID_PARAMETER_VALUE, message)
    });
    let texts = texts.collect::<Result<StringViewArray>>()?;
    if to == Kind::Bool {
        let truths: BooleanArray = texts.iter().map(|text| text.map(|text| text == "true")).collect();
        return Ok(Arc::new(truths));
    }
    if to.is_integer() {
        let whole = texts.iter().map(|text| text.map(|text| rounded(text, to.name())).transpose());
        let whole: ArrayRef = Arc::new(whole.collect::<Result<Int64Array>>()?);
        return cast_array(&whole, wanted, zone);
    }
    let texts: ArrayRef = Arc::new(texts);
    cast_array(&texts, wanted, zone)
}

/// A number without exponent as an integer, halves away from zero.
fn rounded(number: &str, type_name: &str) -> Result<i64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let negative = whole.starts_with('-');
    let whole: i128 = whole.parse().map_err(|_| out_of_range(type_name))?;
    let away = if fraction.starts_with(['5', '6', '7', '8', '9']) { 1 } else { 0 };
    let rounded = if negative { whole - away } else { whole + away };
    i64::try_from(rounded).map_err(|_| out_of_range(type_name))
}

/// `json` as `jsonb`.
pub(super) fn of_json(array: &ArrayRef) -> Result<ArrayRef> {
    let documents = array.as_binary::<i64>();
    let texts = documents.iter().map(|bytes| {
        let Some(bytes) = bytes else { return Ok(None) };
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(normalized(text)?)),
            Err(_) => fail(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json"),
        }
    });
    let texts = texts.collect::<Result<LargeStringArray>>()?;
    debug_assert_eq!(texts.len(), array.len());
    Ok(Arc::new(texts))
}
