//! A row by itself.

use super::arena::Rows;
use super::names::{PropertyId, PropertyNames};
use super::row_ref::RowRef;
use super::value_ref::ValueRef;
use crate::model::{DateTime, KeyRef, Rejected};

/// One encoded entity in memory of its own.
#[derive(Debug, Clone)]
pub struct EncodedRow {
    encoded: Box<[u8]>,
    header_at: usize,
}

/// Encodes entities one by one, in memory that is used again.
#[derive(Debug, Default)]
pub struct RowEncoder {
    rows: Rows,
}

impl RowEncoder {
    /// Encodes an entity; refuses one that breaks a rule of the data model. Values are checked by the caller.
    pub fn encode<'v>(
        &mut self,
        names: &PropertyNames,
        key: KeyRef<'_>,
        timestamp: DateTime,
        properties: impl Iterator<Item = (PropertyId, ValueRef<'v>)>,
    ) -> Result<EncodedRow, Rejected> {
        self.rows.clear();
        let mut builder = self.rows.builder(names);
        builder.begin();
        properties.for_each(|(id, value)| builder.set(id, value));
        builder.finish(key.partition, key.row, Some(timestamp))?;
        drop(builder);
        let header_at = self.rows.index.first().copied().unwrap_or(0);
        Ok(EncodedRow { encoded: Box::from(self.rows.arena.as_slice()), header_at })
    }
}

impl EncodedRow {
    /// Encodes one entity; see [`RowEncoder::encode`].
    pub fn encode<'v>(
        names: &PropertyNames,
        key: KeyRef<'_>,
        timestamp: DateTime,
        properties: impl Iterator<Item = (PropertyId, ValueRef<'v>)>,
    ) -> Result<Self, Rejected> {
        RowEncoder::default().encode(names, key, timestamp, properties)
    }

    pub fn as_ref(&self) -> RowRef<'_> {
        RowRef::at(&self.encoded, self.header_at)
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.encoded.len() + size_of::<Self>()
    }
}
