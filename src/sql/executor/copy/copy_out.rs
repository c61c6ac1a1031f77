//! COPY TO STDOUT: from rows to lines, or to tuples of the binary format.

use std::sync::Arc;

use arrow::array::RecordBatch;
use bytes::{BufMut, BytesMut};

use super::options::{CopyFormat, CopyOptions, ForceQuote, Header};
use super::tuples::{END_OF_TUPLES, HEADER};
use crate::executor::rows::Rows;
use crate::planner::Column;
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::types::{ColumnEncoder, Format, TextStyle};

/// A COPY TO STDOUT under way.
#[derive(Debug)]
pub struct CopyOut {
    pub rows: Rows,
    lines: CopyLines,
}

impl CopyOut {
    /// Rows that are written; the columns at the places `quoted` are quoted in any case.
    pub(crate) fn new(rows: Rows, options: CopyOptions, quoted: &[usize], style: Arc<TextStyle>) -> Result<Self> {
        let columns = Arc::clone(&rows.columns);
        let all = options.force_quote == ForceQuote::All;
        let quoted = (0..columns.len()).map(|place| all || quoted.contains(&place)).collect();
        let width = i16::try_from(columns.len()).map_err(|_| {
            Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("COPY of {} columns is not supported", columns.len()))
        })?;
        Ok(Self { rows, lines: CopyLines { columns, width, quoted, options, style, is_begun: false } })
    }

    pub fn width(&self) -> usize {
        self.rows.columns.len()
    }

    pub fn is_binary(&self) -> bool {
        self.lines.options.format == CopyFormat::Binary
    }

    /// How the lines are written, apart from the rows.
    pub fn lines(&self) -> CopyLines {
        self.lines.clone()
    }
}

/// Writes the lines of a COPY TO, or its tuples.
#[derive(Debug, Clone)]
pub struct CopyLines {
    columns: Arc<[Column]>,
    width: i16,
    quoted: Arc<[bool]>,
    options: CopyOptions,
    style: Arc<TextStyle>,
    /// What stands before the rows was written.
    is_begun: bool,
}

impl CopyLines {
    /// Writes the lines of some rows of a batch, each by `send`, until that answers false; gives
    /// the row after the last that was written. The line of names goes before the first row; the
    /// header of the binary format goes with it, since clients look for both in one message.
    ///
    /// # Errors
    /// Of a value that has no text form.
    pub fn write(&mut self, batch: &RecordBatch, from: usize, mut send: impl FnMut(&[u8]) -> bool) -> Result<usize> {
        let format = match self.options.format {
            CopyFormat::Binary => Format::Binary,
            CopyFormat::Text | CopyFormat::Csv => Format::Text,
        };
        let encoders = batch
            .columns()
            .iter()
            .zip(&*self.columns)
            .map(|(array, column)| ColumnEncoder::new(&column.field, array, format, &self.style));
        let encoders = encoders.collect::<std::result::Result<Vec<_>, _>>()?;
        if format == Format::Binary {
            let mut tuple = BytesMut::new();
            for row in from..batch.num_rows() {
                tuple.clear();
                if !std::mem::replace(&mut self.is_begun, true) {
                    tuple.put_slice(&HEADER);
                }
                tuple.put_i16(self.width);
                for encoder in &encoders {
                    encoder.encode(row, &mut tuple)?;
                }
                if !send(&tuple) {
                    return Ok(row + 1);
                }
            }
            return Ok(batch.num_rows());
        }
        if !std::mem::replace(&mut self.is_begun, true)
            && let Some(names) = names(&self.columns, &self.options)
            && !send(&names)
        {
            return Ok(from);
        }
        let (mut line, mut text) = (Vec::new(), BytesMut::new());
        let is_alone = self.columns.len() == 1;
        for row in from..batch.num_rows() {
            line.clear();
            for (place, encoder) in encoders.iter().enumerate() {
                if place > 0 {
                    line.push(self.options.delimiter);
                }
                if encoder.is_null(row) {
                    line.put_slice(self.options.null.as_bytes());
                    continue;
                }
                text.clear();
                encoder.write(row, &mut text)?;
                put_field(&self.options, &text, self.quoted[place], is_alone, &mut line);
            }
            line.push(b'\n');
            if !send(&line) {
                return Ok(row + 1);
            }
        }
        Ok(batch.num_rows())
    }

    /// What goes behind the last row, and before it if there was none; nothing if it is empty.
    pub fn end(&mut self) -> Vec<u8> {
        let is_begun = std::mem::replace(&mut self.is_begun, true);
        match self.options.format {
            CopyFormat::Binary => {
                let header = if is_begun { &[][..] } else { &HEADER };
                [header, &END_OF_TUPLES].concat()
            }
            CopyFormat::Text | CopyFormat::Csv if is_begun => Vec::new(),
            CopyFormat::Text | CopyFormat::Csv => names(&self.columns, &self.options).unwrap_or_default(),
        }
    }
}

/// The line of column names, if it is wanted.
fn names(columns: &[Column], options: &CopyOptions) -> Option<Vec<u8>> {
    if options.header == Header::Row {
        return None;
    }
    let mut line = Vec::new();
    for (place, column) in columns.iter().enumerate() {
        if place > 0 {
            line.push(options.delimiter);
        }
        put_field(options, column.field.name().as_bytes(), false, columns.len() == 1, &mut line);
    }
    line.push(b'\n');
    Some(line)
}

fn put_field(options: &CopyOptions, text: &[u8], quoted: bool, is_alone: bool, line: &mut Vec<u8>) {
    if options.format != CopyFormat::Csv {
        for byte in text {
            match byte {
                b'\\' => line.put_slice(b"\\\\"),
                8 => line.put_slice(b"\\b"),
                12 => line.put_slice(b"\\f"),
                b'\n' => line.put_slice(b"\\n"),
                b'\r' => line.put_slice(b"\\r"),
                b'\t' => line.put_slice(b"\\t"),
                11 => line.put_slice(b"\\v"),
                byte if *byte == options.delimiter => line.put_slice(&[b'\\', *byte]),
                byte => line.push(*byte),
            }
        }
        return;
    }
    let special = |byte: &u8| [options.delimiter, options.quote, b'\n', b'\r'].contains(byte);
    // What would be read as NULL, or as the end, is quoted.
    let quotes = quoted || text == options.null.as_bytes() || text.iter().any(special) || (is_alone && text == b"\\.");
    if !quotes {
        line.put_slice(text);
        return;
    }
    line.push(options.quote);
    for byte in text {
        if *byte == options.quote || *byte == options.escape {
            line.push(options.escape);
        }
        line.push(*byte);
    }
    line.push(options.quote);
}
