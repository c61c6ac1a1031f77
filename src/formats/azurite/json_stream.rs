//! Reading a JSON document of any size from front to end, skipping most of it.

use std::io::Read;
use std::sync::Arc;

use crate::error::Error;
use crate::json::ObjectScan;
use crate::place::Place;

/// Bytes read at once.
const BUFFER_BYTES: u64 = 1 << 20;

/// A place in a document of which a piece is in memory.
pub(super) struct JsonStream<R> {
    input: Arc<str>,
    reader: R,
    buffer: Vec<u8>,
    /// Byte of the document with which the buffer begins.
    start: u64,
    /// The next byte of the buffer.
    at: usize,
}

impl<R: Read> JsonStream<R> {
    pub(super) fn new(input: Arc<str>, reader: R) -> Self {
        Self { input, reader, buffer: Vec::new(), start: 0, at: 0 }
    }

    /// Bytes of the document before this place.
    pub(super) fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    /// The next byte; `None` at the end.
    fn peek(&mut self) -> Result<Option<u8>, Error> {
        if self.at == self.buffer.len() {
            self.start += self.at as u64;
            self.at = 0;
            self.buffer.clear();
            self.reader
                .by_ref()
                .take(BUFFER_BYTES)
                .read_to_end(&mut self.buffer)
                .map_err(|source| Error::Read { input: Arc::clone(&self.input), source })?;
        }
        Ok(self.buffer.get(self.at).copied())
    }

    fn next(&mut self) -> Result<u8, Error> {
        let Some(byte) = self.peek()? else {
            return Err(self.error("the input ends inside an array or object; it is incomplete".to_owned()));
        };
        self.at += 1;
        Ok(byte)
    }

    /// The next byte that is no white space, left to be read; `None` at the end.
    pub(super) fn peek_token(&mut self) -> Result<Option<u8>, Error> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                byte => return Ok(byte),
            }
        }
    }

    /// Takes `byte` if it comes next behind white space.
    pub(super) fn eat(&mut self, byte: u8) -> Result<bool, Error> {
        let next = self.peek_token()? == Some(byte);
        self.at += usize::from(next);
        Ok(next)
    }

    pub(super) fn expect(&mut self, byte: u8) -> Result<(), Error> {
        if self.eat(byte)? { Ok(()) } else { Err(self.unexpected(&format!("\"{}\"", char::from(byte)))?) }
    }

    /// What is wrong at this place: something else was wanted.
    pub(super) fn unexpected(&mut self, wanted: &str) -> Result<Error, Error> {
        if self.peek()?.is_none() {
            return Ok(self.error(format!("{wanted} was expected, the input ends; it is incomplete")));
        }
        let rest = &self.buffer[self.at..self.buffer.len().min(self.at + 40)];
        let shown: String = String::from_utf8_lossy(rest).chars().take(20).collect();
        Ok(self.error(format!("{wanted} was expected, this is \"{}\"", shown.escape_debug())))
    }

    pub(super) fn error(&self, reason: String) -> Error {
        Error::Syntax { input: Arc::clone(&self.input), place: Place::Byte(self.offset() + 1), reason }
    }

    /// Goes through the members of an object: `member` gets each key and reads the value.
    pub(super) fn object(&mut self, mut member: impl FnMut(&mut Self, &str) -> Result<(), Error>) -> Result<(), Error> {
        self.expect(b'{')?;
        if self.eat(b'}')? {
            return Ok(());
        }
        loop {
            let key = self.string(KEY_BYTES_MAX)?;
            self.expect(b':')?;
            member(self, &key)?;
            if self.eat(b'}')? {
                return Ok(());
            }
            if !self.eat(b',')? {
                return Err(self.unexpected("\",\" or \"}\"")?);
            }
        }
    }

    /// Goes through the elements of an array: `element` reads each.
    pub(super) fn array(&mut self, mut element: impl FnMut(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        self.expect(b'[')?;
        if self.eat(b']')? {
            return Ok(());
        }
        loop {
            element(self)?;
            if self.eat(b']')? {
                return Ok(());
            }
            if !self.eat(b',')? {
                return Err(self.unexpected("\",\" or \"]\"")?);
            }
        }
    }

    /// Reads a string of at most `bytes_max` bytes as it is written.
    pub(super) fn string(&mut self, bytes_max: usize) -> Result<String, Error> {
        if self.peek_token()? != Some(b'"') {
            return Err(self.unexpected("a string")?);
        }
        let mut written = vec![self.next()?];
        let mut escaping = false;
        loop {
            let byte = self.next()?;
            written.push(byte);
            match byte {
                _ if escaping => escaping = false,
                b'\\' => escaping = true,
                b'"' => break,
                _ => {}
            }
            if written.len() > bytes_max {
                return Err(self.error(format!("a name or key has at most {bytes_max} bytes, this has more")));
            }
        }
        serde_json::from_slice(&written).map_err(|error| self.error(format!("a string cannot be read: {error}")))
    }

    /// Skips a value. Of arrays and objects only the strings and brackets are looked at.
    pub(super) fn skip_value(&mut self) -> Result<(), Error> {
        match self.peek_token()? {
            Some(b'"') => self.skip_string(),
            Some(b'{' | b'[') => self.skip_brackets(),
            Some(b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                while let Some(b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'E') = self.peek()? {
                    self.at += 1;
                }
                Ok(())
            }
            _ => Err(self.unexpected("a value")?),
        }
    }

    fn skip_string(&mut self) -> Result<(), Error> {
        self.expect(b'"')?;
        loop {
            match self.next()? {
                b'\\' => {
                    self.next()?;
                }
                b'"' => return Ok(()),
                _ => {}
            }
        }
    }

    fn skip_brackets(&mut self) -> Result<(), Error> {
        let mut scan = ObjectScan::default();
        loop {
            if self.peek()?.is_none() {
                return Err(self.error("the input ends inside an array or object; it is incomplete".to_owned()));
            }
            match scan.advance(&self.buffer[self.at..]) {
                Some(bytes) => {
                    self.at += bytes;
                    return Ok(());
                }
                None => self.at = self.buffer.len(),
            }
        }
    }
}

const KEY_BYTES_MAX: usize = 1024;
