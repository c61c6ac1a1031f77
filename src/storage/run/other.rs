//! Properties without a column of their own, as they lie together in the `(other)` column.
//!
//! One after another: length of the name (u16), name, type ([`EdmType::tag`]),
//! length of the value (u32), value. Numbers are little-endian, DateTimes are 100 ns ticks since
//! 1970, Guids 16 bytes in their text order.

use std::sync::Arc;

use rowkey_model::{DateTime, EdmType, Value, ValueRef};

/// Appends one property.
pub(super) fn encode(name: &str, value: ValueRef<'_>, out: &mut Vec<u8>) {
    out.extend((name.len() as u16).to_le_bytes());
    out.extend(name.as_bytes());
    out.push(value.edm_type().tag());
    let mut sized = |bytes: &[u8]| {
        out.extend((bytes.len() as u32).to_le_bytes());
        out.extend(bytes);
    };
    match value {
        ValueRef::Binary(v) => sized(v),
        ValueRef::Boolean(v) => sized(&[u8::from(v)]),
        ValueRef::DateTime(v) => sized(&v.ticks().to_le_bytes()),
        ValueRef::Double(v) => sized(&v.to_bits().to_le_bytes()),
        ValueRef::Guid(v) => sized(v.as_bytes()),
        ValueRef::Int32(v) => sized(&v.to_le_bytes()),
        ValueRef::Int64(v) => sized(&v.to_le_bytes()),
        ValueRef::String(v) => sized(v.as_bytes()),
    }
}

/// All properties of an `(other)` value; `None` if it is not one.
pub fn decode(mut encoded: &[u8]) -> Option<Vec<(Arc<str>, Value)>> {
    let mut properties = Vec::new();
    while !encoded.is_empty() {
        let (name_bytes, rest) = encoded.split_first_chunk::<2>()?;
        let (name, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*name_bytes)))?;
        let (&tag, rest) = rest.split_first()?;
        let (value_bytes, rest) = rest.split_first_chunk::<4>()?;
        let (value, rest) = rest.split_at_checked(u32::from_le_bytes(*value_bytes) as usize)?;
        let edm = EdmType::of_tag(tag)?;
        properties.push((Arc::from(std::str::from_utf8(name).ok()?), decode_value(edm, value)?));
        encoded = rest;
    }
    Some(properties)
}

fn decode_value(edm: EdmType, bytes: &[u8]) -> Option<Value> {
    Some(match edm {
        EdmType::Binary => Value::Binary(bytes.to_vec()),
        EdmType::Boolean => Value::Boolean(*bytes.first()? != 0),
        EdmType::DateTime => Value::DateTime(DateTime::from_ticks(i64::from_le_bytes(bytes.try_into().ok()?))),
        EdmType::Double => Value::Double(f64::from_bits(u64::from_le_bytes(bytes.try_into().ok()?))),
        EdmType::Guid => Value::Guid(uuid::Uuid::from_bytes(bytes.try_into().ok()?)),
        EdmType::Int32 => Value::Int32(i32::from_le_bytes(bytes.try_into().ok()?)),
        EdmType::Int64 => Value::Int64(i64::from_le_bytes(bytes.try_into().ok()?)),
        EdmType::String => Value::String(std::str::from_utf8(bytes).ok()?.to_owned()),
    })
}
