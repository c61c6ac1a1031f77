//! The service's JSON: what the REST API answers and what most exports are made of.
//!
//! Accepted are pages and the other shapes of [`super::json_objects`], with all metadata levels.
//!
//! Values are typed as the service types a request body ([`super::entity_json`]): annotated ones
//! (`Name@odata.type`, before or after the property) by their annotation, from a native value or
//! its text; others by their JSON form: integers in the range of Int32 are Int32, other integers
//! Int64 if they fit (the service would read those as Double and lose digits) and else Double,
//! numbers with a point or exponent are Double (`12.0` too), texts are String. A null is an absent
//! property. Keys beginning with `odata.` and annotations other than the type are skipped, and so
//! is an object of nothing else. `Timestamp` is kept.
//!
//! An entity that is no JSON of the service, because a value is wrapped in an object or is a bare
//! `NaN`, is tried once more as tools write entities ([`super::tool_json`]) before it is refused.

mod objects;
mod writer;

use std::sync::Arc;

use self::objects::ServiceObjects;
pub(super) use self::writer::{JsonLinesWriter, PageFolder, ServiceJsonWriter};
use super::assumed::Typing;
use super::chunk::Chunk;
use super::error::Error;
use super::json_objects::{self, ObjectDecoder, PageKey};
use super::place::Place;
use super::reading::Reading;
use super::source::Source;
use super::tool_json::{JsonTool, ToolOptions};

pub(super) fn decode<E: From<Error>>(
    source: Source,
    reading: &Reading<'_>,
    sink: &mut dyn FnMut(Chunk) -> Result<(), E>,
) -> Result<(), E> {
    let (input, reader) = source.into_read()?;
    let fallback = Arc::new(ToolOptions {
        tool: JsonTool::Any,
        typing: Typing::ByForm,
        outside: None,
        defaults: Default::default(),
        types: reading.types.clone(),
        keys: None,
    });
    let object = || -> Box<dyn ObjectDecoder + '_> { Box::new(ServiceObjects::new(reading, &fallback)) };
    json_objects::decode(input, reader, Place::Line(1), PageKey::Value, &object, reading, sink)
}

#[cfg(test)]
mod tests;
