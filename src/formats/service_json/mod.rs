//! The service's JSON: what the REST API answers and what most exports are made of.
//!
//! Accepted are pages (`{"odata.metadata":…,"value":[…]}`, also several in a row), arrays of
//! entities, and entities one after another, separated by white space or commas; with all metadata
//! levels and an optional byte order mark. Where the first line is one entity and no line in the
//! first chunk is a lone bracket, the input is taken as *lines* (NDJSON): each line stands for
//! itself, and one that is no JSON is rejected alone. In every other shape text that is no JSON
//! ends the input with an error, because it cannot be known where the next entity begins.
//!
//! Values are typed as the service types a request body: annotated ones (`Name@odata.type`, before
//! or after the property) by their annotation, from a native value or its text; others by their
//! JSON form: integers in the range of Int32 are Int32, other integers Int64 if they fit (the
//! service would read those as Double and lose digits) and else Double, numbers with a point or
//! exponent are Double (`12.0` too), texts are String. A null is an absent property. Keys beginning
//! with `odata.` and annotations other than the type are skipped, and so is an object of nothing
//! else. `Timestamp` is kept.
//!
//! An entity that is no JSON of the service, because a value is wrapped in an object or is a bare
//! `NaN`, is tried once more as tools write entities ([`super::tool_json`]) before it is refused.

mod batch;
mod document;
mod entity;
mod framer;
mod keys;
mod object_scan;
mod parser;
mod shape;
mod writer;

use std::io::Read;
use std::sync::Arc;

pub(super) use self::batch::ObjectDecoder;
use self::batch::{Batch, BatchDecoder};
use self::document::DocumentDecoder;
use self::entity::EntityDecoder;
pub(super) use self::entity::{Fault, no_key_text, twice, unannotated_number};
use self::framer::Framer;
pub(super) use self::keys::{NO_ENTITY, SERVICE_ERROR};
pub(super) use self::object_scan::ObjectScan;
pub(super) use self::parser::Parser;
use self::shape::PageKey;
pub(super) use self::writer::{JsonLinesWriter, PageFolder, ServiceJsonWriter};
use super::decode::Chunk;
use super::error::Error;
use super::ordered;
use super::place::Place;
use super::reading::Reading;
use super::source::Source;
use super::spare_buffers::SpareBuffers;
use super::tool_json::{JsonTool, ToolDecoder, ToolOptions};

/// Longest text of an entity, in bytes; a longer one is rejected without being held. (An entity has
/// at most 1 MiB as the service counts; escapes and white space make its text longer.)
pub(super) const ENTITY_TEXT_BYTES_MAX: usize = 16 << 20;

pub(super) fn decode<E: From<Error>>(
    source: Source,
    reading: &Reading<'_>,
    sink: &mut dyn FnMut(Chunk) -> Result<(), E>,
) -> Result<(), E> {
    let (input, reader) = source.into_read()?;
    let fallback = Arc::new(ToolOptions {
        tool: JsonTool::Any,
        outside: None,
        defaults: Default::default(),
        types: reading.types.clone(),
        keys: None,
    });
    let object = || {
        let fallback = Box::new(ToolDecoder::new(Arc::clone(&fallback), reading));
        ObjectDecoder::Entity(EntityDecoder::new(reading.names, reading.types.clone()), fallback)
    };
    decode_objects(input, reader, Place::Line(1), PageKey::Value, &object, reading, sink)
}

/// Decodes an array of documents as Azurite stores them, from text that begins at `start`.
pub(super) fn decode_documents<E: From<Error>>(
    input: Arc<str>,
    reader: Box<dyn Read + Send>,
    start: Place,
    reading: &Reading<'_>,
    sink: &mut dyn FnMut(Chunk) -> Result<(), E>,
) -> Result<(), E> {
    let object = || ObjectDecoder::Document(DocumentDecoder::new(reading.names, reading.types.clone()));
    decode_objects(input, reader, start, PageKey::Value, &object, reading, sink)
}

/// Decodes what a tool wrote; in pages of `items` if `in_items`.
pub(super) fn decode_tool<'a, E: From<Error>>(
    source: Source,
    object: &(dyn Fn() -> ObjectDecoder<'a> + Sync),
    in_items: bool,
    reading: &Reading<'a>,
    sink: &mut dyn FnMut(Chunk) -> Result<(), E>,
) -> Result<(), E> {
    let (input, reader) = source.into_read()?;
    let page = if in_items { PageKey::Items } else { PageKey::Value };
    decode_objects(input, reader, Place::Line(1), page, object, reading, sink)
}

fn decode_objects<'a, E: From<Error>>(
    input: Arc<str>,
    reader: Box<dyn Read + Send>,
    start: Place,
    page: PageKey,
    object: &(dyn Fn() -> ObjectDecoder<'a> + Sync),
    reading: &Reading<'a>,
    sink: &mut dyn FnMut(Chunk) -> Result<(), E>,
) -> Result<(), E> {
    let spare = Arc::new(SpareBuffers::default());
    let mut framer = Framer::new(
        Arc::clone(&input),
        reader,
        start,
        page,
        Arc::clone(&spare),
        reading.options.chunk_bytes,
        ENTITY_TEXT_BYTES_MAX,
    );
    let produce = move || framer.next_batch(reading);
    let worker = || BatchDecoder::new(Arc::clone(&input), object(), reading);
    let work = |decoder: &mut BatchDecoder<'_>, batch: Batch| {
        let chunk = decoder.decode(&batch)?;
        spare.give(batch.text);
        Ok(chunk)
    };
    ordered::run(reading.options.threads, produce, worker, work, sink)
}

#[cfg(test)]
mod tests;
