//! Where the records and values of CSV text begin and end.

use std::borrow::Cow;
use std::ops::Range;

/// A scan for the end of a record, which goes on over pieces of any size.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordScan {
    delimiter: u8,
    /// A line feed, or a carriage return where lines end in that alone.
    line_end: u8,
    at: At,
    /// Column of the value being read.
    column: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    ValueStart,
    Plain,
    Quoted,
    /// Behind a quote in a quoted value: a second one makes it part of the value.
    QuoteInQuoted,
}

impl RecordScan {
    pub(super) fn new(delimiter: u8, line_end: u8) -> Self {
        Self { delimiter, line_end, at: At::ValueStart, column: 0 }
    }

    /// True inside a quoted value.
    pub(super) fn is_quoted(&self) -> bool {
        self.at == At::Quoted
    }

    /// Scans on and returns where the record ends, behind the end of its line; `None` if it goes
    /// on. `filled` is called with each column that has a value.
    pub(super) fn advance(&mut self, bytes: &[u8], mut filled: impl FnMut(usize)) -> Option<usize> {
        let mut i = 0;
        while let Some(&byte) = bytes.get(i) {
            match self.at {
                At::ValueStart if byte == b'"' => {
                    filled(self.column);
                    self.at = At::Quoted;
                }
                At::Quoted => {
                    i += bytes[i..].iter().position(|&b| b == b'"')?;
                    self.at = At::QuoteInQuoted;
                }
                At::QuoteInQuoted if byte == b'"' => self.at = At::Quoted,
                _ if byte == self.delimiter => {
                    self.column += 1;
                    self.at = At::ValueStart;
                }
                _ if byte == self.line_end => {
                    *self = Self::new(self.delimiter, self.line_end);
                    return Some(i + 1);
                }
                At::ValueStart => {
                    if byte != b'\r' {
                        filled(self.column);
                    }
                    self.at = At::Plain;
                }
                At::QuoteInQuoted => self.at = At::Plain,
                At::Plain => {
                    let (delimiter, line_end) = (self.delimiter, self.line_end);
                    i += bytes[i..].iter().position(|&b| b == delimiter || b == line_end)?;
                    continue;
                }
            }
            i += 1;
        }
        None
    }
}

/// The values of one record.
#[derive(Debug, Default)]
pub(super) struct Fields {
    spans: Vec<(Range<usize>, Form)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The value is what is written.
    Plain,
    /// Quotes in it are doubled.
    Doubled,
}

impl Fields {
    /// Finds the values of a record, with or without its line's end. The error is the reason.
    pub(super) fn split(&mut self, record: &[u8], delimiter: u8) -> Result<(), String> {
        self.spans.clear();
        let record = record.strip_suffix(b"\n").unwrap_or(record);
        let record = record.strip_suffix(b"\r").unwrap_or(record);
        let mut at = 0;
        loop {
            let (span, form, end) = match record.get(at) {
                Some(b'"') => quoted(record, at)?,
                _ => {
                    let bytes = record[at..].iter().position(|&b| b == delimiter).unwrap_or(record.len() - at);
                    (at..at + bytes, Form::Plain, at + bytes)
                }
            };
            self.spans.push((span, form));
            match record.get(end) {
                None => return Ok(()),
                Some(byte) if *byte == delimiter => at = end + 1,
                Some(_) => {
                    let rest: String = String::from_utf8_lossy(&record[end..]).chars().take(20).collect();
                    return Err(format!("behind the quotes of a value stands \"{}\"", rest.escape_debug()));
                }
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// The value of a column, from the text that was split.
    #[inline]
    pub(super) fn value<'a>(&self, record: &'a str, column: usize) -> Cow<'a, str> {
        let Some((span, form)) = self.spans.get(column) else { return Cow::Borrowed("") };
        let written = record.get(span.clone()).unwrap_or_default();
        match form {
            Form::Plain => Cow::Borrowed(written),
            Form::Doubled => Cow::Owned(written.replace("\"\"", "\"")),
        }
    }

    /// True if nothing is written in the column, or nothing between quotes.
    #[inline]
    pub(super) fn is_empty(&self, column: usize) -> bool {
        self.spans.get(column).is_none_or(|(span, _)| span.is_empty())
    }
}

/// A value in quotes and where it ends, behind the closing one.
fn quoted(record: &[u8], at: usize) -> Result<(Range<usize>, Form, usize), String> {
    let start = at + 1;
    let mut end = start;
    let mut form = Form::Plain;
    loop {
        let Some(quote) = record[end..].iter().position(|&b| b == b'"') else {
            return Err("a quoted value does not end".to_owned());
        };
        end += quote;
        if record.get(end + 1) != Some(&b'"') {
            return Ok((start..end, form, end + 1));
        }
        form = Form::Doubled;
        end += 2;
    }
}
