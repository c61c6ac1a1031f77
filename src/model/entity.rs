//! A whole entity.

use std::sync::Arc;

use super::key::Key;
use super::limits::{ENTITY_BYTES_MAX, PROPERTIES_MAX};
use super::name::validate_property_name;
use super::value::{Value, ValueRef};
use rowkey_base::DateTime;
use rowkey_base::{Rejected, Rule};

/// An entity: its key, the time of its last write, and its properties in the order of their names
/// (by UTF-8 bytes).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    pub key: Key,
    pub timestamp: DateTime,
    properties: Vec<(Arc<str>, Value)>,
}

impl Entity {
    /// An entity from parts known to obey the rules, as storage reads them. The properties may come
    /// in any order; no name may come twice. Use [`EntityBuilder`] for what enters the system.
    pub fn from_parts(key: Key, timestamp: DateTime, mut properties: Vec<(Arc<str>, Value)>) -> Self {
        properties.sort_by(|(a, _), (b, _)| a.cmp(b));
        Self { key, timestamp, properties }
    }

    /// The value of a property; `None` where the entity does not have it.
    pub fn get(&self, property: &str) -> Option<&Value> {
        let at = self.properties.binary_search_by(|(name, _)| (**name).cmp(property)).ok()?;
        Some(&self.properties[at].1)
    }

    /// Properties by name, in the order of their names.
    pub fn properties(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.properties.iter().map(|(name, value)| (&**name, value))
    }

    /// Properties as they are stored.
    pub fn parts(&self) -> &[(Arc<str>, Value)] {
        &self.properties
    }

    /// The entity's size by the service's published estimate, which [`ENTITY_BYTES_MAX`] bounds: 4
    /// bytes, 2 for each UTF-16 unit of the keys, and for each property 8, 2 for each unit of its
    /// name, and the size of its value (a String 2 for each unit and 4, a Binary its length and 4,
    /// the others their width). Timestamp does not count.
    pub fn size_bytes(&self) -> usize {
        self.size_bytes_by(utf16_units)
    }

    /// Not less than [`Entity::size_bytes`], and known without a look at the texts: UTF-8 never has
    /// fewer bytes than UTF-16 has units.
    pub fn size_bytes_max(&self) -> usize {
        self.size_bytes_by(str::len)
    }

    fn size_bytes_by(&self, units: impl Fn(&str) -> usize) -> usize {
        let property_bytes =
            |(name, value): &(Arc<str>, Value)| 8 + 2 * units(name) + ValueRef::from(value).service_bytes(&units);
        let keys = units(&self.key.partition) + units(&self.key.row);
        4 + 2 * keys + self.properties.iter().map(property_bytes).sum::<usize>()
    }

    /// The entity's ETag, which identifies the version:
    /// `W/"datetime'2020-07-24T14%3A34%3A24.0550534Z'"`.
    pub fn etag(&self) -> String {
        Self::etag_of(self.timestamp)
    }

    /// The ETag of an entity that was last written at this time.
    pub fn etag_of(timestamp: DateTime) -> String {
        const BEFORE: &str = "W/\"datetime'";
        const BEHIND: &str = "'\"";
        let text = timestamp.text();
        let text = text.as_str();
        let mut etag = String::with_capacity(BEFORE.len() + text.len() + "%3A".len() * 2 + BEHIND.len());
        etag.push_str(BEFORE);
        for (place, part) in text.split(':').enumerate() {
            if place > 0 {
                etag.push_str("%3A");
            }
            etag.push_str(part);
        }
        etag.push_str(BEHIND);
        etag
    }
}

fn utf16_units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

/// Builds an [`Entity`] that obeys every rule of the data model.
///
/// ```
/// use rowkey_model::{EntityBuilder, Key};
///
/// let entity = EntityBuilder::new(Key::new("eu", "0001")).property("Age", 41).property("Name", "Ada").build()?;
/// assert_eq!(entity.get("Age"), Some(&41.into()));
/// # Ok::<(), rowkey_model::Rejected>(())
/// ```
#[derive(Debug, Clone)]
pub struct EntityBuilder {
    key: Key,
    timestamp: DateTime,
    properties: Vec<(Arc<str>, Value)>,
}

impl EntityBuilder {
    /// An entity without properties that was never written: its timestamp is [`DateTime::MIN`].
    pub fn new(key: Key) -> Self {
        Self { key, timestamp: DateTime::MIN, properties: Vec::new() }
    }

    /// The time of the entity's last write.
    pub fn timestamp(mut self, at: DateTime) -> Self {
        self.timestamp = at;
        self
    }

    /// Adds a property. The order does not matter; a name given twice is refused by
    /// [`EntityBuilder::build`]. To build many entities, give clones of an `Arc<str>` as name: a
    /// `&str` is copied each time.
    pub fn property(mut self, name: impl Into<Arc<str>>, value: impl Into<Value>) -> Self {
        self.properties.push((name.into(), value.into()));
        self
    }

    /// Refuses keys, names, values, numbers of properties and sizes that the service refuses.
    pub fn build(self) -> Result<Entity, Rejected> {
        let Self { key, timestamp, mut properties } = self;
        key.validate()?;
        timestamp.validate("Timestamp")?;
        for (name, value) in &properties {
            validate_property_name(name)?;
            value.validate(name)?;
        }
        properties.sort_by(|(a, _), (b, _)| a.cmp(b));
        if let Some(pair) = properties.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let limit = "an entity has a property once, this is given twice";
            return Err(Rejected::new("property name", &pair[0].0, Rule::PropertyTwice, limit));
        }
        if properties.len() > PROPERTIES_MAX {
            let limit = format!(
                "at most {PROPERTIES_MAX} properties beside PartitionKey, RowKey and Timestamp, this has {}",
                properties.len()
            );
            return Err(Rejected::new("entity", &shown(&key), Rule::PropertyCount, limit));
        }
        let entity = Entity { key, timestamp, properties };
        if entity.size_bytes_max() <= ENTITY_BYTES_MAX {
            return Ok(entity);
        }
        let bytes = entity.size_bytes();
        if bytes > ENTITY_BYTES_MAX {
            let limit = format!("an entity holds at most {ENTITY_BYTES_MAX} bytes, this has {bytes}");
            return Err(Rejected::new("entity", &shown(&entity.key), Rule::EntitySize, limit));
        }
        Ok(entity)
    }
}

/// A key as messages name it.
fn shown(key: &Key) -> String {
    format!("{}, {}", key.partition, key.row)
}

#[cfg(test)]
mod tests;
