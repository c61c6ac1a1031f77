//! The service's JSON: what the REST API answers and what most exports are made of.
//!
//! Accepted are pages (`{"odata.metadata":…,"value":[…]}`, also several in a row), arrays of entities, and entities one
//! after another, separated by white space or commas; with all metadata levels and an optional byte order mark. Where
//! the first line is one entity and no line in the first chunk is a lone bracket, the input is taken as *lines*
//! (NDJSON): each line stands for itself, and one that is no JSON is rejected alone. In every other shape text that is
//! no JSON ends the input with an error, because it cannot be known where the next entity begins.
//!
//! Values are typed as the service types a request body: annotated ones (`Name@odata.type`, before or after the
//! property) by their annotation, from a native value or its text; others by their JSON form: integers in the range of
//! Int32 are Int32, other integers Int64 if they fit (the service would read those as Double and lose digits) and else
//! Double, numbers with a point or exponent are Double (`12.0` too), texts are String. A null is an absent property.
//! Keys beginning with `odata.` and annotations other than the type are skipped. `Timestamp` is kept.

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

use self::batch::{Batch, BatchDecoder, ObjectDecoder};
use self::document::DocumentDecoder;
use self::entity::EntityDecoder;
use self::framer::Framer;
pub(super) use self::object_scan::ObjectScan;
pub(super) use self::writer::{JsonLinesWriter, PageFolder, ServiceJsonWriter};
use super::decode::{Chunk, DecodeOptions, Progress};
use super::error::Error;
use super::ordered;
use super::place::Place;
use super::source::Source;
use super::spare_buffers::SpareBuffers;
use crate::rows::PropertyNames;

/// Longest text of an entity, in bytes; a longer one is rejected without being held. (An entity has at most 1 MiB as
/// the service counts; escapes and white space make its text longer.)
pub(super) const ENTITY_TEXT_BYTES_MAX: usize = 16 << 20;

pub(super) fn decode<E: From<Error>>(
    source: Source,
    names: &Arc<PropertyNames>,
    options: &DecodeOptions,
    progress: &Progress,
    sink: &mut dyn FnMut(Chunk) -> Result<(), E>,
) -> Result<(), E> {
    let (input, reader) = source.into_read();
    let object = || ObjectDecoder::Entity(EntityDecoder::new(names));
    decode_objects(input, reader, Place::Line(1), &object, options, progress, sink)
}

/// Decodes an array of documents as Azurite stores them, from text that begins at `start`.
pub(super) fn decode_documents<E: From<Error>>(
    input: Arc<str>,
    reader: Box<dyn Read + Send>,
    start: Place,
    names: &Arc<PropertyNames>,
    options: &DecodeOptions,
    progress: &Progress,
    sink: &mut dyn FnMut(Chunk) -> Result<(), E>,
) -> Result<(), E> {
    let object = || ObjectDecoder::Document(DocumentDecoder::new(names));
    decode_objects(input, reader, start, &object, options, progress, sink)
}

fn decode_objects<E: From<Error>>(
    input: Arc<str>,
    reader: Box<dyn Read + Send>,
    start: Place,
    object: &(dyn Fn() -> ObjectDecoder + Sync),
    options: &DecodeOptions,
    progress: &Progress,
    sink: &mut dyn FnMut(Chunk) -> Result<(), E>,
) -> Result<(), E> {
    let spare = Arc::new(SpareBuffers::default());
    let mut framer =
        Framer::new(Arc::clone(&input), reader, start, Arc::clone(&spare), options.chunk_bytes, ENTITY_TEXT_BYTES_MAX);
    let produce = move || framer.next_batch(progress);
    let worker = || BatchDecoder::new(Arc::clone(&input), object());
    let work = |decoder: &mut BatchDecoder, batch: Batch| {
        let chunk = decoder.decode(&batch)?;
        spare.give(batch.text);
        Ok(chunk)
    };
    ordered::run(options.threads, produce, worker, work, sink)
}

#[cfg(test)]
mod tests;
