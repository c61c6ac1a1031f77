//! Borrowed property values and their encoding.

use crate::{DateTime, EdmType, Value};

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

    /// Appends the value without its type. Fixed-size values are little-endian; texts and binaries
    /// have a u32 length before.
    pub(super) fn encode(&self, arena: &mut Vec<u8>) {
        match *self {
            ValueRef::Binary(bytes) => encode_bytes(arena, bytes),
            ValueRef::Boolean(value) => arena.push(u8::from(value)),
            ValueRef::DateTime(at) => arena.extend_from_slice(&at.ticks().to_le_bytes()),
            ValueRef::Double(value) => arena.extend_from_slice(&value.to_bits().to_le_bytes()),
            ValueRef::Guid(guid) => arena.extend_from_slice(guid.as_bytes()),
            ValueRef::Int32(value) => arena.extend_from_slice(&value.to_le_bytes()),
            ValueRef::Int64(value) => arena.extend_from_slice(&value.to_le_bytes()),
            ValueRef::String(text) => encode_bytes(arena, text.as_bytes()),
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

fn encode_bytes(arena: &mut Vec<u8>, bytes: &[u8]) {
    arena.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    arena.extend_from_slice(bytes);
}

/// Bits that stand for a type beside a property's number, in memory and in spill files.
pub(super) const TYPE_BITS: u32 = 3;
pub(super) const TYPE_MASK: u32 = (1 << TYPE_BITS) - 1;
const _: () = assert!(EdmType::ALL.len() <= 1 << TYPE_BITS, "the types need more bits");

pub(super) fn type_code(edm_type: EdmType) -> u32 {
    edm_type as u32
}

/// Splits the value of the type with this code off the front of encoded properties.
pub(super) fn decode<'a>(code: u32, encoded: &'a [u8]) -> (ValueRef<'a>, &'a [u8]) {
    match EdmType::ALL[(code & TYPE_MASK) as usize] {
        EdmType::Binary => {
            let (bytes, rest) = decode_bytes(encoded);
            (ValueRef::Binary(bytes), rest)
        }
        EdmType::Boolean => (ValueRef::Boolean(encoded[0] != 0), &encoded[1..]),
        EdmType::DateTime => {
            let (ticks, rest) = fixed(encoded);
            (ValueRef::DateTime(DateTime::from_ticks(i64::from_le_bytes(ticks))), rest)
        }
        EdmType::Double => {
            let (bits, rest) = fixed(encoded);
            (ValueRef::Double(f64::from_bits(u64::from_le_bytes(bits))), rest)
        }
        EdmType::Guid => {
            let (guid, rest) = fixed(encoded);
            (ValueRef::Guid(uuid::Uuid::from_bytes(guid)), rest)
        }
        EdmType::Int32 => {
            let (value, rest) = fixed(encoded);
            (ValueRef::Int32(i32::from_le_bytes(value)), rest)
        }
        EdmType::Int64 => {
            let (value, rest) = fixed(encoded);
            (ValueRef::Int64(i64::from_le_bytes(value)), rest)
        }
        EdmType::String => {
            let (bytes, rest) = decode_bytes(encoded);
            (ValueRef::String(text(bytes)), rest)
        }
    }
}

fn decode_bytes(encoded: &[u8]) -> (&[u8], &[u8]) {
    let (length, rest) = fixed(encoded);
    rest.split_at(u32::from_le_bytes(length) as usize)
}

/// Splits `N` bytes off the front. Arenas are only written by this layer (and checksummed on disk),
/// so they are there.
pub(super) fn fixed<const N: usize>(encoded: &[u8]) -> ([u8; N], &[u8]) {
    let (head, rest) = encoded.split_at(N);
    let mut bytes = [0; N];
    bytes.copy_from_slice(head);
    (bytes, rest)
}

/// Text in an arena, which only ever receives whole `str`s.
pub(super) fn text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => unreachable!("an arena holds only whole texts"),
    }
}
