//! Reading the tokens of JSON from text.

use std::ops::Range;

use super::error::JsonError;
use super::object_scan::ObjectScan;

/// A place in the text of one object.
#[derive(Debug, Clone)]
pub(crate) struct Parser<'a> {
    text: &'a str,
    at: usize,
}

/// A number as it is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Number<'a> {
    pub(crate) text: &'a str,
    /// False if it has a point or an exponent.
    pub(crate) is_integer: bool,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes().get(self.at).copied()
    }

    #[inline]
    pub(crate) fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    /// Takes `byte` if it is the next one.
    #[inline]
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let next = self.peek() == Some(byte);
        self.at += usize::from(next);
        next
    }

    /// Takes `token` if it comes next.
    #[inline]
    pub(crate) fn eat_token(&mut self, token: &[u8]) -> bool {
        let next = self.bytes()[self.at..].starts_with(token);
        if next {
            self.at += token.len();
        }
        next
    }

    #[inline]
    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.eat(byte) { Ok(()) } else { Err(self.unexpected(&format!("\"{}\"", char::from(byte).escape_debug()))) }
    }

    /// Reads an opening brace; true if a member follows.
    pub(crate) fn begin_object(&mut self) -> Result<bool, JsonError> {
        self.skip_space();
        self.expect(b'{')?;
        self.skip_space();
        Ok(!self.eat(b'}'))
    }

    /// Reads what is behind a value; true if another member follows.
    #[inline]
    pub(crate) fn end_member(&mut self) -> Result<bool, JsonError> {
        self.skip_space();
        if self.eat(b',') {
            self.skip_space();
            return Ok(true);
        }
        if self.eat(b'}') { Ok(false) } else { Err(self.unexpected("\",\" or \"}\"")) }
    }

    /// Refuses anything but white space up to the end.
    pub(crate) fn expect_end(&mut self) -> Result<(), JsonError> {
        self.skip_space();
        if self.at == self.text.len() { Ok(()) } else { Err(self.unexpected("the end of the entity")) }
    }

    /// A syntax error at this place.
    pub(crate) fn unexpected(&self, wanted: &str) -> JsonError {
        let shown: String = self.text.get(self.at..).unwrap_or_default().chars().take(20).collect();
        let reason = if shown.is_empty() {
            format!("{wanted} was expected, the text ends")
        } else {
            format!("{wanted} was expected, this is \"{}\"", shown.escape_debug())
        };
        JsonError::Syntax { at: self.at, reason }
    }

    /// Reads a string; `scratch` holds it if it has escapes.
    #[inline]
    pub(crate) fn string<'s>(&mut self, scratch: &'s mut String) -> Result<&'s str, JsonError>
    where
        'a: 's,
    {
        self.expect(b'"')?;
        let start = self.at;
        self.at = string_stop(self.bytes(), start);
        if self.eat(b'"') {
            return Ok(&self.text[start..self.at - 1]);
        }
        self.escaped_string(start, scratch)?;
        Ok(scratch)
    }

    /// Reads a string that has no escapes; otherwise reads nothing.
    pub(crate) fn plain_string(&mut self) -> Option<&'a str> {
        let start = self.at + 1;
        let stop = string_stop(self.bytes(), start);
        if self.peek() != Some(b'"') || self.bytes().get(stop) != Some(&b'"') {
            return None;
        }
        self.at = stop + 1;
        Some(&self.text[start..stop])
    }

    /// Reads on in a string that began at `start`, from the first byte that is not plain.
    fn escaped_string(&mut self, start: usize, scratch: &mut String) -> Result<(), JsonError> {
        scratch.clear();
        scratch.push_str(&self.text[start..self.at]);
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    scratch.push(self.escape()?);
                }
                Some(_) => return Err(self.unexpected("an escape instead of a control character")),
                None => return Err(self.unexpected("the end of a string")),
            }
            let plain = self.at;
            self.at = string_stop(self.bytes(), plain);
            scratch.push_str(&self.text[plain..self.at]);
        }
    }

    /// The character of an escape, whose backslash was read.
    fn escape(&mut self) -> Result<char, JsonError> {
        let Some(letter) = self.peek() else { return Err(self.unexpected("an escape")) };
        let plain = match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode_escape();
            }
            _ => return Err(self.unexpected("an escape (one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u)")),
        };
        self.at += 1;
        Ok(plain)
    }

    fn unicode_escape(&mut self) -> Result<char, JsonError> {
        let first = self.four_digits()?;
        let code = match first {
            0xd800..0xdc00 if self.eat_token(b"\\u") => {
                let second = self.four_digits()?;
                if !(0xdc00..0xe000).contains(&second) {
                    return Err(JsonError::LoneSurrogate(first));
                }
                0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            code => code,
        };
        char::from_u32(code).ok_or(JsonError::LoneSurrogate(code))
    }

    fn four_digits(&mut self) -> Result<u32, JsonError> {
        let digits = self.bytes().get(self.at..self.at + 4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let Some(digits) = digits else { return Err(self.unexpected("four hexadecimal digits")) };
        self.at += 4;
        Ok(digits.iter().fold(0, |code, &digit| code << 4 | char::from(digit).to_digit(16).unwrap_or(0)))
    }

    /// Reads a number, by the grammar of JSON.
    #[inline]
    pub(crate) fn number(&mut self) -> Result<Number<'a>, JsonError> {
        let start = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        let integer_end = self.at;
        if self.eat(b'.') {
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        // "01" and "1x" end here, and what follows is refused as no comma or bracket.
        Ok(Number { text: &self.text[start..self.at], is_integer: self.at == integer_end })
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(self.unexpected("a digit")) }
    }

    /// Reads `true`, `false` or `null`.
    pub(crate) fn literal(&mut self) -> Result<Option<bool>, JsonError> {
        for (token, value) in [(&b"true"[..], Some(true)), (b"false", Some(false)), (b"null", None)] {
            if self.eat_token(token) {
                return Ok(value);
            }
        }
        Err(self.unexpected("a value"))
    }

    /// Skips an object, whose opening brace comes next, and gives its place in the text. What is in
    /// it is not checked.
    pub(crate) fn skip_object(&mut self) -> Result<Range<usize>, JsonError> {
        if self.peek() != Some(b'{') {
            return Err(self.unexpected("an object"));
        }
        let start = self.at;
        let Some(bytes) = ObjectScan::default().advance(&self.bytes()[start..]) else {
            self.at = self.text.len();
            return Err(self.unexpected("the end of an object"));
        };
        self.at += bytes;
        Ok(start..self.at)
    }

    /// Skips a value of any kind. What is inside arrays and objects is only checked for its strings
    /// and brackets.
    pub(crate) fn skip_value(&mut self, scratch: &mut String) -> Result<(), JsonError> {
        let mut depth = 0u64;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.string(scratch)?;
                }
                Some(b'{' | b'[') => {
                    self.at += 1;
                    depth += 1;
                }
                Some(b'}' | b']') if depth > 0 => {
                    self.at += 1;
                    depth -= 1;
                }
                Some(b',' | b':' | b' ' | b'\t' | b'\r' | b'\n') if depth > 0 => self.at += 1,
                Some(b'-' | b'0'..=b'9') => {
                    self.number()?;
                }
                _ => {
                    self.literal()?;
                }
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }
}

/// Where a string's plain text stops: the first quote, backslash or control character from `at` on,
/// or the end.
#[inline]
fn string_stop(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*word);
        let zero_byte = |word: u64| word.wrapping_sub(ONES) & !word;
        let quote = zero_byte(word ^ (ONES * b'"' as u64));
        let backslash = zero_byte(word ^ (ONES * b'\\' as u64));
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        // Borrows make only bytes above the first hit wrong.
        let stops = (quote | backslash | control) & HIGH_BITS;
        if stops != 0 {
            return at + stops.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests;
