//! One encoded entity.

use super::names::{PropertyId, PropertyNames};
use super::value_encoding::{TYPE_BITS, TYPE_MASK, decode, fixed, text};
use crate::{DateTime, Entity, KeyRef, ValueRef};

/// Bytes of the fixed part between a row's properties and its key: length of the properties (u32),
/// lengths of PartitionKey and RowKey (u16 each), and Timestamp (i64 ticks).
pub(super) const HEADER_BYTES: usize = 16;

/// Where the Timestamp lies in the header.
pub(super) const TIMESTAMP_AT: usize = 8;

/// Bytes of an origin, behind the key of a row that has one.
const ORIGIN_BYTES: usize = 8;

/// In the header's length of PartitionKey, which is far shorter: an origin follows the key.
const HAS_ORIGIN: u16 = 1 << 15;

/// Stands for an absent Timestamp; no DateTime of the service has it.
pub(super) const TIMESTAMP_NONE: i64 = i64::MIN;

/// Between PartitionKey and RowKey. Keys hold no control characters, so comparing `partition NUL
/// row` bytewise is comparing PartitionKey first, then RowKey.
pub(super) const KEY_SEPARATOR: u8 = 0;

/// An entity in a [`Rows`](super::Rows), laid out as properties (in the order of their numbers),
/// header, key, and where it came from if that was noted.
#[derive(Debug, Clone, Copy)]
pub struct RowRef<'a> {
    encoded: &'a [u8],
    properties_bytes: usize,
    partition_bytes: usize,
    /// Where the key ends.
    key_end: usize,
    timestamp: i64,
}

impl<'a> RowRef<'a> {
    /// The row whose header begins at `header_at` of `arena`.
    pub(super) fn at(arena: &'a [u8], header_at: usize) -> Self {
        let header = Header::read(&arena[header_at..]);
        let from = header_at - header.properties_bytes;
        let to = header_at + header.bytes_to_end();
        Self {
            encoded: &arena[from..to],
            properties_bytes: header.properties_bytes,
            partition_bytes: header.partition_bytes,
            key_end: header.properties_bytes + HEADER_BYTES + header.key_bytes(),
            timestamp: header.timestamp,
        }
    }

    /// The key.
    pub fn key(&self) -> KeyRef<'a> {
        let key = self.key_bytes();
        KeyRef { partition: text(&key[..self.partition_bytes]), row: text(&key[self.partition_bytes + 1..]) }
    }

    /// The key as bytes that compare like [`RowRef::key`].
    pub fn key_bytes(&self) -> &'a [u8] {
        &self.encoded[self.properties_bytes + HEADER_BYTES..self.key_end]
    }

    /// Where the row came from, as its decoder numbers it
    /// ([`Rows::set_last_origin`](super::Rows::set_last_origin)).
    pub fn origin(&self) -> Option<u64> {
        self.encoded[self.key_end..].first_chunk::<ORIGIN_BYTES>().map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// PartitionKey as bytes.
    pub fn partition_bytes(&self) -> &'a [u8] {
        &self.key_bytes()[..self.partition_bytes]
    }

    /// `None` where the input had none.
    pub fn timestamp(&self) -> Option<DateTime> {
        (self.timestamp != TIMESTAMP_NONE).then(|| DateTime::from_ticks(self.timestamp))
    }

    /// Properties in the order of their numbers.
    pub fn properties(&self) -> Properties<'a> {
        Properties { encoded: self.properties_encoded() }
    }

    /// True if both have the same properties with the same types and values; both must use the same
    /// [`PropertyNames`].
    pub fn same_properties(&self, other: RowRef<'_>) -> bool {
        self.properties_encoded() == other.properties_encoded()
    }

    /// True if both are the same version of their entity: equal properties, and equal Timestamps or
    /// none.
    pub fn same_version(&self, other: RowRef<'_>) -> bool {
        self.timestamp == other.timestamp && self.same_properties(other)
    }

    /// The whole row as it lies in the arena.
    pub fn encoded_bytes(&self) -> &'a [u8] {
        self.encoded
    }

    /// True if this row, which came later, replaces an `earlier` one of the same key: the newest
    /// Timestamp wins (none is older than any), among equal ones the later row.
    pub fn replaces(&self, earlier: RowRef<'_>) -> bool {
        self.timestamp >= earlier.timestamp
    }

    /// The entity with names instead of numbers. An absent Timestamp becomes [`DateTime::MIN`].
    pub fn to_entity(self, names: &PropertyNames) -> Entity {
        let properties = self.properties().map(|(id, value)| (names.name(id), value.to_value())).collect();
        Entity::from_parts(self.key().to_key(), self.timestamp().unwrap_or(DateTime::MIN), properties)
    }

    /// Where the header begins in [`RowRef::encoded_bytes`].
    pub(super) fn header_at(&self) -> usize {
        self.properties_bytes
    }

    /// The row without its origin; its header says that there is one nevertheless.
    pub(super) fn bytes_without_origin(&self) -> &'a [u8] {
        &self.encoded[..self.key_end]
    }

    /// Bytes of the row, its origin left out.
    pub fn entity_bytes(&self) -> usize {
        self.key_end
    }

    fn properties_encoded(&self) -> &'a [u8] {
        &self.encoded[..self.properties_bytes]
    }
}

/// A key as bytes that compare like it: [`RowRef::key_bytes`] of a key that has no row.
pub fn key_bytes(key: KeyRef<'_>) -> Vec<u8> {
    [key.partition.as_bytes(), &[KEY_SEPARATOR], key.row.as_bytes()].concat()
}

/// The fixed part of a row.
pub(super) struct Header {
    pub(super) properties_bytes: usize,
    pub(super) partition_bytes: usize,
    pub(super) row_bytes: usize,
    pub(super) timestamp: i64,
    pub(super) has_origin: bool,
}

impl Header {
    pub(super) fn read(from: &[u8]) -> Self {
        let (properties_bytes, rest) = fixed(from);
        let (partition_bytes, rest) = fixed(rest);
        let (row_bytes, rest) = fixed(rest);
        let (timestamp, _) = fixed(rest);
        let partition = u16::from_le_bytes(partition_bytes);
        Self {
            properties_bytes: u32::from_le_bytes(properties_bytes) as usize,
            partition_bytes: usize::from(partition & !HAS_ORIGIN),
            row_bytes: usize::from(u16::from_le_bytes(row_bytes)),
            timestamp: i64::from_le_bytes(timestamp),
            has_origin: partition & HAS_ORIGIN != 0,
        }
    }

    /// Bytes of `partition NUL row`.
    pub(super) fn key_bytes(&self) -> usize {
        self.partition_bytes + 1 + self.row_bytes
    }

    /// Bytes from the header to the row's end.
    pub(super) fn bytes_to_end(&self) -> usize {
        HEADER_BYTES + self.key_bytes() + if self.has_origin { ORIGIN_BYTES } else { 0 }
    }

    /// Callers have bounded all lengths: properties by the entity's size, keys by their validation.
    pub(super) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..4].copy_from_slice(&(self.properties_bytes as u32).to_le_bytes());
        let origin = if self.has_origin { HAS_ORIGIN } else { 0 };
        bytes[4..6].copy_from_slice(&(self.partition_bytes as u16 | origin).to_le_bytes());
        bytes[6..8].copy_from_slice(&(self.row_bytes as u16).to_le_bytes());
        bytes[TIMESTAMP_AT..].copy_from_slice(&self.timestamp.to_le_bytes());
        bytes
    }
}

/// Iterator over the properties of a row.
#[derive(Debug, Clone)]
pub struct Properties<'a> {
    encoded: &'a [u8],
}

impl<'a> Properties<'a> {
    pub(super) fn of(encoded: &'a [u8]) -> Self {
        Self { encoded }
    }
}

impl<'a> Iterator for Properties<'a> {
    type Item = (PropertyId, ValueRef<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.encoded.is_empty() {
            return None;
        }
        let (word, rest) = fixed(self.encoded);
        let word = u32::from_le_bytes(word);
        let (value, rest) = decode(word & TYPE_MASK, rest);
        self.encoded = rest;
        Some((PropertyId(word >> TYPE_BITS), value))
    }
}
