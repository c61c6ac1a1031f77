//! Writing entities as JSON objects.

use super::address::TableAddress;
use super::level::MetadataLevel;
use crate::json::push_string;
use crate::value_text::{push_time, push_value};
use rowkey_model::{DateTime, KeyRef, ValueRef};

/// Writes entities of one table at one metadata level: `begin`, `system`, `property` for each,
/// `end`.
#[derive(Debug)]
pub(super) struct ObjectWriter {
    level: MetadataLevel,
    /// `None` leaves out what names the table.
    table: Option<Table>,
}

/// What all entities of a table have in common.
#[derive(Debug)]
struct Table {
    address: TableAddress,
    context: String,
    entity_type: String,
}

/// What stands before the properties of an entity.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head<'a> {
    pub(super) key: KeyRef<'a>,
    pub(super) timestamp: Option<DateTime>,
    pub(super) etag: Option<&'a str>,
    /// In an array of entities, which has the context of all.
    pub(super) is_in_feed: bool,
}

impl ObjectWriter {
    /// With this behind the context of a single entity.
    pub(super) fn with_context_suffix(mut self, suffix: &str) -> Self {
        if let Some(table) = &mut self.table {
            table.context.push_str(suffix);
        }
        self
    }

    pub(super) fn new(level: MetadataLevel, address: Option<TableAddress>) -> Self {
        let table = address.filter(|_| level > MetadataLevel::None).map(|address| Table {
            context: address.entity_context(),
            entity_type: address.entity_type(),
            address,
        });
        Self { level, table }
    }

    pub(super) fn begin(&self, out: &mut Vec<u8>, head: Head<'_>) {
        let is_full = self.level == MetadataLevel::Full;
        out.push(b'{');
        if let Some(table) = self.table.as_ref().filter(|_| !head.is_in_feed) {
            text(out, "odata.metadata", &table.context);
        }
        let url = self.table.as_ref().filter(|_| is_full).map(|table| {
            let url = table.address.entity_url(head.key);
            text(out, "odata.type", &table.entity_type);
            text(out, "odata.id", &url);
            url
        });
        if let Some(etag) = head.etag.filter(|_| self.has_etags()) {
            text(out, "odata.etag", etag);
        }
        if let (Some(url), Some(table)) = (&url, &self.table) {
            text(out, "odata.editLink", table.address.relative(url));
        }
    }

    /// Writes the system properties.
    pub(super) fn system(&self, out: &mut Vec<u8>, head: Head<'_>) {
        text(out, "PartitionKey", head.key.partition);
        text(out, "RowKey", head.key.row);
        if let Some(at) = head.timestamp {
            self.timestamp(out, at);
        }
    }

    /// Writes one of the keys.
    pub(super) fn key(&self, out: &mut Vec<u8>, name: &str, value: &str) {
        text(out, name, value);
    }

    pub(super) fn timestamp(&self, out: &mut Vec<u8>, at: DateTime) {
        if self.level == MetadataLevel::Full {
            text(out, "Timestamp@odata.type", "Edm.DateTime");
        }
        comma(out);
        out.extend_from_slice(b"\"Timestamp\":\"");
        push_time(out, at);
        out.push(b'"');
    }

    /// Writes a property that the entity lacks.
    pub(super) fn null(&self, out: &mut Vec<u8>, name: &str) {
        comma(out);
        push_string(out, name);
        out.extend_from_slice(b":null");
    }

    /// Writes a property by its name.
    pub(super) fn property_of_name(&self, out: &mut Vec<u8>, name: &str, value: ValueRef<'_>) {
        let is_annotated = self.is_annotated(value);
        comma(out);
        let from = out.len();
        push_name(out, name);
        if is_annotated {
            let member = from..out.len();
            annotate(out, value);
            out.extend_from_within(member);
        }
        self.value(out, value);
    }

    /// Whether the type of a value stands before it.
    fn is_annotated(&self, value: ValueRef<'_>) -> bool {
        self.level > MetadataLevel::None && is_text(value)
    }

    /// Whether objects have ETags.
    pub(super) fn has_etags(&self) -> bool {
        self.level > MetadataLevel::None
    }

    /// Writes a property; `name` is that of its member in JSON, from the opening quote to before
    /// the closing one: `"Name`.
    pub(super) fn property(&self, out: &mut Vec<u8>, name: &[u8], value: ValueRef<'_>) {
        comma(out);
        out.extend_from_slice(name);
        if self.is_annotated(value) {
            annotate(out, value);
            out.extend_from_slice(name);
        }
        self.value(out, value);
    }

    /// Writes what stands behind a name.
    fn value(&self, out: &mut Vec<u8>, value: ValueRef<'_>) {
        out.extend_from_slice(b"\":");
        match value {
            ValueRef::String(text) => push_string(out, text),
            value if is_text(value) => {
                out.push(b'"');
                push_value(out, value);
                out.push(b'"');
            }
            value => push_value(out, value),
        }
    }

    pub(super) fn end(&self, out: &mut Vec<u8>) {
        out.push(b'}');
    }
}

/// Whether a value is a text in JSON whose type the text does not tell (section 1.4).
fn is_text(value: ValueRef<'_>) -> bool {
    match value {
        ValueRef::Boolean(_) | ValueRef::Int32(_) | ValueRef::String(_) => false,
        ValueRef::Double(number) => !number.is_finite(),
        ValueRef::Binary(_) | ValueRef::DateTime(_) | ValueRef::Guid(_) | ValueRef::Int64(_) => true,
    }
}

/// Writes the type of a value behind the name of its annotation.
fn annotate(out: &mut Vec<u8>, value: ValueRef<'_>) {
    out.extend_from_slice(b"@odata.type\":\"Edm.");
    out.extend_from_slice(value.edm_type().name().as_bytes());
    out.extend_from_slice(b"\",");
}

/// Before every member but the first of an object.
fn comma(out: &mut Vec<u8>) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
}

/// Writes a member whose name needs no escapes.
fn text(out: &mut Vec<u8>, name: &str, text: &str) {
    comma(out);
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
    push_string(out, text);
}

/// The name of a property as [`ObjectWriter::property`] takes it.
pub(super) fn push_name(to: &mut Vec<u8>, name: &str) {
    push_string(to, name);
    to.pop();
}
