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
