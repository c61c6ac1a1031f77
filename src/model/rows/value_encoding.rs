//! The encoding of property values in arenas and spill files.

use crate::{DateTime, EdmType, ValueRef};

/// Appends the value without its type. Fixed-size values are little-endian; texts and binaries
/// have a u32 length before.
pub(super) fn encode(value: ValueRef<'_>, arena: &mut Vec<u8>) {
    match value {
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
