//! JSON inputs of many objects: cut into batches of whole objects, and decoded on several threads.
//!
//! Objects stand in pages (`{"odata.metadata":…,"value":[…]}`, also several in a row), in arrays,
//! or one after another, separated by white space or commas; an optional byte order mark is before
//! them. Where the first line is one object and no line in the first chunk is a lone bracket, the
//! input is taken as *lines* (NDJSON): each line stands for itself, and one that is no JSON is
//! rejected alone. In every other shape text that is no JSON ends the input with an error, because
//! it cannot be known where the next object begins.
//!
//! What an object is, an [`ObjectDecoder`] knows.

mod batch;
mod framer;
mod object;
mod shape;

use std::io::Read;
use std::sync::Arc;

use self::batch::{Batch, BatchDecoder};
use self::framer::Framer;
pub(super) use self::object::ObjectDecoder;
pub(super) use self::shape::PageKey;
use super::chunk::Chunk;
use super::error::Error;
use super::ordered;
use super::place::Place;
use super::reading::Reading;
use super::spare_buffers::SpareBuffers;

/// Longest text of an object, in bytes; a longer one is rejected without being held. (An entity has
/// at most 1 MiB as the service counts; escapes and white space make its text longer.)
const OBJECT_TEXT_BYTES_MAX: usize = 16 << 20;

/// Decodes the objects of an input whose text begins at `start`; each thread makes its own decoder
/// with `object`.
pub(super) fn decode<'a, E: From<Error>>(
    input: Arc<str>,
    reader: Box<dyn Read + Send>,
    start: Place,
    page: PageKey,
    object: &(dyn Fn() -> Box<dyn ObjectDecoder + 'a> + Sync),
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
        OBJECT_TEXT_BYTES_MAX,
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
pub(super) mod tests;
