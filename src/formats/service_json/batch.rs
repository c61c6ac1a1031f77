//! Decoding a batch of entities.

use std::sync::{Arc, Mutex, PoisonError};

use super::entity::{EntityDecoder, Fault};
use super::framer::newlines;
use super::shape::trim_line;
use crate::formats::decode::Chunk;
use crate::formats::error::{Error, Place, Reject};
use crate::rows::{PropertyNames, Rows};

/// Whole entities of an input, in a piece of its text.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) text: Vec<u8>,
    /// Line of the first byte.
    pub(super) first_line: u64,
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

/// Buffers of batches that were decoded, to be filled again: fresh memory is paid for page by page.
#[derive(Debug, Default)]
pub(super) struct SpareBuffers(Mutex<Vec<Vec<u8>>>);

impl SpareBuffers {
    /// An empty buffer.
    pub(super) fn take(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    pub(super) fn give(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
    }
}

/// Decodes batches, on one thread.
pub(super) struct BatchDecoder {
    input: Arc<str>,
    entity: EntityDecoder,
    /// Rows and bytes of the last batch's rows, which the next one's will be like.
    expected: (usize, usize),
}

impl BatchDecoder {
    pub(super) fn new(input: Arc<str>, names: &Arc<PropertyNames>) -> Self {
        Self { input, entity: EntityDecoder::new(names), expected: (0, 0) }
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
        let mut line = batch.first_line;
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
                    Some(text) => self.entity.decode(&text[from..from + entity.len()], &mut chunk.rows),
                    None => self.decode_bytes(entity, chunk),
                };
                if let Err(Fault::Refused(reason) | Fault::Syntax { reason, .. }) = result {
                    chunk.reject(|| self.reject(line, reason));
                }
            }
            at = end + 1;
            line += 1;
        }
    }

    fn decode_entities(
        &mut self,
        batch: &Batch,
        text: Option<&str>,
        entities: &[(u32, u32)],
        chunk: &mut Chunk,
    ) -> Result<(), Error> {
        // Lines are counted up to the last reject only, each byte once.
        let (mut line, mut counted) = (batch.first_line, 0);
        for &(from, to) in entities {
            let (from, to) = (from as usize, to as usize);
            let result = match text {
                Some(text) => self.entity.decode(&text[from..to], &mut chunk.rows),
                None => self.decode_bytes(&batch.text[from..to], chunk),
            };
            let Err(fault) = result else { continue };
            line += newlines(&batch.text[counted..from]);
            counted = from;
            match fault {
                Fault::Refused(reason) => chunk.reject(|| self.reject(line, reason)),
                Fault::Syntax { at, reason } => {
                    let line = line + newlines(&batch.text[from..to.min(from + at)]);
                    return Err(Error::Syntax { input: Arc::clone(&self.input), line, reason });
                }
            }
        }
        Ok(())
    }

    fn decode_bytes(&mut self, entity: &[u8], chunk: &mut Chunk) -> Result<(), Fault> {
        match std::str::from_utf8(entity) {
            Ok(text) => self.entity.decode(text, &mut chunk.rows),
            Err(error) => {
                Err(Fault::Refused(format!("the text is not UTF-8 from byte {} of the entity on", error.valid_up_to())))
            }
        }
    }

    fn reject(&self, line: u64, reason: String) -> Reject {
        Reject { input: Arc::clone(&self.input), place: Place::Line(line), reason }
    }
}
