//! Decoding a document of Azurite's database into rows.

use std::sync::Arc;

use super::entity::{EntityDecoder, Fault, System, begin_object, end_member, key_text, twice};
use super::parser::Parser;
use crate::property_types::NumberedTypes;
use rowkey_model::DateTime;
use rowkey_model::rows::{PropertyNames, Rows};

/// Decodes documents `{"PartitionKey":…,"RowKey":…,"properties":{…},"lastModifiedTime":…}`, on one
/// thread. Everything else in them is the emulator's bookkeeping. The keys and the time beside
/// `properties` are those that the emulator answers with, whatever copies of them are among the
/// properties.
pub(crate) struct DocumentDecoder {
    entity: EntityDecoder,
    key: String,
    scratch: String,
}

impl DocumentDecoder {
    pub(super) fn new(names: &Arc<PropertyNames>, types: NumberedTypes) -> Self {
        Self { entity: EntityDecoder::with_guids_in_base64(names, types), key: String::new(), scratch: String::new() }
    }

    /// Appends the entity of a document to `rows`; on a fault nothing is appended.
    pub(super) fn decode(&mut self, text: &str, rows: &mut Rows) -> Result<(), Fault> {
        let mut parser = Parser::new(text);
        let mut system = System::default();
        let mut properties = None;
        let mut more = begin_object(&mut parser)?;
        while more {
            let key = parser.string(&mut self.key)?;
            parser.skip_space();
            parser.expect(b':')?;
            parser.skip_space();
            match key {
                "PartitionKey" => key_text(&mut system.partition, key, &mut parser, &mut self.scratch)?,
                "RowKey" => key_text(&mut system.row, key, &mut parser, &mut self.scratch)?,
                "lastModifiedTime" => system.timestamp = last_modified(&mut parser, &mut self.scratch)?,
                "properties" => {
                    if parser.peek() != Some(b'{') {
                        return Err(Fault::Refused("the properties of the document are no object".to_owned()));
                    }
                    if properties.replace(parser.skip_object()?).is_some() {
                        return Err(twice("properties"));
                    }
                }
                _ => parser.skip_value(&mut self.scratch)?,
            }
            more = end_member(&mut parser)?;
        }
        parser.expect_end()?;
        let Some(properties) = properties else {
            return Err(Fault::Refused("the document has no properties".to_owned()));
        };
        let start = properties.start;
        self.entity.decode_within(&system, &text[properties], rows).map_err(|fault| match fault {
            Fault::Syntax { at, reason } => Fault::Syntax { at: start + at, reason },
            refused => refused,
        })
    }
}

/// The time of the last change; an empty text stands for none.
fn last_modified(parser: &mut Parser<'_>, scratch: &mut String) -> Result<Option<DateTime>, Fault> {
    match parser.peek() {
        Some(b'"') => match parser.string(scratch)? {
            "" => Ok(None),
            text => Ok(Some(DateTime::parse(text).map_err(|rejected| rejected.named("lastModifiedTime"))?)),
        },
        Some(b'n') => parser.skip_value(scratch).map(|()| None),
        _ => Err(Fault::Refused("lastModifiedTime is written as a string".to_owned())),
    }
}
