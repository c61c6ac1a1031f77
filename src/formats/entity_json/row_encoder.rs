//! Encoding rows, whose properties are numbered.

use std::sync::Arc;

use super::address::TableAddress;
use super::level::MetadataLevel;
use super::object_writer::{Head, ObjectWriter, push_name};
use rowkey_model::Entity;
use rowkey_model::rows::{PropertyNames, RowRef};

/// Encodes rows as the entities of a feed.
pub(crate) struct RowEncoder {
    writer: ObjectWriter,
    names: Arc<PropertyNames>,
    has_etags: bool,
    /// By number of the property: its name as it begins a member.
    members: Vec<Vec<u8>>,
}

impl RowEncoder {
    /// With full metadata; the ETag is that of the Timestamp.
    pub(crate) fn full(names: &Arc<PropertyNames>, address: TableAddress) -> Self {
        Self::new(names, ObjectWriter::new(MetadataLevel::Full, Some(address)), true)
    }

    /// With minimal metadata and without an ETag.
    pub(crate) fn minimal(names: &Arc<PropertyNames>) -> Self {
        Self::new(names, ObjectWriter::new(MetadataLevel::Minimal, None), false)
    }

    fn new(names: &Arc<PropertyNames>, writer: ObjectWriter, has_etags: bool) -> Self {
        Self { writer, names: Arc::clone(names), has_etags, members: Vec::new() }
    }

    pub(crate) fn encode(&mut self, row: RowRef<'_>, out: &mut Vec<u8>) {
        let timestamp = row.timestamp();
        let etag = timestamp.filter(|_| self.has_etags).map(Entity::etag_of);
        let head = Head { key: row.key(), timestamp, etag: etag.as_deref(), is_in_feed: true };
        self.writer.begin(out, head);
        self.writer.system(out, head);
        for (id, value) in row.properties() {
            if self.members.len() <= id.index() {
                self.members.resize(id.index() + 1, Vec::new());
            }
            let member = &mut self.members[id.index()];
            if member.is_empty() {
                push_name(member, &self.names.name(id));
            }
            self.writer.property(out, member, value);
        }
        self.writer.end(out);
    }
}
