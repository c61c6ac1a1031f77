//! Decoding a batch of entities.

use std::sync::Arc;

use super::object::ObjectDecoder;
use super::shape::trim_line;
use crate::assumed::{TypeSamples, Typing};
use crate::chunk::Chunk;
use crate::entity_json::EntityJsonError;
use crate::error::{Error, Reject};
use crate::key_columns::key_option_of_its_own;
use crate::place::Place;
use crate::reading::Reading;
use crate::reject_line;
use rowkey_model::rows::Rows;

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

/// Decodes batches, on one thread.
pub(super) struct BatchDecoder<'a> {
    input: Arc<str>,
    object: Box<dyn ObjectDecoder + 'a>,
    reading: &'a Reading<'a>,
    samples: TypeSamples,
    told_typed: bool,
    /// Rows and bytes of the last batch's rows, which the next one's will be like.
    expected: (usize, usize),
}

impl<'a> BatchDecoder<'a> {
    pub(super) fn new(input: Arc<str>, object: Box<dyn ObjectDecoder + 'a>, reading: &'a Reading<'a>) -> Self {
        Self { input, object, reading, samples: TypeSamples::default(), told_typed: false, expected: (0, 0) }
    }

    pub(super) fn decode(&mut self, batch: &Batch) -> Result<Chunk, Error> {
        let (rows, bytes) = self.expected;
        let mut chunk = Chunk { rows: Rows::with_capacity(rows, bytes), ..Chunk::default() };
        let keep = self.reading.options.keep_rejects;
        batch.oversized.iter().for_each(|reject| chunk.reject(keep, || reject.clone(), reject_line::without_text));
        // Text is checked once for the whole batch; if that fails, entity by entity.
        let text = std::str::from_utf8(&batch.text).ok();
        match &batch.content {
            Content::Lines => self.decode_lines(batch, text, &mut chunk),
            Content::Entities(entities) => self.decode_entities(batch, text, entities, &mut chunk)?,
        }
        self.expected = (chunk.rows.len(), chunk.rows.bytes());
        self.note_types(&chunk.rows);
        chunk.rows.sort();
        Ok(chunk)
    }

    /// Looks at types where the input names none.
    fn note_types(&mut self, rows: &Rows) {
        match self.object.typing() {
            Typing::Exact if self.told_typed => {}
            Typing::Exact => {
                self.told_typed = true;
                self.samples.set_typed();
                self.reading.notes.add_samples(&self.samples);
            }
            typing => self.reading.look_at(rows, typing, &mut self.samples),
        }
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
                let before = chunk.rows.len();
                let result = match text {
                    Some(text) => self.object.decode(&text[from..from + entity.len()], &mut chunk.rows),
                    None => self.decode_bytes(entity, chunk),
                };
                let place = places.of_byte(at);
                if chunk.rows.len() > before {
                    self.reading.set_origin(&mut chunk.rows, place);
                }
                if let Err(error) = result {
                    self.reject(place, reason(error), entity, chunk);
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
            let before = chunk.rows.len();
            let result = match text {
                Some(text) => self.object.decode(&text[from..to], &mut chunk.rows),
                None => self.decode_bytes(&batch.text[from..to], chunk),
            };
            let place = places.of_byte(from);
            if chunk.rows.len() > before {
                self.reading.set_origin(&mut chunk.rows, place);
            }
            match result {
                Ok(()) => {}
                Err(EntityJsonError::Syntax { at, reason }) => {
                    let place = places.of_byte(to.min(from + at));
                    return Err(Error::Syntax { input: Arc::clone(&self.input), place, reason });
                }
                Err(error) => self.reject(place, reason(error), &batch.text[from..to], chunk),
            }
        }
        Ok(())
    }

    fn decode_bytes(&mut self, entity: &[u8], chunk: &mut Chunk) -> Result<(), EntityJsonError> {
        match std::str::from_utf8(entity) {
            Ok(text) => self.object.decode(text, &mut chunk.rows),
            Err(error) => Err(EntityJsonError::Refused(format!(
                "the text is not UTF-8 from byte {} of the entity on",
                error.valid_up_to()
            ))),
        }
    }

    fn reject(&self, place: Place, reason: String, entity: &[u8], chunk: &mut Chunk) {
        let keep = self.reading.options.keep_rejects;
        let reject = || Reject { input: Arc::clone(&self.input), place, reason };
        chunk.reject(keep, reject, |reject, lines| reject_line::of_json(reject, entity, lines));
    }
}

/// Why an entity is rejected, with the option that would take it.
fn reason(error: EntityJsonError) -> String {
    match error {
        EntityJsonError::KeyIsNumber(ref key) => format!("{error}; {}", key_option_of_its_own(key)),
        EntityJsonError::Syntax { reason, .. } => reason,
        error => error.to_string(),
    }
}

/// Finds the places of bytes of a batch, in their order: text is counted up to the last one only,
/// each byte once.
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
