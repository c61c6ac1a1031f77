//! Cutting a stream of JSON into batches of whole entities.

use std::io::Read;
use std::sync::Arc;

use super::batch::{Batch, Content};
use super::shape::{HeadEvent, HeadScan, PageKey, looks_like_lines};
use crate::error::{Error, Reject};
use crate::json::ObjectScan;
use crate::notes::WarningKind;
use crate::place::Place;
use crate::reading::Reading;
use crate::spare_buffers::SpareBuffers;

/// Reads a stream and hands it on in batches of about `batch_bytes`, each of whole entities.
pub(super) struct Framer {
    input: Arc<str>,
    reader: Box<dyn Read + Send>,
    spare: Arc<SpareBuffers>,
    batch_bytes: usize,
    entity_bytes_max: usize,
    /// Text read and not handed on.
    buffer: Vec<u8>,
    /// How much of the buffer was scanned.
    scanned: usize,
    /// Where the buffer begins, as a line or a byte.
    start: Place,
    page: PageKey,
    /// True once a page said that there are more of them.
    is_continued: bool,
    shape: Shape,
    ended: bool,
    /// Entities found in the buffer.
    entities: Vec<(u32, u32)>,
    oversized: Vec<Reject>,
}

/// Whether what follows the last line end is the beginning of an object.
fn ends_inside_entity(text: &[u8]) -> bool {
    let last = text.rsplit(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
    last.first() == Some(&b'{') && ObjectScan::default().advance(last).is_none()
}

enum Shape {
    /// Nothing was read.
    Unknown,
    /// One entity a line; true while an oversized line is being skipped.
    Lines {
        skipping: bool,
    },
    Nested(State),
}

/// Where a scan of nested JSON stands.
enum State {
    /// Between top-level values.
    Outside,
    /// In a top-level object that begins at `start` of the buffer and is an entity, or a page.
    Head { start: usize, head: HeadScan, is_page: bool, skipping: bool },
    /// In an array of entities; `page` is the page that holds it.
    Array { page: Option<HeadScan>, wants: Wants },
    /// In an entity of such an array.
    Entity { start: usize, scan: ObjectScan, page: Option<HeadScan>, skipping: bool },
}

/// Least text that the shape is detected from.
const SHAPE_BYTES: usize = 64 << 10;

/// What an array goes on with.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wants {
    EntityOrEnd,
    Entity,
    CommaOrEnd,
}

impl Framer {
    pub(super) fn new(
        input: Arc<str>,
        reader: Box<dyn Read + Send>,
        start: Place,
        page: PageKey,
        spare: Arc<SpareBuffers>,
        batch_bytes: usize,
        entity_bytes_max: usize,
    ) -> Self {
        Self {
            input,
            reader,
            spare,
            batch_bytes: batch_bytes.clamp(1, 1 << 30),
            entity_bytes_max,
            buffer: Vec::new(),
            scanned: 0,
            start,
            page,
            is_continued: false,
            shape: Shape::Unknown,
            ended: false,
            entities: Vec::new(),
            oversized: Vec::new(),
        }
    }

    /// The next batch; `None` at the end of the input.
    pub(super) fn next_batch(&mut self, reading: &Reading<'_>) -> Result<Option<Batch>, Error> {
        loop {
            self.fill(reading)?;
            if let Shape::Unknown = self.shape {
                let lines = looks_like_lines(&self.buffer, self.ended, self.page);
                self.shape = if lines { Shape::Lines { skipping: false } } else { Shape::Nested(State::Outside) };
                if self.buffer.starts_with(b"\xef\xbb\xbf") {
                    self.buffer.drain(..3);
                }
            }
            let batch = match self.shape {
                Shape::Lines { skipping } => {
                    if self.ended && !skipping && ends_inside_entity(&self.buffer) {
                        let reason = "the last line ends inside an entity: the export is incomplete";
                        reading.notes.warn(WarningKind::Truncated, reason);
                    }
                    self.cut_lines(skipping)
                }
                _ => self.cut_entities()?,
            };
            if self.ended && std::mem::take(&mut self.is_continued) {
                let reason =
                    "the last page says where the next one begins, and that is not here: the export is incomplete";
                reading.notes.warn(WarningKind::Truncated, reason);
            }
            if batch.is_some() || self.ended {
                return Ok(batch);
            }
        }
    }

    /// Reads until the buffer has a batch's size, or half as much again as it has.
    fn fill(&mut self, reading: &Reading<'_>) -> Result<(), Error> {
        if self.ended {
            return Ok(());
        }
        let first = if matches!(self.shape, Shape::Unknown) { SHAPE_BYTES } else { 1 };
        let wanted = self.batch_bytes.max(first).saturating_sub(self.buffer.len()).max(self.buffer.len() / 2).max(1);
        self.buffer.reserve(wanted);
        let read = self
            .reader
            .by_ref()
            .take(wanted as u64)
            .read_to_end(&mut self.buffer)
            .map_err(|source| Error::Read { input: Arc::clone(&self.input), source })?;
        reading.progress.add_bytes_read(read as u64);
        self.ended = read < wanted;
        Ok(())
    }

    fn cut_lines(&mut self, mut skipping: bool) -> Option<Batch> {
        if skipping {
            // Drop the rest of an oversized line.
            let end = self.buffer.iter().position(|&b| b == b'\n');
            self.buffer.drain(..end.unwrap_or(self.buffer.len()));
            skipping = end.is_none();
        }
        let end = if self.ended {
            self.buffer.len()
        } else {
            self.buffer.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1)
        };
        if end == 0 && self.buffer.len() > self.entity_bytes_max {
            self.reject_oversized(self.start);
            self.buffer.clear();
            skipping = true;
        }
        self.shape = Shape::Lines { skipping };
        if end == 0 && self.oversized.is_empty() {
            return None;
        }
        Some(self.cut(end, Content::Lines))
    }

    fn cut_entities(&mut self) -> Result<Option<Batch>, Error> {
        self.scan()?;
        let buffered = self.buffer.len();
        let partial = match &mut self.shape {
            Shape::Nested(
                State::Head { start, is_page: false, skipping, .. } | State::Entity { start, skipping, .. },
            ) => Some((start, skipping)),
            _ => None,
        };
        let mut end = buffered;
        if let Some((start, skipping)) = partial {
            let newly_oversized = !*skipping && buffered - *start > self.entity_bytes_max;
            if newly_oversized {
                *skipping = true;
                let place = self.start.after(&self.buffer[..*start]);
                self.reject_oversized(place);
            } else if !*skipping {
                end = *start;
                *start = 0;
            }
        }
        if self.ended {
            match self.shape {
                Shape::Nested(State::Outside) | Shape::Unknown | Shape::Lines { .. } => {}
                Shape::Nested(_) => {
                    let reason = "the input ends inside an array or object; it is incomplete";
                    return Err(self.syntax(self.buffer.len(), reason.to_owned()));
                }
            }
        }
        let entities = std::mem::take(&mut self.entities);
        if entities.is_empty() && self.oversized.is_empty() {
            self.drop_front(end);
            return Ok(None);
        }
        Ok(Some(self.cut(end, Content::Entities(entities))))
    }

    /// Hands on the buffer up to `end`.
    fn cut(&mut self, end: usize, content: Content) -> Batch {
        let mut rest = self.spare.take();
        rest.extend_from_slice(&self.buffer[end..]);
        let mut text = std::mem::replace(&mut self.buffer, rest);
        text.truncate(end);
        self.scanned = self.scanned.saturating_sub(end);
        let start = self.start;
        self.start = start.after(&text);
        Batch { text, start, content, oversized: std::mem::take(&mut self.oversized) }
    }

    fn drop_front(&mut self, end: usize) {
        self.start = self.start.after(&self.buffer[..end]);
        self.buffer.drain(..end);
        self.scanned -= end;
    }

    fn reject_oversized(&mut self, place: Place) {
        let reason = format!("the text of an entity has at most {} bytes, this has more", self.entity_bytes_max);
        self.oversized.push(Reject { input: Arc::clone(&self.input), place, reason });
    }

    /// What is wrong at byte `at` of the buffer.
    fn syntax(&self, at: usize, reason: String) -> Error {
        Error::Syntax { input: Arc::clone(&self.input), place: self.start.after(&self.buffer[..at]), reason }
    }

    /// Scans what was read since the last time.
    fn scan(&mut self) -> Result<(), Error> {
        let Shape::Nested(state) = &mut self.shape else { return Ok(()) };
        let mut state = std::mem::replace(state, State::Outside);
        let mut at = self.scanned;
        while at < self.buffer.len() {
            (state, at) = self.step(state, at)?;
        }
        self.scanned = at;
        self.shape = Shape::Nested(state);
        Ok(())
    }

    /// Goes on from byte `at` to where the state changes, or to the end of the buffer.
    fn step(&mut self, state: State, at: usize) -> Result<(State, usize), Error> {
        let byte = self.buffer[at];
        match state {
            State::Outside => match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b',' => Ok((State::Outside, at + 1)),
                b'{' => {
                    Ok((State::Head { start: at, head: HeadScan::new(self.page), is_page: false, skipping: false }, at))
                }
                b'[' => Ok((State::Array { page: None, wants: Wants::EntityOrEnd }, at + 1)),
                _ => Err(self.unexpected(at, "an entity, a page or an array")),
            },
            State::Head { start, mut head, is_page, skipping } => {
                for (i, &byte) in self.buffer[at..].iter().enumerate() {
                    let next = at + i + 1;
                    match head.step(byte) {
                        None => {}
                        Some(HeadEvent::Value) => {
                            return Ok((State::Array { page: Some(head), wants: Wants::EntityOrEnd }, next));
                        }
                        Some(HeadEvent::End) => {
                            if is_page {
                                self.is_continued = head.is_continued();
                            } else if !skipping {
                                self.entities.push((start as u32, next as u32));
                            }
                            return Ok((State::Outside, next));
                        }
                    }
                }
                Ok((State::Head { start, head, is_page, skipping }, self.buffer.len()))
            }
            State::Array { page, wants } => match (byte, wants) {
                (b' ' | b'\t' | b'\r' | b'\n', _) => Ok((State::Array { page, wants }, at + 1)),
                (b',', Wants::CommaOrEnd) => Ok((State::Array { page, wants: Wants::Entity }, at + 1)),
                (b'{', Wants::Entity | Wants::EntityOrEnd) => {
                    Ok((State::Entity { start: at, scan: ObjectScan::default(), page, skipping: false }, at))
                }
                (b']', Wants::CommaOrEnd | Wants::EntityOrEnd) => Ok(match page {
                    Some(head) => (State::Head { start: at, head, is_page: true, skipping: false }, at + 1),
                    None => (State::Outside, at + 1),
                }),
                (_, Wants::CommaOrEnd) => Err(self.unexpected(at, "a comma or the end of the array")),
                _ => Err(self.unexpected(at, "an entity")),
            },
            State::Entity { start, mut scan, page, skipping } => match scan.advance(&self.buffer[at..]) {
                Some(bytes) => {
                    if !skipping {
                        self.entities.push((start as u32, (at + bytes) as u32));
                    }
                    Ok((State::Array { page, wants: Wants::CommaOrEnd }, at + bytes))
                }
                None => Ok((State::Entity { start, scan, page, skipping }, self.buffer.len())),
            },
        }
    }

    fn unexpected(&self, at: usize, wanted: &str) -> Error {
        let shown: String =
            String::from_utf8_lossy(&self.buffer[at..self.buffer.len().min(at + 40)]).chars().take(20).collect();
        self.syntax(at, format!("{wanted} was expected, this is \"{}\"", shown.escape_debug()))
    }
}
