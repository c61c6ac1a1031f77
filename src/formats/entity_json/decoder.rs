//! Decoding one entity.

use std::borrow::Cow;
use std::sync::Arc;

use super::error::EntityJsonError;
use super::row_decoder::{Decoded, RowDecoder};
use super::rules::Rules;
use super::system::System;
use rowkey_model::rows::{PropertyNames, Rows};
use rowkey_model::{Entity, KeyRef};

/// Names of properties that a decoder remembers; with more it starts again, so that its memory is
/// bounded.
const NAMES_MAX: usize = 1 << 12;

/// Decodes entities one by one, of any metadata level (Table service specification, section 1.5).
///
/// An annotation `Name@odata.type` gives a property's type, wherever it stands; the value is then
/// of that type's JSON form or its text. A value without one is typed by its form: text is String,
/// `true` is Boolean, an integer within its range Int32, any other number Double. A null is an
/// absent property. Members that begin with `odata.`, annotations of the keys, and annotations
/// other than types are skipped.
///
/// Keep one to decode many: it remembers the names it has met.
///
/// ```
/// use rowkey_formats::entity_json::EntityDecoder;
///
/// let body = r#"{"PartitionKey":"p","RowKey":"r","N":"5","N@odata.type":"Edm.Int64","D":1.5}"#;
/// let order = EntityDecoder::for_requests().decode(body, None)?;
/// assert_eq!((order.get("N"), order.get("D")), (Some(&5_i64.into()), Some(&1.5.into())));
/// # Ok::<(), rowkey_formats::entity_json::EntityJsonError>(())
/// ```
#[derive(Debug)]
pub struct EntityDecoder {
    rules: Rules,
    names: Arc<PropertyNames>,
    decoder: RowDecoder,
    rows: Rows,
}

impl EntityDecoder {
    /// One for the bodies of requests: Timestamp is not read, whatever its value, so that of each
    /// entity is [`DateTime::MIN`](rowkey_model::DateTime::MIN).
    pub fn for_requests() -> Self {
        Self::new(Rules::Request)
    }

    /// One for what the service answers: Timestamp is checked and kept
    /// ([`DateTime::MIN`](rowkey_model::DateTime::MIN) where there is none), and an integer beyond
    /// Int32 that has no annotation is an Int64 if it fits.
    pub fn for_answers() -> Self {
        Self::new(Rules::Answer)
    }

    fn new(rules: Rules) -> Self {
        let names = Arc::new(PropertyNames::new());
        Self { rules, decoder: RowDecoder::new(&names, rules), names, rows: Rows::new() }
    }

    /// Decodes an object, and nothing beside it. The entity obeys the rules of the data model.
    ///
    /// A `key` stands for the one that a URL names: it goes before the members PartitionKey and
    /// RowKey, which may be absent then.
    ///
    /// # Errors
    ///
    /// The first property or key that breaks a rule, or the byte from which on the text is not
    /// JSON: see [`EntityJsonError`].
    pub fn decode(&mut self, text: &str, key: Option<KeyRef<'_>>) -> Result<Entity, EntityJsonError> {
        if self.names.len() > NAMES_MAX {
            *self = Self::new(self.rules);
        }
        let mut url = System::default();
        if let Some(key) = key {
            (url.partition, url.row) = (Some(Cow::Borrowed(key.partition)), Some(Cow::Borrowed(key.row)));
        }
        self.rows.clear();
        match (self.decoder.decode_within(&url, text, &mut self.rows)?, self.rows.first()) {
            (Decoded::Entity, Some(row)) => Ok(row.to_entity(&self.names)),
            _ => Err(EntityJsonError::KeyMissing("PartitionKey")),
        }
    }
}
