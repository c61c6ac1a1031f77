//! Splitting the input of COPY FROM into lines and fields.

use super::options::{CopyFormat, CopyOptions};
use rowkey_base::{Error, Result, SqlState};

/// Longest line or tuple, in bytes: an entity has at most 1 MiB, its text form several times that.
pub(super) const LINE_BYTES_MAX: usize = 16 << 20;

/// Room for lines that is kept, in bytes.
pub(super) const ROOM_KEPT_BYTES: usize = 1 << 20;

/// Collects bytes and gives them line by line.
#[derive(Debug, Default)]
pub(super) struct Lines {
    buffer: Vec<u8>,
    /// Where the next line begins.
    from: usize,
    /// Up to where the buffer was looked through.
    looked: usize,
    /// In CSV: whether a quoted field is open at `looked`.
    quoted: bool,
}

impl Lines {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.from > 0 {
            self.buffer.drain(..self.from);
            self.looked -= self.from;
            self.from = 0;
            // A long line does not keep its room.
            self.buffer.shrink_to(ROOM_KEPT_BYTES);
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Bytes of the line that has no end yet.
    pub(super) fn rest_bytes(&self) -> usize {
        self.buffer.len() - self.from
    }

    /// The next line that is there as a whole, without its end. In CSV, line ends in quotes are no
    /// ends.
    pub(super) fn next(&mut self, options: &CopyOptions) -> Result<Option<std::ops::Range<usize>>> {
        let mut at = self.looked;
        while at < self.buffer.len() {
            let byte = self.buffer[at];
            if options.format == CopyFormat::Csv {
                if self.quoted && byte == options.escape && options.escape != options.quote {
                    // The escaped byte has to be there too.
                    if at + 1 >= self.buffer.len() {
                        break;
                    }
                    at += 2;
                    continue;
                }
                if byte == options.quote {
                    self.quoted = !self.quoted;
                }
                if byte != b'\n' || self.quoted {
                    at += 1;
                    continue;
                }
            } else if byte == b'\\' {
                if at + 1 >= self.buffer.len() {
                    break;
                }
                at += 2;
                continue;
            } else if byte != b'\n' {
                at += 1;
                continue;
            }
            let line = self.from..self.without_return(at);
            (self.from, self.looked) = (at + 1, at + 1);
            return Ok(Some(line));
        }
        self.looked = at;
        if self.buffer.len() - self.from > LINE_BYTES_MAX {
            let message = format!("a line of COPY is longer than {} MiB", LINE_BYTES_MAX >> 20);
            return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        Ok(None)
    }

    /// What is left at the end: a line without an end.
    pub(super) fn rest(&mut self) -> Result<Option<std::ops::Range<usize>>> {
        if self.quoted {
            return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, "unterminated CSV quoted field"));
        }
        let line = self.from..self.without_return(self.buffer.len());
        self.from = self.buffer.len();
        Ok((!line.is_empty()).then_some(line))
    }

    /// What has no end yet.
    pub(super) fn unended(&self) -> &[u8] {
        &self.buffer[self.from..]
    }

    pub(super) fn bytes(&self, line: std::ops::Range<usize>) -> &[u8] {
        &self.buffer[line]
    }

    fn without_return(&self, end: usize) -> usize {
        if end > self.from && self.buffer[end - 1] == b'\r' { end - 1 } else { end }
    }
}

/// The fields of one line, each in a place that is used again for the next.
#[derive(Debug, Default)]
pub(super) struct Fields {
    bytes: Vec<u8>,
    /// End of each field in `bytes`, and whether it is NULL.
    ends: Vec<(usize, bool)>,
}

impl Fields {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// A field; None is NULL.
    pub(super) fn get(&self, place: usize) -> Result<Option<&str>> {
        let Some(&(end, is_null)) = self.ends.get(place) else { return Ok(None) };
        let from = place.checked_sub(1).map_or(0, |before| self.ends[before].0);
        if is_null {
            return Ok(None);
        }
        let text = std::str::from_utf8(&self.bytes[from..end]).map_err(|_| {
            Error::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"")
        })?;
        Ok(Some(text))
    }

    pub(super) fn read(&mut self, line: &[u8], options: &CopyOptions) -> Result<()> {
        self.bytes.clear();
        self.ends.clear();
        if options.format == CopyFormat::Csv { self.read_csv(line, options) } else { self.read_text(line, options) }
    }

    fn read_text(&mut self, line: &[u8], options: &CopyOptions) -> Result<()> {
        let mut at = 0;
        loop {
            let (start, raw) = (self.bytes.len(), at);
            while at < line.len() && line[at] != options.delimiter {
                if line[at] == b'\\' && at + 1 < line.len() {
                    at = self.unescape(line, at + 1);
                } else {
                    self.bytes.push(line[at]);
                    at += 1;
                }
            }
            // NULL is recognised before escapes are read.
            let is_null = line[raw..at] == *options.null.as_bytes();
            if is_null {
                self.bytes.truncate(start);
            }
            self.ends.push((self.bytes.len(), is_null));
            if at >= line.len() {
                return Ok(());
            }
            at += 1;
        }
    }

    /// Reads an escape sequence after its backslash; gives the place after it.
    fn unescape(&mut self, line: &[u8], at: usize) -> usize {
        let digits = |from: usize, most: usize, radix: u32| {
            let mut value: u32 = 0;
            let mut end = from;
            while end < line.len() && end < from + most {
                let Some(digit) = char::from(line[end]).to_digit(radix) else { break };
                value = value * radix + digit;
                end += 1;
            }
            (end, value as u8)
        };
        let (end, byte) = match line[at] {
            b'b' => (at + 1, 8),
            b'f' => (at + 1, 12),
            b'n' => (at + 1, b'\n'),
            b'r' => (at + 1, b'\r'),
            b't' => (at + 1, b'\t'),
            b'v' => (at + 1, 11),
            b'0'..=b'7' => digits(at, 3, 8),
            b'x' if digits(at + 1, 2, 16).0 > at + 1 => digits(at + 1, 2, 16),
            other => (at + 1, other),
        };
        self.bytes.push(byte);
        end
    }

    fn read_csv(&mut self, line: &[u8], options: &CopyOptions) -> Result<()> {
        let mut at = 0;
        loop {
            let start = self.bytes.len();
            let mut was_quoted = false;
            let mut quoted = false;
            while at < line.len() {
                let byte = line[at];
                if quoted {
                    let next = line.get(at + 1).copied();
                    if byte == options.escape
                        && next.is_some_and(|next| next == options.quote || next == options.escape)
                    {
                        self.bytes.extend(next);
                        at += 2;
                        continue;
                    }
                    if byte == options.quote {
                        quoted = false;
                    } else {
                        self.bytes.push(byte);
                    }
                } else if byte == options.delimiter {
                    break;
                } else if byte == options.quote {
                    (quoted, was_quoted) = (true, true);
                } else {
                    self.bytes.push(byte);
                }
                at += 1;
            }
            if quoted {
                return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, "unterminated CSV quoted field"));
            }
            let is_null = !was_quoted && self.bytes[start..] == *options.null.as_bytes();
            if is_null {
                self.bytes.truncate(start);
            }
            self.ends.push((self.bytes.len(), is_null));
            if at >= line.len() {
                return Ok(());
            }
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests;
