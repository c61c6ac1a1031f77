//! Entities that are read where they are stored.

use super::PropertyLookup;
use crate::{DateTime, Entity, KeyRef, ValueRef};

/// An entity, however it is stored.
pub trait EntityView: PropertyLookup {
    /// Its key.
    fn key(&self) -> KeyRef<'_>;

    /// When it was last written.
    fn timestamp(&self) -> DateTime;

    /// Gives its properties in the order of their names.
    fn each_property(&self, take: &mut dyn FnMut(&str, ValueRef<'_>));

    /// An entity of its own.
    fn to_entity(&self) -> Entity;

    /// As [`Entity::size_bytes_max`].
    fn size_bytes_max(&self) -> usize {
        let mut bytes = keys_bytes_max(self.key());
        self.each_property(&mut |name, value| bytes += property_bytes_max(name, value));
        bytes
    }
}

/// What an entity of this key takes at most, beside its properties ([`Entity::size_bytes_max`]).
pub fn keys_bytes_max(key: KeyRef<'_>) -> usize {
    4 + 2 * (key.partition.len() + key.row.len())
}

/// What a property takes at most of an entity ([`Entity::size_bytes_max`]).
pub fn property_bytes_max(name: &str, value: ValueRef<'_>) -> usize {
    8 + 2 * name.len() + value.service_bytes(str::len)
}

impl EntityView for Entity {
    fn key(&self) -> KeyRef<'_> {
        self.key.as_ref()
    }

    fn timestamp(&self) -> DateTime {
        self.timestamp
    }

    fn each_property(&self, take: &mut dyn FnMut(&str, ValueRef<'_>)) {
        for (name, value) in self.properties() {
            take(name, ValueRef::from(value));
        }
    }

    fn to_entity(&self) -> Entity {
        self.clone()
    }
}
