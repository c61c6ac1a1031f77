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

impl EncodedRow {
    /// Encodes an entity; refuses one that breaks a rule of the data model. Values are checked by the caller.
    pub fn encode<'v>(
        names: &PropertyNames,
        key: KeyRef<'_>,
        timestamp: DateTime,
        properties: impl Iterator<Item = (PropertyId, ValueRef<'v>)>,
    ) -> Result<Self, Rejected> {
        let mut rows = Rows::new();
        let mut builder = rows.builder(names);
        builder.begin();
        properties.for_each(|(id, value)| builder.set(id, value));
        builder.finish(key.partition, key.row, Some(timestamp))?;
        drop(builder);
        let header_at = rows.index.first().copied().unwrap_or(0);
        Ok(Self { encoded: rows.arena.into_boxed_slice(), header_at })
    }

    pub fn as_ref(&self) -> RowRef<'_> {
        RowRef::at(&self.encoded, self.header_at)
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.encoded.len() + size_of::<Self>()
    }
}
