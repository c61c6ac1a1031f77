//! The binary format of COPY: a header, tuples of fields with their lengths, and an end.

use std::ops::Range;

use super::reader::{LINE_BYTES_MAX, ROOM_KEPT_BYTES};
use rowkey_base::{Error, Result, SqlState};

const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// The signature, no flags, and no bytes of an extension.
pub(super) const HEADER: [u8; 19] = *b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// In the place of a tuple's number of fields.
pub(super) const END_OF_TUPLES: [u8; 2] = (-1_i16).to_be_bytes();

/// Tuples have oids, which no table has since PostgreSQL 12.
const FLAG_OIDS: u32 = 1 << 16;

/// Collects bytes and gives them tuple by tuple.
#[derive(Debug)]
pub(super) struct Tuples {
    /// How many fields a tuple has to have.
    width: usize,
    buffer: Vec<u8>,
    /// Where what was not read yet begins.
    from: usize,
    state: State,
    /// The fields of the tuple as far as they were read, counted from `tuple`.
    fields: Vec<Option<Range<usize>>>,
    /// Where the fields of the last whole tuple begin.
    tuple: usize,
    /// How many tuples were begun.
    count: u64,
}

/// What is read next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Header,
    /// So many bytes of the header are passed over.
    Extension(usize),
    Tuple,
    /// The fields of a tuple, from so many bytes behind its beginning on.
    Fields(usize),
    Ended,
}

/// Where the input is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    Header,
    Tuple,
    /// By its place in the tuple.
    Field(usize),
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(SqlState::BAD_COPY_FILE_FORMAT, message)
}

impl Tuples {
    pub(super) fn new(width: usize) -> Self {
        let fields = Vec::with_capacity(width);
        Self { width, buffer: Vec::new(), from: 0, state: State::Header, fields, tuple: 0, count: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.from > 0 {
            self.buffer.drain(..self.from);
            self.from = 0;
            // A long tuple does not keep its room.
            self.buffer.shrink_to(ROOM_KEPT_BYTES);
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Bytes that were not read yet.
    pub(super) fn rest_bytes(&self) -> usize {
        self.buffer.len() - self.from
    }

    /// The number of the tuple that is being read, from 1.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// A field of the tuple that was read last; `None` is NULL.
    pub(super) fn field(&self, place: usize) -> Option<&[u8]> {
        let field = self.fields.get(place)?.clone()?;
        self.buffer.get(self.tuple + field.start..self.tuple + field.end)
    }

    /// Where an error belongs that was just given.
    pub(super) fn at(&self) -> At {
        match self.state {
            State::Header | State::Extension(_) => At::Header,
            State::Tuple | State::Ended => At::Tuple,
            State::Fields(_) => At::Field(self.fields.len()),
        }
    }

    /// Reads on to the end of a tuple; false if there are not enough bytes.
    pub(super) fn next(&mut self) -> Result<bool> {
        loop {
            match self.state {
                State::Header => match self.read_header()? {
                    Some(extension) => self.state = State::Extension(extension),
                    None => return Ok(false),
                },
                State::Extension(left) => {
                    let passed = left.min(self.rest_bytes());
                    self.from += passed;
                    if passed < left {
                        self.state = State::Extension(left - passed);
                        return Ok(false);
                    }
                    self.state = State::Tuple;
                }
                State::Tuple => {
                    let Some(count) = self.bytes_at(0).map(i16::from_be_bytes) else { return Ok(false) };
                    self.count += 1;
                    self.from += size_of::<i16>();
                    if count == -1 {
                        self.state = State::Ended;
                        continue;
                    }
                    if usize::try_from(count) != Ok(self.width) {
                        return Err(wrong(format!("row field count is {count}, expected {}", self.width)));
                    }
                    self.fields.clear();
                    self.state = State::Fields(0);
                }
                State::Fields(at) => {
                    if !self.read_fields(at)? {
                        return Ok(false);
                    }
                    return Ok(true);
                }
                State::Ended if self.rest_bytes() > 0 => return Err(wrong("received copy data after EOF marker")),
                State::Ended => return Ok(false),
            }
        }
    }

    /// What is wrong with an input that ends here. It need not have an end of its own.
    pub(super) fn finish(&self) -> Result<()> {
        let header = match (self.state, self.rest_bytes()) {
            (State::Tuple | State::Ended, _) | (State::Extension(0), _) => return Ok(()),
            (State::Fields(_), _) => return Err(wrong("unexpected EOF in COPY data")),
            (State::Extension(_), _) => "wrong length",
            (State::Header, 0..11) => return Err(wrong("COPY file signature not recognized")),
            (State::Header, 11..15) => "missing flags",
            (State::Header, _) => "missing length",
        };
        Err(wrong(format!("invalid COPY file header ({header})")))
    }

    fn bytes_at<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        let from = self.from + at;
        self.buffer.get(from..from + N)?.try_into().ok()
    }

    /// Reads the header as far as it is there; gives the length of its extension.
    fn read_header(&mut self) -> Result<Option<usize>> {
        let known = &self.buffer[self.from..];
        if !known.iter().zip(SIGNATURE).all(|(byte, expected)| byte == expected) {
            return Err(wrong("COPY file signature not recognized"));
        }
        let Some(flags) = self.bytes_at(SIGNATURE.len()).map(u32::from_be_bytes) else { return Ok(None) };
        if flags & FLAG_OIDS != 0 {
            return Err(wrong("invalid COPY file header (WITH OIDS)"));
        }
        if flags >> 16 != 0 {
            return Err(wrong("unrecognized critical flags in COPY file header"));
        }
        let Some(extension) = self.bytes_at(SIGNATURE.len() + 4).map(i32::from_be_bytes) else { return Ok(None) };
        let extension = usize::try_from(extension).map_err(|_| wrong("invalid COPY file header (missing length)"))?;
        self.from += HEADER.len();
        Ok(Some(extension))
    }

    /// Reads fields up to the end of the tuple; false if there are not enough bytes. No field is
    /// waited for that makes the tuple too long.
    fn read_fields(&mut self, mut at: usize) -> Result<bool> {
        while self.fields.len() < self.width {
            self.state = State::Fields(at);
            let Some(length) = self.bytes_at(at).map(i32::from_be_bytes) else { return Ok(false) };
            let start = at + size_of::<i32>();
            if length == -1 {
                self.fields.push(None);
                at = start;
                continue;
            }
            let end = start + usize::try_from(length).map_err(|_| wrong("invalid field size"))?;
            if end > LINE_BYTES_MAX {
                let message = format!("a row of COPY is longer than {} MiB", LINE_BYTES_MAX >> 20);
                return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
            }
            if self.rest_bytes() < end {
                return Ok(false);
            }
            self.fields.push(Some(start..end));
            at = end;
        }
        self.tuple = self.from;
        self.from += at;
        self.state = State::Tuple;
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
