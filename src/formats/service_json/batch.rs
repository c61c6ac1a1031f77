//! Decoding a batch of entities.

use std::sync::Arc;

use super::document::DocumentDecoder;
use super::entity::{EntityDecoder, Fault};
use super::shape::trim_line;
use crate::formats::decode::Chunk;
use crate::formats::error::{Error, Reject};
use crate::formats::place::Place;
use crate::rows::Rows;

/// Whole entities of an input, in a piece of its text.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) text: Vec<u8>,
    /// Where the text begins.
    pub(super) start: Place,
    pub(super) content: Content,
    /// Entities that were too long to be held.
    pub(super) oversized: Vec<Reject>,
}

#[derive(Debug)]
pub(super) enum Content {
    /// One entity a line.
    Lines,
    /// Where the entities lie in the text.
    Entities(Vec<(u32, u32)>),
}

/// Decodes the objects of a batch.
pub(super) enum ObjectDecoder {
    /// Entities as the service writes them.
    Entity(EntityDecoder),
    /// Documents of Azurite's database, with an entity in each.
    Document(DocumentDecoder),
}

impl ObjectDecoder {
    #[inline]
    fn decode(&mut self, text: &str, rows: &mut Rows) -> Result<(), Fault> {
        match self {
            ObjectDecoder::Entity(decoder) => decoder.decode(text, rows),
            ObjectDecoder::Document(decoder) => decoder.decode(text, rows),
        }
    }
}

/// Decodes batches, on one thread.
pub(super) struct BatchDecoder {
    input: Arc<str>,
    object: ObjectDecoder,
    /// Rows and bytes of the last batch's rows, which the next one's will be like.
    expected: (usize, usize),
}

impl BatchDecoder {
    pub(super) fn new(input: Arc<str>, object: ObjectDecoder) -> Self {
        Self { input, object, expected: (0, 0) }
    }

    pub(super) fn decode(&mut self, batch: &Batch) -> Result<Chunk, Error> {
        let (rows, bytes) = self.expected;
        let mut chunk = Chunk { rows: Rows::with_capacity(rows, bytes), ..Chunk::default() };
        batch.oversized.iter().for_each(|reject| chunk.reject(|| reject.clone()));
        // Text is checked once for the whole batch; if that fails, entity by entity.
        let text = std::str::from_utf8(&batch.text).ok();
        match &batch.content {
            Content::Lines => self.decode_lines(batch, text, &mut chunk),
            Content::Entities(entities) => self.decode_entities(batch, text, entities, &mut chunk)?,
        }
        self.expected = (chunk.rows.len(), chunk.rows.bytes());
        chunk.rows.sort();
        Ok(chunk)
    }

    fn decode_lines(&mut self, batch: &Batch, text: Option<&str>, chunk: &mut Chunk) {
        let mut at = 0;
        let mut places = Places::of(batch);
        while at < batch.text.len() {
            let newline = match text {
                Some(text) => text[at..].find('\n'),
                None => batch.text[at..].iter().position(|&b| b == b'\n'),
            };
            let end = newline.map_or(batch.text.len(), |bytes| at + bytes);
            let whole = &batch.text[at..end];
            let entity = trim_line(whole);
            if !entity.is_empty() {
                let from = at + (whole.len() - whole.trim_ascii_start().len());
                let result = match text {
                    Some(text) => self.object.decode(&text[from..from + entity.len()], &mut chunk.rows),
                    None => self.decode_bytes(entity, chunk),
                };
                if let Err(Fault::Refused(reason) | Fault::Syntax { reason, .. }) = result {
                    let place = places.of_byte(at);
                    chunk.reject(|| self.reject(place, reason));
                }
            }
            at = end + 1;
        }
    }

    fn decode_entities(
        &mut self,
        batch: &Batch,
        text: Option<&str>,
        entities: &[(u32, u32)],
        chunk: &mut Chunk,
    ) -> Result<(), Error> {
        let mut places = Places::of(batch);
        for &(from, to) in entities {
            let (from, to) = (from as usize, to as usize);
            let result = match text {
                Some(text) => self.object.decode(&text[from..to], &mut chunk.rows),
                None => self.decode_bytes(&batch.text[from..to], chunk),
            };
            let Err(fault) = result else { continue };
            match fault {
                Fault::Refused(reason) => {
                    let place = places.of_byte(from);
                    chunk.reject(|| self.reject(place, reason));
                }
                Fault::Syntax { at, reason } => {
                    let place = places.of_byte(to.min(from + at));
                    return Err(Error::Syntax { input: Arc::clone(&self.input), place, reason });
                }
            }
        }
        Ok(())
    }

    fn decode_bytes(&mut self, entity: &[u8], chunk: &mut Chunk) -> Result<(), Fault> {
        match std::str::from_utf8(entity) {
            Ok(text) => self.object.decode(text, &mut chunk.rows),
            Err(error) => {
                Err(Fault::Refused(format!("the text is not UTF-8 from byte {} of the entity on", error.valid_up_to())))
            }
        }
    }

    fn reject(&self, place: Place, reason: String) -> Reject {
        Reject { input: Arc::clone(&self.input), place, reason }
    }
}

/// Finds the places of bytes of a batch, in their order: text is counted up to the last one only, each byte once.
struct Places<'a> {
    text: &'a [u8],
    counted: usize,
    place: Place,
}

impl<'a> Places<'a> {
    fn of(batch: &'a Batch) -> Self {
        Self { text: &batch.text, counted: 0, place: batch.start }
    }

    fn of_byte(&mut self, at: usize) -> Place {
        self.place = self.place.after(&self.text[self.counted..at]);
        self.counted = at;
        self.place
    }
}
