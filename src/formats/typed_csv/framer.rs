//! Cutting a stream of CSV into batches of whole records.

use std::io::Read;
use std::sync::Arc;

use super::batch::Batch;
use super::fields::{Fields, RecordScan};
use super::header::{self, Defaults, Header};
use crate::error::{Error, Reject};
use crate::notes::WarningKind;
use crate::place::Place;
use crate::property_types::PropertyTypes;
use crate::reading::Reading;
use crate::spare_buffers::SpareBuffers;

/// Reads a stream and hands it on in batches of about `batch_bytes`, each of whole records.
pub(super) struct Framer {
    input: Arc<str>,
    reader: Box<dyn Read + Send>,
    spare: Arc<SpareBuffers>,
    batch_bytes: usize,
    record_bytes_max: usize,
    /// Text read and not handed on.
    buffer: Vec<u8>,
    /// How much of the buffer was scanned.
    scanned: usize,
    /// Where the buffer begins.
    start: Place,
    ended: bool,
    line_end: u8,
    scan: RecordScan,
    /// Where the records found in the buffer end.
    ends: Vec<u32>,
    /// Where the oversized record began that is being skipped.
    skipped: Option<Place>,
    oversized: Vec<Reject>,
    /// Types that stood in the records found so far.
    types: Types,
}

/// The first type in each column of types, in the order of the input.
#[derive(Default)]
struct Types {
    defaults: Arc<Defaults>,
    /// By column: true for columns of types without one yet.
    wanted: Vec<bool>,
    /// True if the record being scanned has a type that is wanted.
    found: bool,
    fields: Fields,
}

impl Types {
    /// Notes the types of a record. One that is rejected for its shape says nothing, here as in the
    /// decoder.
    fn end_record(&mut self, header: &Header, record: &[u8]) {
        if !std::mem::take(&mut self.found) {
            return;
        }
        let Ok(record) = std::str::from_utf8(record) else { return };
        if self.fields.split(record.as_bytes(), header.delimiter).is_err() || self.fields.len() != header.columns {
            return;
        }
        let defaults = Arc::make_mut(&mut self.defaults);
        header.learn(defaults, &self.fields, record);
        for (property, default) in header.properties.iter().zip(defaults) {
            if let (Some(types), Some(_)) = (property.types, default) {
                self.wanted[types] = false;
            }
        }
    }
}

impl Framer {
    pub(super) fn new(
        input: Arc<str>,
        reader: Box<dyn Read + Send>,
        spare: Arc<SpareBuffers>,
        batch_bytes: usize,
        record_bytes_max: usize,
    ) -> Self {
        Self {
            input,
            reader,
            spare,
            batch_bytes: batch_bytes.clamp(1, 1 << 30),
            record_bytes_max,
            buffer: Vec::new(),
            scanned: 0,
            start: Place::Line(1),
            ended: false,
            line_end: b'\n',
            scan: RecordScan::new(b',', b'\n'),
            ends: Vec::new(),
            skipped: None,
            oversized: Vec::new(),
            types: Types::default(),
        }
    }

    /// Reads the first line, before everything else.
    pub(super) fn read_header(
        &mut self,
        column_types: Option<&PropertyTypes>,
        reading: &Reading<'_>,
    ) -> Result<Header, Error> {
        let keys = reading.options.keys.as_deref();
        let mut searched = 0;
        let end = loop {
            self.fill(reading)?;
            if let Some(end) = line_of_carriage_return(&self.buffer, |line| header::is_header_with(line, keys)) {
                self.line_end = b'\r';
                break end;
            }
            if let Some(at) = self.buffer[searched..].iter().position(|&b| b == b'\n') {
                break searched + at + 1;
            }
            searched = self.buffer.len();
            if self.ended {
                break searched;
            }
            if searched > self.record_bytes_max {
                let reason = format!("the first line has at most {} bytes, this has more", self.record_bytes_max);
                return Err(self.syntax(Place::Line(1), reason));
            }
        };
        let line = &self.buffer[..end];
        let header =
            Header::read(&self.input, line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line), column_types, reading)?;
        self.buffer.drain(..end);
        self.start = Place::Line(2);
        self.scan = RecordScan::new(header.delimiter, self.line_end);
        self.types.defaults = Arc::new(header.no_defaults());
        self.types.wanted = header.typed_by.iter().map(Option::is_some).collect();
        Ok(header)
    }

    /// The next batch; `None` at the end of the input.
    pub(super) fn next_batch(&mut self, header: &Header, reading: &Reading<'_>) -> Result<Option<Batch>, Error> {
        loop {
            self.fill(reading)?;
            if self.skipped.is_some() && !self.skip_oversized()? {
                if self.ended {
                    return Ok(None);
                }
                continue;
            }
            let defaults = Arc::clone(&self.types.defaults);
            let mut end = self.find_records(header);
            let partial = self.buffer.len() - end;
            if self.ended && self.scan.is_quoted() {
                return Err(self.unfinished(self.start.after_lines(&self.buffer[..end], self.line_end)));
            }
            if partial > self.record_bytes_max {
                self.reject_oversized(end);
            } else if self.ended && partial > 0 {
                // The last line may lack its end, but not its last columns.
                let fields = &mut self.types.fields;
                if fields.split(&self.buffer[end..], header.delimiter).is_err() || fields.len() < header.columns {
                    let reason = "the last line ends before its last column: the export is incomplete";
                    reading.notes.warn(WarningKind::Truncated, reason);
                }
                end = self.buffer.len();
                self.ends.push(end as u32);
            }
            if !self.ends.is_empty() || !self.oversized.is_empty() {
                return Ok(Some(self.cut(end, defaults)));
            }
            if self.ended {
                return Ok(None);
            }
        }
    }

    /// Drops the rest of an oversized record; false if it goes on.
    fn skip_oversized(&mut self) -> Result<bool, Error> {
        let Some(from) = self.skipped else { return Ok(true) };
        let end = self.scan.advance(&self.buffer[self.scanned..], |_| {}).map(|bytes| self.scanned + bytes);
        if end.is_some() {
            self.skipped = None;
        } else if self.ended && self.scan.is_quoted() {
            return Err(self.unfinished(from));
        }
        let dropped = end.unwrap_or(self.buffer.len());
        self.start = self.start.after_lines(&self.buffer[..dropped], self.line_end);
        self.buffer.drain(..dropped);
        self.scanned = 0;
        Ok(end.is_some())
    }

    /// Scans what was read since the last time. Gives the end of the last whole record.
    fn find_records(&mut self, header: &Header) -> usize {
        let mut last = 0;
        while self.scanned < self.buffer.len() {
            let Types { wanted, found, .. } = &mut self.types;
            let filled = |column: usize| *found |= wanted.get(column).copied().unwrap_or(false);
            let Some(bytes) = self.scan.advance(&self.buffer[self.scanned..], filled) else {
                self.scanned = self.buffer.len();
                break;
            };
            self.scanned += bytes;
            self.ends.push(self.scanned as u32);
            self.types.end_record(header, &self.buffer[last..self.scanned]);
            last = self.scanned;
        }
        last
    }

    /// Hands on the buffer up to `end`.
    fn cut(&mut self, end: usize, defaults: Arc<Defaults>) -> Batch {
        let mut rest = self.spare.take();
        rest.extend_from_slice(&self.buffer[end..]);
        let mut text = std::mem::replace(&mut self.buffer, rest);
        text.truncate(end);
        self.scanned -= end;
        let start = self.start;
        self.start = start.after_lines(&text, self.line_end);
        let (ends, oversized) = (std::mem::take(&mut self.ends), std::mem::take(&mut self.oversized));
        Batch { text, start, line_end: self.line_end, ends, defaults, oversized }
    }

    /// Rejects the record that begins at byte `at` of the buffer, and has what follows skipped.
    fn reject_oversized(&mut self, at: usize) {
        let place = self.start.after_lines(&self.buffer[..at], self.line_end);
        let reason = format!("the text of a record has at most {} bytes, this has more", self.record_bytes_max);
        self.oversized.push(Reject { input: Arc::clone(&self.input), place, reason });
        self.skipped = Some(place);
    }

    fn unfinished(&self, place: Place) -> Error {
        let reason = "the input ends inside a quoted value of the record that begins here; it is incomplete";
        self.syntax(place, reason.to_owned())
    }

    fn syntax(&self, place: Place, reason: String) -> Error {
        Error::Syntax { input: Arc::clone(&self.input), place, reason }
    }

    /// Reads until the buffer has a batch's size, or half as much again as it has.
    fn fill(&mut self, reading: &Reading<'_>) -> Result<(), Error> {
        if self.ended {
            return Ok(());
        }
        let wanted = self.batch_bytes.saturating_sub(self.buffer.len()).max(self.buffer.len() / 2).max(1);
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
}

/// Where the first line ends, if that is in a carriage return alone and the line is a header:
/// otherwise it is part of a value.
fn line_of_carriage_return(text: &[u8], is_header: impl FnOnce(&[u8]) -> bool) -> Option<usize> {
    let at = text.iter().position(|&byte| byte == b'\r' || byte == b'\n').filter(|&at| text[at] == b'\r')?;
    let next = *text.get(at + 1)?;
    let line = text.strip_prefix(b"\xef\xbb\xbf").map_or(&text[..at], |_| &text[3..at]);
    (next != b'\n' && is_header(line)).then_some(at + 1)
}
