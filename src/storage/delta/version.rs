//! One version of an entity.

use std::sync::{Arc, Mutex, PoisonError};

use super::locations::Locations;
use rowkey_model::rows::{EncodedRow, RowRef};
use rowkey_model::{DateTime, KeyRef};

/// What one write made of an entity: its new content, or that it is gone.
#[derive(Debug)]
pub struct Version {
    /// Of a deleted entity the key alone.
    row: EncodedRow,
    deleted: bool,
    /// Where the rows lie in run files that this version takes the place of.
    locations: Mutex<Locations>,
}

impl Version {
    /// The entity has this content.
    pub fn written(row: EncodedRow, locations: Locations) -> Arc<Self> {
        Arc::new(Self { row, deleted: false, locations: Mutex::new(locations) })
    }

    /// The entity with the key of this row is gone.
    pub fn deleted(row: EncodedRow, locations: Locations) -> Arc<Self> {
        Arc::new(Self { row, deleted: true, locations: Mutex::new(locations) })
    }

    /// Whether the entity is deleted.
    pub fn is_deleted(&self) -> bool {
        self.deleted
    }

    /// The entity, unless it is gone.
    pub fn row(&self) -> Option<RowRef<'_>> {
        (!self.deleted).then(|| self.row.as_ref())
    }

    /// The key of the entity.
    pub fn key(&self) -> KeyRef<'_> {
        self.row.as_ref().key()
    }

    /// The key as bytes that compare like it.
    pub fn key_bytes(&self) -> &[u8] {
        self.row.as_ref().key_bytes()
    }

    /// When the entity was written; `None` if it is gone.
    pub fn timestamp(&self) -> Option<DateTime> {
        self.row().and_then(|row| row.timestamp())
    }

    pub(super) fn with_locations<T>(&self, use_them: impl FnOnce(&mut Locations) -> T) -> T {
        use_them(&mut self.locations.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The cached locations of the key in run files.
    pub fn locations(&self) -> Locations {
        self.with_locations(|locations| locations.clone())
    }

    pub fn memory_bytes(&self) -> usize {
        self.row.memory_bytes() + size_of::<Self>()
    }
}
