//! Borrowed property values.

use super::{EdmType, Value};
use rowkey_base::DateTime;

/// A borrowed [`Value`].
#[derive(Debug, Clone, Copy)]
pub enum ValueRef<'a> {
    Binary(&'a [u8]),
    Boolean(bool),
    DateTime(DateTime),
    Double(f64),
    Guid(uuid::Uuid),
    Int32(i32),
    Int64(i64),
    String(&'a str),
}

impl ValueRef<'_> {
    /// The type of the value.
    pub fn edm_type(&self) -> EdmType {
        match self {
            ValueRef::Binary(_) => EdmType::Binary,
            ValueRef::Boolean(_) => EdmType::Boolean,
            ValueRef::DateTime(_) => EdmType::DateTime,
            ValueRef::Double(_) => EdmType::Double,
            ValueRef::Guid(_) => EdmType::Guid,
            ValueRef::Int32(_) => EdmType::Int32,
            ValueRef::Int64(_) => EdmType::Int64,
            ValueRef::String(_) => EdmType::String,
        }
    }

    /// A copy of the value.
    pub fn to_value(self) -> Value {
        match self {
            ValueRef::Binary(bytes) => Value::Binary(bytes.to_vec()),
            ValueRef::Boolean(value) => Value::Boolean(value),
            ValueRef::DateTime(at) => Value::DateTime(at),
            ValueRef::Double(value) => Value::Double(value),
            ValueRef::Guid(guid) => Value::Guid(guid),
            ValueRef::Int32(value) => Value::Int32(value),
            ValueRef::Int64(value) => Value::Int64(value),
            ValueRef::String(text) => Value::String(text.to_owned()),
        }
    }

    /// Bytes of the value in the service's entity size formula
    /// ([`Entity::size_bytes`](crate::Entity::size_bytes)); `units` counts those of a text.
    pub(crate) fn service_bytes(&self, units: impl Fn(&str) -> usize) -> usize {
        match self {
            ValueRef::Binary(bytes) => bytes.len() + 4,
            ValueRef::Boolean(_) => 1,
            ValueRef::DateTime(_) | ValueRef::Double(_) | ValueRef::Int64(_) => 8,
            ValueRef::Guid(_) => 16,
            ValueRef::Int32(_) => 4,
            ValueRef::String(text) => 2 * units(text) + 4,
        }
    }
}

impl<'a> From<&'a Value> for ValueRef<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Binary(bytes) => ValueRef::Binary(bytes),
            Value::Boolean(value) => ValueRef::Boolean(*value),
            Value::DateTime(at) => ValueRef::DateTime(*at),
            Value::Double(value) => ValueRef::Double(*value),
            Value::Guid(guid) => ValueRef::Guid(*guid),
            Value::Int32(value) => ValueRef::Int32(*value),
            Value::Int64(value) => ValueRef::Int64(*value),
            Value::String(text) => ValueRef::String(text),
        }
    }
}

/// As for [`Value`]: doubles by bits.
impl PartialEq for ValueRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        // By the type of one of them, so that no type is forgotten.
        match self {
            ValueRef::Binary(a) => matches!(other, ValueRef::Binary(b) if a == b),
            ValueRef::Boolean(a) => matches!(other, ValueRef::Boolean(b) if a == b),
            ValueRef::DateTime(a) => matches!(other, ValueRef::DateTime(b) if a == b),
            ValueRef::Double(a) => matches!(other, ValueRef::Double(b) if a.to_bits() == b.to_bits()),
            ValueRef::Guid(a) => matches!(other, ValueRef::Guid(b) if a == b),
            ValueRef::Int32(a) => matches!(other, ValueRef::Int32(b) if a == b),
            ValueRef::Int64(a) => matches!(other, ValueRef::Int64(b) if a == b),
            ValueRef::String(a) => matches!(other, ValueRef::String(b) if a == b),
        }
    }
}

impl Eq for ValueRef<'_> {}
