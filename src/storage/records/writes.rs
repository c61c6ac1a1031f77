//! Entity writes as they lie in the log.
//!
//! ```text
//! edits      u32 length, then catalog edits in JSON; no length, no edits
//! tables     u32 count, then for each
//!   table    u64   id
//!   names    u32 count, then for each: u16 length, property name
//!   writes   u32 count, then for each
//!     key        u16 length, PartitionKey, u16 length, RowKey
//!     content    u8: 0 deleted, 1 written; if written
//!       timestamp  i64 ticks of 100 ns since 1970
//!       properties u16 count, then for each: u32 place among the names, u8 type, value
//! ```
//! A type is its [`EdmType::tag`]. Values of fixed length are little-endian;
//! Strings and Binaries have a u32 length before them. A write of a key takes the place of all
//! earlier ones; what it was before is not kept.

use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::Edit;
use crate::delta::{Locations, Version};
use rowkey_model::rows::{EncodedRow, PropertyId, PropertyNames, Rows};
use rowkey_model::{DateTime, EdmType, KeyRef, ValueRef};

const DELETED: u8 = 0;
const WRITTEN: u8 = 1;

/// What is reserved for one write.
const WRITE_BYTES_EXPECTED: usize = 128;

/// Writes to one table as they lie in a record, ready but for their Timestamp.
#[derive(Debug, Default)]
pub(crate) struct TableWrites {
    /// The table and the names.
    head: Vec<u8>,
    writes: Vec<u8>,
    /// Where the Timestamps lie in `writes`.
    timestamps_at: Vec<usize>,
}

/// Writes to one table on their way into a record.
#[derive(Debug)]
pub(crate) struct TableWriter {
    writes: Vec<u8>,
    count: usize,
    timestamps_at: Vec<usize>,
    /// Names that occur, and their places among them.
    names: Vec<PropertyId>,
    places: HashMap<PropertyId, u32>,
}

impl TableWriter {
    /// For about so many writes.
    pub(crate) fn new(count: usize) -> Self {
        Self {
            writes: Vec::with_capacity(count * WRITE_BYTES_EXPECTED),
            count: 0,
            timestamps_at: Vec::with_capacity(count),
            names: Vec::new(),
            places: HashMap::new(),
        }
    }

    pub(crate) fn delete(&mut self, key: KeyRef<'_>) {
        self.begin(key);
        self.writes.push(DELETED);
    }

    /// Begins an entity with a Timestamp to come and so many properties, each of which follows.
    pub(crate) fn begin_entity(&mut self, key: KeyRef<'_>, properties: usize) {
        self.begin(key);
        self.writes.push(WRITTEN);
        self.timestamps_at.push(self.writes.len());
        self.writes.extend_from_slice(&DateTime::MIN.ticks().to_le_bytes());
        // Bounded by the rules of the data model.
        self.writes.extend_from_slice(&(properties as u16).to_le_bytes());
    }

    /// Adds the `nth` property of the entity begun.
    pub(crate) fn property(&mut self, nth: usize, id: PropertyId, value: ValueRef<'_>) {
        // Entities of one write are mostly alike.
        let place = match self.names.get(nth) == Some(&id) {
            true => nth as u32,
            false => *self.places.entry(id).or_insert_with(|| {
                self.names.push(id);
                self.names.len() as u32 - 1
            }),
        };
        self.writes.extend_from_slice(&place.to_le_bytes());
        put_value(&mut self.writes, value);
    }

    fn begin(&mut self, key: KeyRef<'_>) {
        self.count += 1;
        put_text(&mut self.writes, key.partition);
        put_text(&mut self.writes, key.row);
    }

    /// The writes to the table of this id, whose properties have these names.
    pub(crate) fn finish(self, table: u64, names: &PropertyNames) -> TableWrites {
        let mut head = Vec::with_capacity(16 + self.names.len() * 24);
        head.extend_from_slice(&table.to_le_bytes());
        put_u32(&mut head, self.names.len());
        for id in self.names {
            put_text(&mut head, &names.name(id));
        }
        put_u32(&mut head, self.count);
        TableWrites { head, writes: self.writes, timestamps_at: self.timestamps_at }
    }
}

impl TableWrites {
    /// Gives all writes that delete nothing this Timestamp.
    pub(crate) fn set_timestamps(&mut self, timestamp: DateTime) {
        let ticks = timestamp.ticks().to_le_bytes();
        for &at in &self.timestamps_at {
            self.writes[at..at + ticks.len()].copy_from_slice(&ticks);
        }
    }

    fn bytes(&self) -> usize {
        self.head.len() + self.writes.len()
    }
}

/// Catalog edits and writes as one payload.
pub(crate) fn encode<'t>(
    edits: &[Edit],
    tables: impl ExactSizeIterator<Item = &'t TableWrites> + Clone,
) -> Result<Vec<u8>, serde_json::Error> {
    let edits = if edits.is_empty() { Vec::new() } else { serde_json::to_vec(edits)? };
    let bytes: usize = tables.clone().map(TableWrites::bytes).sum();
    let mut out = Vec::with_capacity(8 + edits.len() + bytes);
    put_u32(&mut out, edits.len());
    out.extend_from_slice(&edits);
    put_u32(&mut out, tables.len());
    for table in tables {
        out.extend_from_slice(&table.head);
        out.extend_from_slice(&table.writes);
    }
    Ok(out)
}

fn put_u32(out: &mut Vec<u8>, number: usize) {
    // Bounded by the length of a record.
    out.extend_from_slice(&(number as u32).to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    // Keys and names are bounded by the rules of the data model.
    out.extend_from_slice(&(text.len() as u16).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

fn put_value(out: &mut Vec<u8>, value: ValueRef<'_>) {
    out.push(value.edm_type().tag());
    match value {
        ValueRef::Binary(bytes) => {
            put_u32(out, bytes.len());
            out.extend_from_slice(bytes);
        }
        ValueRef::Boolean(value) => out.push(u8::from(value)),
        ValueRef::DateTime(at) => out.extend_from_slice(&at.ticks().to_le_bytes()),
        ValueRef::Double(value) => out.extend_from_slice(&value.to_bits().to_le_bytes()),
        ValueRef::Guid(guid) => out.extend_from_slice(guid.as_bytes()),
        ValueRef::Int32(value) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::Int64(value) => out.extend_from_slice(&value.to_le_bytes()),
        ValueRef::String(text) => {
            put_u32(out, text.len());
            out.extend_from_slice(text.as_bytes());
        }
    }
}

/// One write read back.
#[derive(Debug)]
pub(crate) struct Write<'a> {
    pub key: KeyRef<'a>,
    /// Timestamp and properties, each with its place among the names; `None` if the entity is gone.
    pub content: Option<(DateTime, Vec<(u32, ValueRef<'a>)>)>,
}

/// The writes to one table, read back.
#[derive(Debug)]
pub(crate) struct TableRecord<'a> {
    pub table: u64,
    pub names: Vec<&'a str>,
    pub writes: Vec<Write<'a>>,
}

impl TableRecord<'_> {
    /// The versions that these writes make, properties numbered by `names`.
    pub(crate) fn versions(&self, names: &PropertyNames) -> Result<Vec<Arc<Version>>, String> {
        let ids: Vec<PropertyId> = self.names.iter().map(|name| names.intern(name)).collect();
        let mut rows = Rows::new();
        for Write { key, content } in &self.writes {
            let (timestamp, properties) = match content {
                Some((timestamp, properties)) => (Some(*timestamp), properties.as_slice()),
                None => (None, &[][..]),
            };
            let properties = properties.iter().filter_map(|&(place, value)| Some((*ids.get(place as usize)?, value)));
            rows.push(names, *key, timestamp, properties).map_err(|error| error.to_string())?;
        }
        let version = |(row, write): (EncodedRow, &Write<'_>)| match write.content {
            Some(_) => Version::written(row, Locations::unknown()),
            None => Version::deleted(row, Locations::unknown()),
        };
        Ok(rows.to_encoded().zip(&self.writes).map(version).collect())
    }
}

/// Takes a payload apart: catalog edits, and writes by table. The error says what is wrong with it.
pub(crate) fn decode(payload: &[u8]) -> Result<(Vec<Edit>, Vec<TableRecord<'_>>), String> {
    let mut input = Input(payload);
    let bytes = input.u32()? as usize;
    let edits = input.take(bytes)?;
    let edits = match edits {
        [] => Vec::new(),
        edits => serde_json::from_slice(edits).map_err(|error| format!("it holds no catalog edits: {error}"))?,
    };
    let mut tables = Vec::new();
    for _ in 0..input.u32()? {
        let table = u64::from_le_bytes(input.fixed()?);
        let mut names = Vec::new();
        for _ in 0..input.u32()? {
            names.push(input.text()?);
        }
        let mut writes = Vec::new();
        for _ in 0..input.u32()? {
            writes.push(input.write(names.len())?);
        }
        tables.push(TableRecord { table, names, writes });
    }
    if !input.0.is_empty() {
        return Err(format!("{} bytes follow the last write", input.0.len()));
    }
    Ok((edits, tables))
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], String> {
        let ends = || "it ends within a write".to_owned();
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or_else(ends)?;
        self.0 = rest;
        Ok(taken)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut fixed = [0; N];
        fixed.copy_from_slice(self.take(N)?);
        Ok(fixed)
    }

    fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from_le_bytes(self.fixed()?))
    }

    fn text(&mut self) -> Result<&'a str, String> {
        let bytes = u16::from_le_bytes(self.fixed()?);
        text(self.take(usize::from(bytes))?)
    }

    fn write(&mut self, names: usize) -> Result<Write<'a>, String> {
        let (partition, row) = (self.text()?, self.text()?);
        let key = KeyRef { partition, row };
        match self.fixed()? {
            [DELETED] => return Ok(Write { key, content: None }),
            [WRITTEN] => {}
            [other] => return Err(format!("the write of {:?} has the unknown content {other}", key.to_key())),
        }
        let timestamp = DateTime::from_ticks(i64::from_le_bytes(self.fixed()?));
        let count = u16::from_le_bytes(self.fixed()?);
        let mut properties = Vec::with_capacity(usize::from(count));
        for _ in 0..count {
            let place = self.u32()?;
            if place as usize >= names {
                return Err(format!("property {place} of {:?} has no name", key.to_key()));
            }
            properties.push((place, self.value()?));
        }
        Ok(Write { key, content: Some((timestamp, properties)) })
    }

    fn value(&mut self) -> Result<ValueRef<'a>, String> {
        let [tag] = self.fixed()?;
        let edm = EdmType::of_tag(tag).ok_or_else(|| format!("a value has the unknown type {tag}"))?;
        Ok(match edm {
            EdmType::Binary => {
                let bytes = self.u32()? as usize;
                ValueRef::Binary(self.take(bytes)?)
            }
            EdmType::Boolean => ValueRef::Boolean(self.fixed::<1>()? != [0]),
            EdmType::DateTime => ValueRef::DateTime(DateTime::from_ticks(i64::from_le_bytes(self.fixed()?))),
            EdmType::Double => ValueRef::Double(f64::from_bits(u64::from_le_bytes(self.fixed()?))),
            EdmType::Guid => ValueRef::Guid(uuid::Uuid::from_bytes(self.fixed()?)),
            EdmType::Int32 => ValueRef::Int32(i32::from_le_bytes(self.fixed()?)),
            EdmType::Int64 => ValueRef::Int64(i64::from_le_bytes(self.fixed()?)),
            EdmType::String => {
                let bytes = self.u32()? as usize;
                ValueRef::String(text(self.take(bytes)?)?)
            }
        })
    }
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|error| format!("a text is not UTF-8: {error}"))
}

#[cfg(test)]
mod tests;
