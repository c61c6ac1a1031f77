//! Appending entities to a batch.

use super::arena::Rows;
use super::names::{PropertyId, PropertyNames};
use super::row_ref::{HEADER_BYTES, Header, KEY_SEPARATOR, Properties, TIMESTAMP_NONE};
use super::value_encoding::{TYPE_BITS, encode, type_code};
use crate::{DateTime, ENTITY_BYTES_MAX, KeyRef, PROPERTIES_MAX, Rejected, Rule, ValueRef};

/// Appends entities to a [`Rows`], one after another: `begin`, `set` for each property, then
/// `finish` or `abort`.
///
/// An entity that is neither finished nor aborted is dropped by the next `begin`, or with the
/// builder.
#[derive(Debug)]
pub struct RowBuilder<'a> {
    rows: &'a mut Rows,
    names: &'a PropertyNames,
}

/// Upper bound of what a property's name and fixed part add to the entity's size: 8 + 2 bytes for
/// each UTF-16 unit, of which 255 characters have at most 510.
const PROPERTY_OVERHEAD_BYTES_MAX: usize = 8 + 2 * 510;

impl Rows {
    /// Starts appending rows; `names` gives the names behind the numbers, for messages and sizes.
    pub fn builder<'a>(&'a mut self, names: &'a PropertyNames) -> RowBuilder<'a> {
        RowBuilder::new(self, names)
    }

    /// Appends one entity; refuses one that breaks a rule of the data model. Values are checked by
    /// the caller.
    pub fn push<'v>(
        &mut self,
        names: &PropertyNames,
        key: KeyRef<'_>,
        timestamp: Option<DateTime>,
        properties: impl Iterator<Item = (PropertyId, ValueRef<'v>)>,
    ) -> Result<(), Rejected> {
        let mut builder = self.builder(names);
        builder.begin();
        properties.for_each(|(id, value)| builder.set(id, value));
        builder.finish(key.partition, key.row, timestamp)
    }
}

impl<'a> RowBuilder<'a> {
    fn new(rows: &'a mut Rows, names: &'a PropertyNames) -> Self {
        rows.unfinished.from = rows.arena.len();
        Self { rows, names }
    }

    /// Starts an entity.
    pub fn begin(&mut self) {
        self.abort();
        self.rows.unfinished.ascending = true;
    }

    /// Sets a property of the entity begun; its value is checked by the caller (`Value::validate`).
    #[inline]
    pub fn set(&mut self, property: PropertyId, value: ValueRef<'_>) {
        let at = self.rows.arena.len();
        let unfinished = &mut self.rows.unfinished;
        if unfinished.properties.last().is_some_and(|&(last, _)| last >= property) {
            unfinished.ascending = false;
        }
        unfinished.properties.push((property, at));
        let word = (property.0 << TYPE_BITS) | type_code(value.edm_type());
        self.rows.arena.extend_from_slice(&word.to_le_bytes());
        encode(value, &mut self.rows.arena);
    }

    /// The properties that were set of the entity begun, in the order in which they were.
    pub fn properties_set(&self) -> impl Iterator<Item = PropertyId> + '_ {
        self.rows.unfinished.properties.iter().map(|(property, _)| *property)
    }

    /// Completes the entity begun. Its key is checked here; a refused entity is dropped.
    pub fn finish(&mut self, partition: &str, row: &str, timestamp: Option<DateTime>) -> Result<(), Rejected> {
        let checked = self.check(partition, row);
        if checked.is_err() {
            self.abort();
            return checked;
        }
        let unfinished = &mut self.rows.unfinished;
        let arena = &mut self.rows.arena;
        let header_at = arena.len();
        let header = Header {
            properties_bytes: header_at - unfinished.from,
            partition_bytes: partition.len(),
            row_bytes: row.len(),
            timestamp: timestamp.map_or(TIMESTAMP_NONE, DateTime::ticks),
            has_origin: false,
        };
        arena.reserve(HEADER_BYTES + header.key_bytes());
        arena.extend_from_slice(&header.encode());
        arena.extend_from_slice(partition.as_bytes());
        arena.push(KEY_SEPARATOR);
        arena.extend_from_slice(row.as_bytes());
        unfinished.properties.clear();
        unfinished.from = arena.len();
        self.rows.push_index(header_at);
        Ok(())
    }

    /// Drops the entity begun.
    pub fn abort(&mut self) {
        let unfinished = &mut self.rows.unfinished;
        unfinished.properties.clear();
        self.rows.arena.truncate(unfinished.from);
    }

    /// The rows appended so far.
    pub fn rows(&self) -> &Rows {
        self.rows
    }

    fn check(&mut self, partition: &str, row: &str) -> Result<(), Rejected> {
        KeyRef { partition, row }.validate()?;
        let count = self.rows.unfinished.properties.len();
        if count > PROPERTIES_MAX {
            let limit = format!("at most {PROPERTIES_MAX} properties beside the keys and Timestamp");
            return Err(Rejected::new("number of properties", &count.to_string(), Rule::PropertyCount, limit));
        }
        if !self.rows.unfinished.ascending {
            self.reorder()?;
        }
        let encoded_bytes = self.rows.arena.len() - self.rows.unfinished.from;
        // A UTF-8 byte is at most one UTF-16 unit. Nearly every entity is far below the limit and
        // need not be measured.
        let bytes_max = 4 + 2 * (partition.len() + row.len() + encoded_bytes) + count * PROPERTY_OVERHEAD_BYTES_MAX;
        if bytes_max <= ENTITY_BYTES_MAX {
            return Ok(());
        }
        let bytes = self.service_bytes(partition, row);
        if bytes <= ENTITY_BYTES_MAX {
            return Ok(());
        }
        let limit = format!("an entity has at most {ENTITY_BYTES_MAX} bytes, this has {bytes}");
        Err(Rejected::new("entity", &format!("{partition}, {row}"), Rule::EntitySize, limit))
    }

    /// Brings the properties into the order of their numbers.
    fn reorder(&mut self) -> Result<(), Rejected> {
        let unfinished = &mut self.rows.unfinished;
        let arena = &mut self.rows.arena;
        // Each property ends where the one set after it begins.
        let mut spans: Vec<(PropertyId, usize, usize)> = Vec::with_capacity(unfinished.properties.len());
        let mut end = arena.len();
        for &(property, at) in unfinished.properties.iter().rev() {
            spans.push((property, at, end));
            end = at;
        }
        spans.sort_unstable();
        if let Some(pair) = spans.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let name = self.names.name(pair[0].0);
            return Err(Rejected::new("property", &name, Rule::PropertyTwice, "an entity has each property once"));
        }
        unfinished.reordered.clear();
        for &(_, at, end) in &spans {
            unfinished.reordered.extend_from_slice(&arena[at..end]);
        }
        arena.truncate(unfinished.from);
        arena.extend_from_slice(&unfinished.reordered);
        Ok(())
    }

    /// Size of the entity begun by the service's formula: 4 + 2 bytes for each UTF-16 unit of the
    /// keys, and for each property 8 + 2 bytes for each UTF-16 unit of its name + its value.
    fn service_bytes(&self, partition: &str, row: &str) -> usize {
        let units = |text: &str| text.encode_utf16().count();
        let properties = Properties::of(&self.rows.arena[self.rows.unfinished.from..]);
        properties.fold(4 + 2 * (units(partition) + units(row)), |bytes, (id, value)| {
            bytes + 8 + 2 * units(&self.names.name(id)) + value.service_bytes(units)
        })
    }
}

impl Drop for RowBuilder<'_> {
    fn drop(&mut self) {
        self.abort();
    }
}
