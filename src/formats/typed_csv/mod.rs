//! The CSV of Azure Storage Explorer, all generations, and of the tools that write the same.
//!
//! The first line names the columns: `PartitionKey`, `RowKey`, `Timestamp` if there is one, and
//! properties in any order. The column `P@type` has the types of the values in `P` (`Edm.Int64` or
//! `Int64`). Delimiters are a comma, a semicolon, a tab or a bar: the one that makes the keys
//! columns of the first line. Text is quoted as in RFC 4180; only a quote at the beginning of a
//! value quotes it. Lines end in LF or CRLF; a carriage return elsewhere is part of its value,
//! quoted or not, as older releases write it. Where the first line ends in a carriage return alone,
//! all do.
//!
//! A value is typed by the cell beside it. Where that is empty, by the first type that stands in
//! its column up to there, as newer releases annotate the first entity only; without any, it is a
//! String. An empty value is an absent property, unless the cell beside it says String (an empty
//! text) or Binary (an empty one). Values of geography types are kept as text. Files that went
//! through a spreadsheet may have `TRUE` and a blank before the `Z` of a time.
//!
//! Files without types are read as well: their values are Strings, unless the user names types.
//! What pandas writes of a value of the SDK with a type of its own (`EntityProperty(value=…,
//! edm_type=…)`) has that type, and its index, a first column without a name, is not read. Keys may
//! be made of other columns.
//!
//! A record that breaks a rule, or that has more or fewer values than the first line, is rejected
//! alone.

mod batch;
mod cell;
mod fields;
mod framer;
mod header;
mod writer;

use std::sync::Arc;

use self::batch::{Batch, BatchDecoder};
use self::framer::Framer;
pub(super) use self::header::is_header;
pub(super) use self::writer::TypedCsvWriter;
use super::chunk::Chunk;
use super::error::Error;
use super::ordered;
use super::reading::Reading;
use super::source::Source;
use super::spare_buffers::SpareBuffers;

/// Longest text of a record, in bytes; a longer one is rejected without being held.
const RECORD_BYTES_MAX: usize = 16 << 20;

pub(super) fn decode<E: From<Error>>(
    source: Source,
    reading: &Reading<'_>,
    sink: &mut dyn FnMut(Chunk) -> Result<(), E>,
) -> Result<(), E> {
    let column_types = source.column_types().cloned();
    let (input, reader) = source.into_read()?;
    let spare = Arc::new(SpareBuffers::default());
    let chunk_bytes = reading.options.chunk_bytes;
    let mut framer = Framer::new(Arc::clone(&input), reader, Arc::clone(&spare), chunk_bytes, RECORD_BYTES_MAX);
    let header = Arc::new(framer.read_header(column_types.as_deref(), reading)?);
    let produce = || framer.next_batch(&header, reading);
    let worker = || BatchDecoder::new(Arc::clone(&input), Arc::clone(&header), reading);
    let work = |decoder: &mut BatchDecoder<'_>, batch: Batch| {
        let chunk = decoder.decode(&batch);
        spare.give(batch.text);
        Ok(chunk)
    };
    ordered::run(reading.options.threads, produce, worker, work, sink)
}

#[cfg(test)]
mod tests;
