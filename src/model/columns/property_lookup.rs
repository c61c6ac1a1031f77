//! Properties by their names.

use super::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use crate::{Entity, ValueRef};

/// What of an entity can be looked up by name, however the entity is stored.
pub trait PropertyLookup {
    /// The value of a property, or of PartitionKey, RowKey or Timestamp; `None` where the entity
    /// lacks it.
    fn property(&self, name: &str) -> Option<ValueRef<'_>>;
}

impl PropertyLookup for Entity {
    fn property(&self, name: &str) -> Option<ValueRef<'_>> {
        match name {
            PARTITION_KEY => Some(ValueRef::String(&self.key.partition)),
            ROW_KEY => Some(ValueRef::String(&self.key.row)),
            TIMESTAMP => Some(ValueRef::DateTime(self.timestamp)),
            name => self.get(name).map(ValueRef::from),
        }
    }
}
