//! The database file of Azurite, the emulator of the service: `__azurite_db_table__.json`.
//!
//! It is one JSON document, mostly on one line, with a collection for each table of each account,
//! which is named `account$Table` and holds a document for each entity. [`tables`] reads the file
//! once, in bounded memory, and finds where each table's documents lie; each is then decoded
//! as an input of its own. Entities are in the order in which they were inserted.
//!
//! Properties are annotated behind their values. Whole Doubles are written as integers with an
//! annotation, Guids as base64 of their text (by older releases as they are), and the time of an
//! entity is `lastModifiedTime`. The emulator writes the file every few seconds, under another name
//! first: an open file never changes.

mod document;
mod json_stream;
mod outline;

use std::fs::File;
use std::io::Read;
use std::sync::{Arc, Mutex};

use super::chunk::Chunk;
use super::error::Error;
use super::json_objects::{self, ObjectDecoder, PageKey};
use super::place::Place;
use super::reading::Reading;
use super::section::Section;
use super::source::Source;
use document::DocumentDecoder;
use outline::outline;

/// A table in a file that holds several.
#[derive(Debug)]
pub struct StoredTable {
    pub account: String,
    /// As it was created.
    pub table: String,
    /// Its entities.
    pub source: Source,
}

impl Source {
    /// The tables of a database of Azurite ([`crate::Format::AzuriteDatabase`]), in the order of
    /// the file. Reads all of it once, and is an error if it is incomplete.
    pub fn tables(self) -> Result<Vec<StoredTable>, Error> {
        let (input, file) = self.into_file("the tables of an Azurite database are read one after another")?;
        tables(input, file)
    }
}

/// The tables of a database, in the order of the file.
fn tables(input: Arc<str>, file: File) -> Result<Vec<StoredTable>, Error> {
    let file = Arc::new(Mutex::new(file));
    let whole = Section::new(Arc::clone(&file), 0..u64::MAX);
    let collections = outline(Arc::clone(&input), whole)?;
    let stored = collections.into_iter().map(|collection| {
        let name = format!("{input}, table {} of account {}", collection.table, collection.account);
        let section = Section::new(Arc::clone(&file), collection.bytes);
        StoredTable { source: Source::section(name, section), account: collection.account, table: collection.table }
    });
    Ok(stored.collect())
}

/// Decodes one table of a database.
pub(super) fn decode<E: From<Error>>(
    source: Source,
    reading: &Reading<'_>,
    sink: &mut dyn FnMut(Chunk) -> Result<(), E>,
) -> Result<(), E> {
    let (input, section) = source.into_section()?;
    let start = Place::Byte(section.start() + 1);
    decode_documents(input, Box::new(section), start, reading, sink)
}

/// Decodes an array of documents, from text that begins at `start`.
fn decode_documents<E: From<Error>>(
    input: Arc<str>,
    reader: Box<dyn Read + Send>,
    start: Place,
    reading: &Reading<'_>,
    sink: &mut dyn FnMut(Chunk) -> Result<(), E>,
) -> Result<(), E> {
    let object =
        || -> Box<dyn ObjectDecoder + '_> { Box::new(DocumentDecoder::new(reading.names, reading.types.clone())) };
    json_objects::decode(input, reader, start, PageKey::Value, &object, reading, sink)
}

#[cfg(test)]
mod tests;
