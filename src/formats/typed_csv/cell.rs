//! Reading a value by the type beside it.

use std::borrow::Cow;

use rowkey_model::rows::{PropertyId, RowBuilder};
use rowkey_model::{BINARY_BYTES_MAX, DateTime, EdmType, Rejected, STRING_UTF16_UNITS_MAX, Value, ValueRef};

/// What a cell of a column of types says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CellType {
    Type(EdmType),
    /// No type of the data model; an error only if there is a value.
    Unknown(Box<str>),
}

impl CellType {
    #[inline]
    pub(super) fn parse(text: &str) -> Self {
        match EdmType::parse(text) {
            Some(edm_type) => CellType::Type(edm_type),
            None => Self::parse_foreign(text),
        }
    }

    /// Types of other services are written by hand; geography is kept as text.
    fn parse_foreign(text: &str) -> Self {
        let name = text.trim();
        let name = name.strip_prefix("Edm.").unwrap_or(name);
        if name.starts_with("Geography") || name.starts_with("Geometry") {
            return CellType::Type(EdmType::String);
        }
        match EdmType::ALL.into_iter().find(|edm_type| edm_type.name().eq_ignore_ascii_case(name)) {
            Some(edm_type) => CellType::Type(edm_type),
            None => CellType::Unknown(text.into()),
        }
    }
}

/// Sets a property from the text of its cell. The error is the reason.
#[inline]
pub(super) fn set(
    builder: &mut RowBuilder<'_>,
    id: PropertyId,
    name: &str,
    edm_type: EdmType,
    text: &str,
) -> Result<(), String> {
    if edm_type == EdmType::String {
        if text.len() > STRING_UTF16_UNITS_MAX {
            Value::String(text.to_owned()).validate(name).map_err(|rejected| rejected.to_string())?;
        }
        builder.set(id, ValueRef::String(text));
        return Ok(());
    }
    let value = parse(edm_type, text).map_err(|rejected| rejected.named(format!("property {name}")).to_string())?;
    if matches!(&value, Value::Binary(bytes) if bytes.len() > BINARY_BYTES_MAX) {
        value.validate(name).map_err(|rejected| rejected.to_string())?;
    }
    builder.set(id, ValueRef::from(&value));
    Ok(())
}

fn parse(edm_type: EdmType, text: &str) -> Result<Value, Rejected> {
    match edm_type {
        EdmType::Boolean if text.eq_ignore_ascii_case("true") => Ok(Value::Boolean(true)),
        EdmType::Boolean if text.eq_ignore_ascii_case("false") => Ok(Value::Boolean(false)),
        EdmType::DateTime => date_time(text).map(Value::DateTime),
        _ => Value::from_text(edm_type, text),
    }
}

/// A time; spreadsheets leave a blank before the zone.
pub(super) fn date_time(text: &str) -> Result<DateTime, Rejected> {
    let text = match text.strip_suffix(" Z") {
        Some(civil) => Cow::Owned(format!("{civil}Z")),
        None => Cow::Borrowed(text),
    };
    DateTime::parse(&text)
}
