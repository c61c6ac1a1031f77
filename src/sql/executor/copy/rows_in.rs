//! COPY FROM STDIN in a format of rows: from bytes to rows.

use std::sync::Arc;

use super::options::{CopyFormat, CopyOptions, Header};
use super::reader::{Fields, Lines, ROOM_KEPT_BYTES};
use super::tuples::{At, Tuples};
use crate::compute::ComputeRuntime;
use crate::writes::{MemoryBudget, Target, TargetRowBuilder, WriteMemory, binary_value, text_value};
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::functions::Zone;
use rowkey_postgres::types::TextStyle;

/// A COPY FROM STDIN under way: bytes in, rows collected.
#[derive(Debug)]
pub struct RowsIn {
    pub target: Target,
    columns: CopiedColumns,
    options: CopyOptions,
    style: Arc<TextStyle>,
    zone: Zone,
    budget: MemoryBudget,
    lines: Lines,
    fields: Fields,
    /// The number of the line that was read last, of the last of its lines if it has line ends in
    /// quotes.
    line: u64,
    /// What takes the place of lines in the binary format.
    tuples: Option<Tuples>,
    /// The field that is being read.
    failing: Option<usize>,
    /// A line `\.` was read: what follows is passed over.
    ended: bool,
    rows: CopiedRows,
}

/// The columns of the fields, each by its place in the table.
#[derive(Debug)]
pub(super) struct CopiedColumns {
    pub places: Vec<usize>,
    /// Of CSV, by the places of fields: where what stands for NULL is a text.
    pub not_null: Vec<bool>,
    /// Where what stands for NULL is NULL also in quotes.
    pub null: Vec<bool>,
}

/// Rows that are dropped on a compute thread: a COPY may end before its last one.
#[derive(Debug)]
struct CopiedRows {
    rows: Vec<TargetRowBuilder>,
    compute: Arc<ComputeRuntime>,
}

impl Drop for CopiedRows {
    fn drop(&mut self) {
        if !self.rows.is_empty() {
            self.compute.drop_apart(std::mem::take(&mut self.rows));
        }
    }
}

/// So many bytes are read on the thread of the session, while there are no more rows than so many.
const BYTES_READ_HERE_MAX: usize = 4 << 10;
const ROWS_READ_HERE_MAX: usize = 256;

impl RowsIn {
    /// Rows read so far.
    pub(super) fn count(&self) -> u64 {
        self.rows.rows.len() as u64
    }

    pub(super) fn new(
        target: Target,
        columns: CopiedColumns,
        options: CopyOptions,
        style: Arc<TextStyle>,
        zone: Zone,
        budget: MemoryBudget,
        compute: Arc<ComputeRuntime>,
    ) -> Self {
        let tuples = (options.format == CopyFormat::Binary).then(|| Tuples::new(columns.places.len()));
        Self {
            target,
            columns,
            options,
            style,
            zone,
            budget,
            lines: Lines::default(),
            fields: Fields::default(),
            line: 0,
            tuples,
            failing: None,
            ended: false,
            rows: CopiedRows { rows: Vec::new(), compute },
        }
    }

    /// How many fields a row has.
    pub(super) fn width(&self) -> usize {
        self.columns.places.len()
    }

    pub(super) fn is_binary(&self) -> bool {
        self.tuples.is_some()
    }

    /// Bytes of the line or tuple that has no end yet.
    fn rest_bytes(&self) -> usize {
        self.tuples.as_ref().map_or_else(|| self.lines.rest_bytes(), Tuples::rest_bytes)
    }

    /// Whether to read these bytes takes some microseconds.
    pub(crate) fn is_small_beside(&self, bytes: &[u8]) -> bool {
        self.rest_bytes() + bytes.len() <= BYTES_READ_HERE_MAX && self.rows.rows.len() <= ROWS_READ_HERE_MAX
    }

    /// Takes bytes as they come, cut anywhere.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        // A buffer that grows has twice the room of what it holds.
        let room = 2 * (self.rest_bytes() + bytes.len());
        self.budget.hold_now(if room > ROOM_KEPT_BYTES { room as u64 } else { 0 })?;
        if let Some(tuples) = &mut self.tuples {
            tuples.push(bytes);
            return self.add_tuples();
        }
        if self.ended {
            return Ok(());
        }
        self.lines.push(bytes);
        while let Some(line) = self.lines.next(&self.options)? {
            self.add_line(line)?;
            if self.ended {
                break;
            }
        }
        Ok(())
    }

    /// The rows, when there are no more bytes.
    pub(crate) fn finish(mut self) -> Result<(Target, Vec<TargetRowBuilder>, WriteMemory)> {
        if let Some(tuples) = &self.tuples {
            tuples.finish().map_err(|error| self.in_tuples(error))?;
        } else if !self.ended {
            let rest = self.lines.rest().map_err(|error| {
                let open = self.lines.unended();
                error.with_context(self.context_of_line(self.line + self.lines_of(open), open))
            })?;
            if let Some(line) = rest {
                self.add_line(line)?;
            }
        }
        if self.line == 0 && self.options.header == Header::Match {
            self.check_names(&[])?;
        }
        Ok((self.target, std::mem::take(&mut self.rows.rows), self.budget.into_memory()))
    }

    /// Adds the row of a line.
    fn add_line(&mut self, line: std::ops::Range<usize>) -> Result<()> {
        let at = line.clone();
        let bytes = self.lines.bytes(line);
        self.failing = None;
        if bytes == b"\\." {
            self.ended = true;
            return Ok(());
        }
        let is_first = self.line == 0;
        self.line += self.lines_of(bytes);
        if is_first {
            match self.options.header {
                Header::Row => {}
                Header::Names => return Ok(()),
                Header::Match => {
                    let names = bytes.to_vec();
                    return self.check_names(&names);
                }
            }
        }
        let read = self.fields.read(bytes, &self.options).and_then(|()| self.build_row());
        let taken = read.and_then(|row| self.budget.take(row.memory_bytes()).map(|()| row));
        match taken {
            Ok(row) => self.rows.rows.push(row),
            Err(error) => return Err(error.with_context(self.context(at))),
        }
        Ok(())
    }

    /// Builds the row of the fields that were read last.
    fn build_row(&mut self) -> Result<TargetRowBuilder> {
        let mut row = TargetRowBuilder::default();
        if self.fields.len() > self.columns.places.len() {
            return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, "extra data after last expected column"));
        }
        for (place, at) in self.columns.places.iter().enumerate() {
            let column = &self.target.columns[*at];
            if place >= self.fields.len() {
                let message = format!("missing data for column \"{}\"", column.name);
                return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message));
            }
            let text = match self.fields.get(place)? {
                None if self.columns.not_null[place] => Some(self.options.null.as_str()),
                Some(text) if self.columns.null[place] && text == self.options.null => None,
                text => text,
            };
            let value = match text {
                Some(text) => {
                    self.failing = Some(place);
                    Some(text_value(text, column, &self.style)?)
                }
                None => None,
            };
            row.assign(column, value)?;
            self.failing = None;
        }
        row.key(&self.target)?;
        Ok(row)
    }

    /// Adds the rows of the tuples that are there as a whole.
    fn add_tuples(&mut self) -> Result<()> {
        while let Some(tuples) = &mut self.tuples {
            match tuples.next() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => return Err(self.in_tuples(error)),
            }
            self.failing = None;
            let taken = self.row_of_tuple().and_then(|row| self.budget.take(row.memory_bytes()).map(|()| row));
            match taken {
                Ok(row) => self.rows.rows.push(row),
                Err(error) => return Err(error.with_context(self.context_of_tuple(self.failing))),
            }
        }
        Ok(())
    }

    /// Builds the row of the tuple that was read last.
    fn row_of_tuple(&mut self) -> Result<TargetRowBuilder> {
        let mut row = TargetRowBuilder::default();
        let Some(tuples) = &self.tuples else { return Ok(row) };
        for (place, at) in self.columns.places.iter().enumerate() {
            let column = &self.target.columns[*at];
            self.failing = Some(place);
            let value = tuples.field(place).map(|bytes| binary_value(bytes, column, &self.zone)).transpose()?;
            row.assign(column, value.flatten())?;
            self.failing = None;
        }
        row.key(&self.target)?;
        Ok(row)
    }

    /// An error of the binary format, with its place.
    fn in_tuples(&self, error: Error) -> Error {
        match self.tuples.as_ref().map_or(At::Header, Tuples::at) {
            At::Header => error,
            At::Tuple => error.with_context(self.context_of_tuple(None)),
            At::Field(field) => error.with_context(self.context_of_tuple(Some(field))),
        }
    }

    fn context_of_tuple(&self, field: Option<usize>) -> String {
        let number = self.tuples.as_ref().map_or(0, Tuples::count);
        let place = format!("COPY {}, line {number}", self.target.name());
        match field.and_then(|field| self.columns.places.get(field)) {
            Some(at) => format!("{place}, column {}", self.target.columns[*at].name),
            None => place,
        }
    }

    /// Refuses a first line whose fields are not the names of the columns.
    fn check_names(&mut self, line: &[u8]) -> Result<()> {
        let checked = self.fields.read(line, &self.options).and_then(|()| self.expect_names());
        checked.map_err(|error| error.with_context(self.context_of_line(self.line.max(1), line)))
    }

    fn expect_names(&self) -> Result<()> {
        let wrong = |message: String| Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message));
        let (got, expected) = (self.fields.len(), self.columns.places.len());
        if got != expected {
            return wrong(format!("wrong number of fields in header line: got {got}, expected {expected}"));
        }
        for (place, at) in self.columns.places.iter().enumerate() {
            let expected = &self.target.columns[*at].name;
            let got = match self.fields.get(place)? {
                Some(name) if name == expected => continue,
                // As names without quotes, which need not be exact where they mean one column.
                Some(name) if name.eq_ignore_ascii_case(expected) && self.target.place(name).is_err() => continue,
                Some(name) => format!("\"{name}\""),
                None => format!("null value (\"{}\")", self.options.null),
            };
            let field = place + 1;
            return wrong(format!(
                "column name mismatch in header line field {field}: got {got}, expected \"{expected}\""
            ));
        }
        Ok(())
    }

    /// Which line it is, and which of its fields, as PostgreSQL says it.
    fn context(&self, line: std::ops::Range<usize>) -> String {
        let place = format!("COPY {}, line {}", self.target.name(), self.line);
        match self.failing.and_then(|field| self.columns.places.get(field).map(|at| (field, at))) {
            Some((field, at)) => {
                let column = &self.target.columns[*at].name;
                match self.fields.get(field) {
                    Ok(Some(text)) => format!("{place}, column {column}: \"{}\"", shortened(text)),
                    Ok(None) if self.columns.not_null[field] => {
                        format!("{place}, column {column}: \"{}\"", shortened(&self.options.null))
                    }
                    _ => format!("{place}, column {column}"),
                }
            }
            None => self.context_of_line(self.line, self.lines.bytes(line)),
        }
    }

    fn context_of_line(&self, number: u64, line: &[u8]) -> String {
        format!("COPY {}, line {number}: \"{}\"", self.target.name(), shortened(&String::from_utf8_lossy(line)))
    }

    /// How many lines the next row counts for: in CSV it may have line ends in quotes, which
    /// PostgreSQL does not count in the first, before it has seen how lines end.
    fn lines_of(&self, row: &[u8]) -> u64 {
        let inner = match self.options.format {
            CopyFormat::Csv if self.line > 0 => row.iter().filter(|byte| **byte == b'\n').count() as u64,
            CopyFormat::Csv | CopyFormat::Text | CopyFormat::Binary => 0,
        };
        1 + inner
    }
}

/// As much of a text as PostgreSQL shows.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(100) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
