//! Decoding a document of Azurite's database into rows.

use std::sync::Arc;

use crate::assumed::Typing;
use crate::entity_json::{Decoded, EntityJsonError, RowDecoder, System, key_text, twice};
use crate::json::Parser;
use crate::json_objects::ObjectDecoder;
use crate::property_types::NumberedTypes;
use rowkey_model::DateTime;
use rowkey_model::rows::{PropertyNames, Rows};

/// Decodes documents `{"PartitionKey":…,"RowKey":…,"properties":{…},"lastModifiedTime":…}`, on one
/// thread. Everything else in them is the emulator's bookkeeping. The keys and the time beside
/// `properties` are those that the emulator answers with, whatever copies of them are among the
/// properties.
pub(super) struct DocumentDecoder {
    entity: RowDecoder,
    key: String,
    scratch: String,
}

impl DocumentDecoder {
    pub(super) fn new(names: &Arc<PropertyNames>, types: NumberedTypes) -> Self {
        let entity = RowDecoder::for_exports(names, types).with_guids_in_base64();
        Self { entity, key: String::new(), scratch: String::new() }
    }
}

impl ObjectDecoder for DocumentDecoder {
    fn decode(&mut self, text: &str, rows: &mut Rows) -> Result<(), EntityJsonError> {
        let mut parser = Parser::new(text);
        let mut system = System::default();
        let mut properties = None;
        let mut more = parser.begin_object()?;
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
                        return Err(EntityJsonError::Refused(
                            "the properties of the document are no object".to_owned(),
                        ));
                    }
                    if properties.replace(parser.skip_object()?).is_some() {
                        return Err(twice("properties"));
                    }
                }
                _ => parser.skip_value(&mut self.scratch)?,
            }
            more = parser.end_member()?;
        }
        parser.expect_end()?;
        let Some(properties) = properties else {
            return Err(EntityJsonError::Refused("the document has no properties".to_owned()));
        };
        let (start, text) = (properties.start, &text[properties]);
        match self.entity.decode_within(&system, text, rows) {
            Ok(Decoded::Entity) => Ok(()),
            Ok(Decoded::NoKeys) if self.entity.is_metadata(text)? => Ok(()),
            Ok(Decoded::NoKeys) => Err(EntityJsonError::KeyMissing("PartitionKey")),
            Err(EntityJsonError::Syntax { at, reason }) => Err(EntityJsonError::Syntax { at: start + at, reason }),
            Err(refused) => Err(refused),
        }
    }

    fn typing(&self) -> Typing {
        Typing::Exact
    }
}

/// The time of the last change; an empty text stands for none.
fn last_modified(parser: &mut Parser<'_>, scratch: &mut String) -> Result<Option<DateTime>, EntityJsonError> {
    match parser.peek() {
        Some(b'"') => match parser.string(scratch)? {
            "" => Ok(None),
            text => Ok(Some(DateTime::parse(text).map_err(|rejected| rejected.named("lastModifiedTime"))?)),
        },
        Some(b'n') => {
            parser.skip_value(scratch)?;
            Ok(None)
        }
        _ => Err(EntityJsonError::Refused("lastModifiedTime is written as a string".to_owned())),
    }
}
