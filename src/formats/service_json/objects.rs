//! The objects of service JSON: entities, and what stands beside them.

use std::sync::Arc;

use crate::assumed::Typing;
use crate::entity_json::{Decoded, EntityJsonError, RowDecoder};
use crate::json::Parser;
use crate::json_objects::ObjectDecoder;
use crate::reading::Reading;
use crate::reject_line::{RECORD, refused_record};
use crate::tool_json::{ToolDecoder, ToolOptions};
use rowkey_model::rows::Rows;

/// Decodes entities as the service writes them; those that it does not write, as tools do.
pub(super) struct ServiceObjects<'a> {
    entity: RowDecoder,
    fallback: ToolDecoder<'a>,
}

impl<'a> ServiceObjects<'a> {
    pub(super) fn new(reading: &Reading<'a>, fallback: &Arc<ToolOptions>) -> Self {
        let entity = RowDecoder::for_exports(reading.names, reading.types.clone());
        Self { entity, fallback: ToolDecoder::new(Arc::clone(fallback), reading) }
    }

    /// Refuses an object without keys that is more than metadata.
    fn check_metadata(&mut self, text: &str) -> Result<(), EntityJsonError> {
        if let Some(record) = record_of_reject(text)? {
            return Err(EntityJsonError::Refused(refused_record(&record)));
        }
        if self.entity.is_metadata(text)? { Ok(()) } else { Err(EntityJsonError::KeyMissing("PartitionKey")) }
    }
}

impl ObjectDecoder for ServiceObjects<'_> {
    fn decode(&mut self, text: &str, rows: &mut Rows) -> Result<(), EntityJsonError> {
        match self.entity.decode(text, rows) {
            Ok(Decoded::Entity) => Ok(()),
            Ok(Decoded::NoKeys) => self.check_metadata(text),
            Err(error) if error.is_foreign() => self.fallback.decode(text, rows).map_err(|_| error),
            Err(error) => Err(error),
        }
    }

    fn typing(&self) -> Typing {
        if self.entity.is_typed() { Typing::Exact } else { Typing::ByForm }
    }
}

/// The text of a member that stands in for an entity which was rejected, if there is one.
fn record_of_reject(text: &str) -> Result<Option<String>, EntityJsonError> {
    let mut parser = Parser::new(text);
    let mut scratch = String::new();
    let mut more = parser.begin_object()?;
    while more {
        let is_record = parser.string(&mut scratch)? == RECORD;
        parser.skip_space();
        parser.expect(b':')?;
        parser.skip_space();
        if is_record && parser.peek() == Some(b'"') {
            return Ok(Some(parser.string(&mut scratch)?.to_owned()));
        }
        parser.skip_value(&mut scratch)?;
        more = parser.end_member()?;
    }
    Ok(None)
}
