//! Values that callers of the embedded API give, as parameters, and types by their names.

use rowkey_base::{Error, Result, SqlState};
use rowkey_model::Value;
use rowkey_postgres::types::{PostgresType, SqlValue, TextStyle, parse_text, type_by_name, type_by_sql_name};

/// The type that a value declares for its parameter. A text declares none: it is read as what the
/// context wants.
pub(super) fn declared(value: &Value) -> Result<Option<&'static PostgresType>> {
    let name = match value {
        Value::Binary(_) => "bytea",
        Value::Boolean(_) => "bool",
        Value::DateTime(_) => "timestamptz",
        Value::Double(_) => "float8",
        Value::Guid(_) => "uuid",
        Value::Int32(_) => "int4",
        Value::Int64(_) => "int8",
        Value::String(_) => return Ok(None),
    };
    type_named(name).map(Some)
}

/// The value as one of a type.
pub(super) fn value_as(value: &Value, ty: &'static PostgresType, style: &TextStyle) -> Result<SqlValue> {
    Ok(match value {
        Value::Binary(bytes) => SqlValue::Bytes(bytes.clone()),
        Value::Boolean(value) => SqlValue::Bool(*value),
        Value::DateTime(at) => SqlValue::TimestampTz(at.micros()),
        Value::Double(value) => SqlValue::Float8(*value),
        Value::Guid(guid) => SqlValue::Uuid(*guid.as_bytes()),
        Value::Int32(value) => SqlValue::Int4(*value),
        Value::Int64(value) => SqlValue::Int8(*value),
        Value::String(text) => parse_text(ty, text, style)?,
    })
}

/// A type by its name in SQL or in the catalog.
pub(super) fn type_named(name: &str) -> Result<&'static PostgresType> {
    let flat = name.strip_prefix("pg_catalog.").unwrap_or(name);
    type_by_sql_name(flat)
        .or_else(|| type_by_name(flat))
        .ok_or_else(|| Error::new(SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist")))
}
