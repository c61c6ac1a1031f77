//! The words of a JSON text, one after another.

use std::borrow::Cow;

use super::{Result, invalid};
use crate::types::{Error, SqlState};

/// Where in a text reading has come to.
pub(super) struct Scanner<'a> {
    pub text: &'a str,
    pub at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn since(&self, from: usize) -> &'a str {
        self.text.get(from..self.at).unwrap_or_default()
    }

    pub(super) fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    pub(super) fn take(&mut self, byte: u8) -> bool {
        let taken = self.peek() == Some(byte);
        self.at += usize::from(taken);
        taken
    }

    /// Nothing follows but blanks.
    pub(super) fn end(&mut self) -> Result<()> {
        self.blanks();
        if self.at < self.text.len() { Err(invalid()) } else { Ok(()) }
    }

    /// Whether a member of an object or an element of an array comes next; `is_first`: behind the
    /// first bracket. Passes over what stands before it, or over the last bracket.
    pub(super) fn has_item(&mut self, end: u8, is_first: bool) -> Result<bool> {
        self.blanks();
        if self.take(end) {
            return Ok(false);
        }
        if !is_first && !self.take(b',') {
            return Err(invalid());
        }
        self.blanks();
        Ok(true)
    }

    /// A key with its quotes, and the colon behind it.
    pub(super) fn key(&mut self) -> Result<&'a str> {
        let key = self.string()?;
        self.blanks();
        if !self.take(b':') {
            return Err(invalid());
        }
        self.blanks();
        Ok(key)
    }

    /// A string with its quotes.
    pub(super) fn string(&mut self) -> Result<&'a str> {
        let from = self.at;
        if !self.take(b'"') {
            return Err(invalid());
        }
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(self.since(from));
                }
                Some(b'\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
                        Some(b'u') => {
                            let digits = self.text.as_bytes().get(self.at + 1..self.at + 5).unwrap_or_default();
                            if digits.len() < 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
                                return Err(invalid());
                            }
                            self.at += 5;
                        }
                        _ => return Err(invalid()),
                    }
                }
                Some(0..=0x1f) | None => return Err(invalid()),
                Some(_) => self.at += 1,
            }
        }
    }

    fn digits(&mut self) -> Result<()> {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == from { Err(invalid()) } else { Ok(()) }
    }

    pub(super) fn number(&mut self) -> Result<&'a str> {
        let from = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _sign = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        match self.peek() {
            Some(next) if next.is_ascii_alphanumeric() || matches!(next, b'_' | b'.') || next >= 0x80 => Err(invalid()),
            _ => Ok(self.since(from)),
        }
    }

    /// `true`, `false` or `null`.
    pub(super) fn word(&mut self) -> Result<&'a str> {
        let from = self.at;
        while matches!(self.peek(), Some(byte) if byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80) {
            self.at += 1;
        }
        match self.since(from) {
            word @ ("true" | "false" | "null") => Ok(word),
            _ => Err(invalid()),
        }
    }
}

/// What a string in quotes says.
pub(super) fn decoded(quoted: &str) -> Result<Cow<'_, str>> {
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    if !inner.contains('\\') {
        return Ok(Cow::Borrowed(inner));
    }
    match serde_json::from_str::<String>(quoted) {
        Ok(text) if text.contains('\0') => {
            Err(Error::new(SqlState::UNTRANSLATABLE_CHARACTER, "unsupported Unicode escape sequence"))
        }
        Ok(text) => Ok(Cow::Owned(text)),
        // Half of a surrogate pair.
        Err(_) => Err(invalid()),
    }
}
