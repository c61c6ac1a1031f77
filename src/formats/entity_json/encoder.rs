//! Encoding one entity.

use super::address::TableAddress;
use super::level::MetadataLevel;
use super::object_writer::{Head, ObjectWriter};
use rowkey_model::Entity;
use rowkey_model::columns::{EntityView, PARTITION_KEY, ROW_KEY, TIMESTAMP};

/// Encodes entities of one table at one metadata level (Table service specification, sections 1.4
/// and 2.5).
///
/// The members are the metadata of the level, the system properties, then the properties by name;
/// an annotation stands right before its property. The text is UTF-8 on one line.
///
/// ```
/// use rowkey_formats::entity_json::{EntityEncoder, MetadataLevel, TableAddress};
/// use rowkey_model::{EntityBuilder, Key};
///
/// let orders = TableAddress::in_azure("acct", "Orders");
/// let encoder = EntityEncoder::new(MetadataLevel::None, &orders);
/// let order = EntityBuilder::new(Key::new("p", "r")).property("N", 5_i64).property("D", 1.5).build()?;
/// let mut json = Vec::new();
/// encoder.encode(&order, &order.etag(), &mut json);
/// assert_eq!(
///     String::from_utf8(json).unwrap(),
///     r#"{"PartitionKey":"p","RowKey":"r","Timestamp":"1601-01-01T00:00:00Z","D":1.5,"N":"5"}"#
/// );
/// # Ok::<(), rowkey_model::Rejected>(())
/// ```
#[derive(Debug)]
pub struct EntityEncoder {
    writer: ObjectWriter,
    /// The names of the properties that are written, in their order; none writes all.
    select: Option<Vec<String>>,
}

impl EntityEncoder {
    /// The address is written at the levels [`MetadataLevel::Minimal`] and [`MetadataLevel::Full`].
    pub fn new(level: MetadataLevel, table: &TableAddress) -> Self {
        Self { writer: ObjectWriter::new(level, Some(table.clone())), select: None }
    }

    /// One that writes these properties in this order, and null for those that an entity lacks
    /// (section 2.8); `suffix` stands behind the context of a single entity.
    pub fn selecting(level: MetadataLevel, table: &TableAddress, select: &[String], suffix: &str) -> Self {
        let writer = ObjectWriter::new(level, Some(table.clone())).with_context_suffix(suffix);
        Self { writer, select: Some(select.to_vec()) }
    }

    /// Appends an entity as the answer to a point query or an insert, with `odata.metadata` of its
    /// own. `etag` is written at the levels that have one; it is [`Entity::etag`] where it is the
    /// service's.
    pub fn encode(&self, entity: &Entity, etag: &str, out: &mut Vec<u8>) {
        self.encode_as(entity, Some(etag), false, out);
    }

    /// Appends an entity as an element of a feed, whose `odata.metadata` stands before its array
    /// ([`TableAddress::feed_context`]); its ETag is that of its Timestamp.
    pub fn encode_in_feed(&self, entity: &dyn EntityView, out: &mut Vec<u8>) {
        let etag = self.writer.has_etags().then(|| Entity::etag_of(entity.timestamp()));
        self.encode_as(entity, etag.as_deref(), true, out);
    }

    fn encode_as(&self, entity: &dyn EntityView, etag: Option<&str>, is_in_feed: bool, out: &mut Vec<u8>) {
        let (key, timestamp) = (entity.key(), entity.timestamp());
        let head = Head { key, timestamp: Some(timestamp), etag, is_in_feed };
        self.writer.begin(out, head);
        let Some(select) = &self.select else {
            self.writer.system(out, head);
            entity.each_property(&mut |name, value| self.writer.property_of_name(out, name, value));
            self.writer.end(out);
            return;
        };
        for name in select {
            match (name.as_str(), entity.property(name)) {
                (PARTITION_KEY, _) => self.writer.key(out, name, key.partition),
                (ROW_KEY, _) => self.writer.key(out, name, key.row),
                (TIMESTAMP, _) => self.writer.timestamp(out, timestamp),
                (_, Some(value)) => self.writer.property_of_name(out, name, value),
                (_, None) => self.writer.null(out, name),
            }
        }
        self.writer.end(out);
    }
}
