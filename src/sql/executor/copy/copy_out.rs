//! COPY TO STDOUT: from rows to lines.

use std::sync::Arc;

use arrow::array::RecordBatch;
use bytes::{BufMut, BytesMut};

use super::options::CopyOptions;
use crate::executor::rows::Rows;
use crate::planner::Column;
use rowkey_base::Result;
use rowkey_postgres::types::{ColumnEncoder, Format, TextStyle};

/// A COPY TO STDOUT under way.
#[derive(Debug)]
pub struct CopyOut {
    pub rows: Rows,
    options: CopyOptions,
    style: Arc<TextStyle>,
}

impl CopyOut {
    pub(crate) fn new(rows: Rows, options: CopyOptions, style: Arc<TextStyle>) -> Self {
        Self { rows, options, style }
    }

    pub fn width(&self) -> usize {
        self.rows.columns.len()
    }

    /// The line of column names, if it is wanted.
    pub fn header(&self) -> Option<Vec<u8>> {
        if !self.options.header {
            return None;
        }
        let mut line = Vec::new();
        for (place, column) in self.rows.columns.iter().enumerate() {
            if place > 0 {
                line.push(self.options.delimiter);
            }
            put_field(&self.options, column.field.name().as_bytes(), false, &mut line);
        }
        line.push(b'\n');
        Some(line)
    }

    /// How the lines are written, apart from the rows.
    pub fn lines(&self) -> CopyLines {
        CopyLines {
            columns: Arc::clone(&self.rows.columns),
            options: self.options.clone(),
            style: Arc::clone(&self.style),
        }
    }
}

/// Writes the lines of a COPY TO.
#[derive(Debug, Clone)]
pub struct CopyLines {
    columns: Arc<[Column]>,
    options: CopyOptions,
    style: Arc<TextStyle>,
}

impl CopyLines {
    /// Writes the lines of some rows of a batch, each by `send`, until that answers false; gives
    /// the row after the last that was written.
    ///
    /// # Errors
    /// Of a value that has no text form.
    pub fn write(&self, batch: &RecordBatch, from: usize, mut send: impl FnMut(&[u8]) -> bool) -> Result<usize> {
        let encoders = batch
            .columns()
            .iter()
            .zip(&*self.columns)
            .map(|(array, column)| ColumnEncoder::new(&column.field, array, Format::Text, &self.style));
        let encoders = encoders.collect::<std::result::Result<Vec<_>, _>>()?;
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
                put_field(&self.options, &text, is_alone, &mut line);
            }
            line.push(b'\n');
            if !send(&line) {
                return Ok(row + 1);
            }
        }
        Ok(batch.num_rows())
    }
}

fn put_field(options: &CopyOptions, text: &[u8], is_alone: bool, line: &mut Vec<u8>) {
    if !options.csv {
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
    let quotes = text == options.null.as_bytes() || text.iter().any(special) || (is_alone && text == b"\\.");
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
