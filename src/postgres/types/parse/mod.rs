//! Literals and parameters: values from their text and binary forms.

mod abbreviations;
mod array;
mod binary;
mod bytes;
mod datetime;
mod interval;
mod numbers;
#[cfg(test)]
mod tests;
mod tokens;

pub(crate) use abbreviations::zone_of_abbreviation;
pub use binary::parse_binary;
pub(crate) use bytes::NAME_BYTES_MAX;
pub use interval::{IntervalFields, parse_interval_of};

use super::json::{Json, normalized};
use super::postgres_type::oid;
use super::{Error, PostgresType, SqlValue, TextStyle};

/// Reads the text form of a value, as the input function of its type does. `style` tells the zone
/// of times without one and the order of day and month.
///
/// # Errors
/// What is no value of the type, and what cannot be held: infinite times, `NaN` as numeric, names
/// of objects, types without an Arrow type. `now`, `today` and the like are refused where the style
/// does not say when the statement began.
pub fn parse_text(ty: &PostgresType, text: &str, style: &TextStyle) -> Result<SqlValue, Error> {
    if text.contains('\0') {
        return Err(invalid_encoding());
    }
    if ty.is_vector() {
        return array::parse_vector(ty, text, style);
    }
    if ty.element().is_some() {
        return array::parse_array(ty, text, style);
    }
    Ok(match ty.oid {
        oid::BOOL => SqlValue::Bool(numbers::parse_bool(text)?),
        oid::INT2 => SqlValue::Int2(numbers::parse_integer(ty, text)?),
        oid::INT4 => SqlValue::Int4(numbers::parse_integer(ty, text)?),
        oid::INT8 => SqlValue::Int8(numbers::parse_integer(ty, text)?),
        oid::XID8 => SqlValue::Int8(numbers::parse_integer(ty, text)?),
        oid::FLOAT4 => SqlValue::Float4(numbers::parse_float4(text)?),
        oid::FLOAT8 => SqlValue::Float8(numbers::parse_float8(text)?),
        oid::NUMERIC => numbers::parse_numeric(text)?,
        oid::BYTEA => SqlValue::Bytes(bytes::parse_bytea(text)?),
        oid::UUID => SqlValue::Uuid(bytes::parse_uuid(text)?),
        oid::TIMESTAMP => SqlValue::Timestamp(datetime::parse_timestamp(text, style)?),
        oid::TIMESTAMPTZ => SqlValue::TimestampTz(datetime::parse_timestamptz(text, style)?),
        oid::DATE => SqlValue::Date(datetime::parse_date(text, style)?),
        oid::TIME => SqlValue::Time(datetime::parse_time(text, style)?),
        oid::INTERVAL => SqlValue::Interval(interval::parse_interval(text, style)?),
        oid::NAME => SqlValue::Text(bytes::truncate_name(text)),
        oid::CHAR => SqlValue::Text(bytes::parse_char(text)?),
        oid::BPCHAR => SqlValue::Text(bytes::without_blanks(text).to_owned()),
        oid::JSON => {
            Json::read(text)?;
            SqlValue::Text(text.to_owned())
        }
        oid::JSONB => SqlValue::Text(normalized(text)?),
        _ => match super::arrow_type(ty) {
            Some(arrow::datatypes::DataType::Utf8View) => SqlValue::Text(text.to_owned()),
            Some(arrow::datatypes::DataType::UInt32) => SqlValue::Oid(numbers::parse_oid(ty, text)?),
            _ => return Err(unsupported(ty)),
        },
    })
}

fn unsupported(ty: &PostgresType) -> Error {
    Error::unsupported(format!("values of type {} are not supported", ty.sql_name))
}

fn invalid_encoding() -> Error {
    Error::new(super::SqlState::CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\": 0x00")
}

/// What C calls white space.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}
