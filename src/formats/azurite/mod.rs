//! The database file of Azurite, the emulator of the service: `__azurite_db_table__.json`.
//!
//! It is one JSON document, mostly on one line, with a collection for each table of each account,
//! which is named `account$Table` and holds a document for each entity. [`tables`] reads the file
//! once, in bounded memory, and tells where in it each table's documents lie; each is then decoded
//! as an input of its own. Entities are in the order in which they were inserted.
//!
//! Properties are annotated behind their values. Whole Doubles are written as integers with an
//! annotation, Guids as base64 of their text (by older releases as they are), and the time of an
//! entity is `lastModifiedTime`. The emulator writes the file every few seconds, under another name
//! first: an open file never changes.

mod json_stream;
mod outline;
mod section;

use std::fs::File;
use std::sync::{Arc, Mutex};

use super::decode::Chunk;
use super::error::Error;
use super::place::Place;
use super::reading::Reading;
use super::service_json;
use super::source::Source;
use outline::outline;
pub(super) use section::Section;

/// A table in a file that holds several.
#[derive(Debug)]
pub struct StoredTable {
    pub account: String,
    /// As it was created.
    pub table: String,
    /// Its entities.
    pub source: Source,
}

/// The tables of a database, in the order of the file.
pub(super) fn tables(input: Arc<str>, file: File) -> Result<Vec<StoredTable>, Error> {
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
    service_json::decode_documents(input, Box::new(section), start, reading, sink)
}

#[cfg(test)]
mod tests;
