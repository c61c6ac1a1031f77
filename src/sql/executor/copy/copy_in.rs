//! COPY FROM STDIN: from bytes to rows.

use std::sync::Arc;

use super::options::CopyOptions;
use super::reader::{Fields, Lines};
use crate::compute::ComputeRuntime;
use crate::writes::{MemoryBudget, Target, TargetRowBuilder, text_value};
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::types::TextStyle;

/// A COPY FROM STDIN under way: bytes in, rows collected.
#[derive(Debug)]
pub struct CopyIn {
    pub target: Target,
    /// The columns of the fields.
    columns: Vec<usize>,
    options: CopyOptions,
    style: Arc<TextStyle>,
    budget: MemoryBudget,
    lines: Lines,
    fields: Fields,
    line: u64,
    /// The field that is being read.
    failing: Option<usize>,
    /// A line `\.` was read: what follows is passed over.
    ended: bool,
    rows: CopiedRows,
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

impl CopyIn {
    pub(crate) fn new(
        target: Target,
        columns: Vec<usize>,
        options: CopyOptions,
        style: Arc<TextStyle>,
        budget: MemoryBudget,
        compute: Arc<ComputeRuntime>,
    ) -> Self {
        Self {
            target,
            columns,
            options,
            style,
            budget,
            lines: Lines::default(),
            fields: Fields::default(),
            line: 0,
            failing: None,
            ended: false,
            rows: CopiedRows { rows: Vec::new(), compute },
        }
    }

    /// How many fields a row has.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Whether to read these bytes takes some microseconds.
    pub(crate) fn is_small_beside(&self, bytes: &[u8]) -> bool {
        self.lines.rest_bytes() + bytes.len() <= BYTES_READ_HERE_MAX && self.rows.rows.len() <= ROWS_READ_HERE_MAX
    }

    /// Takes bytes as they come, cut anywhere.
    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
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
    pub(crate) fn finish(mut self) -> Result<(Target, Vec<TargetRowBuilder>)> {
        if !self.ended
            && let Some(line) = self.lines.rest()?
        {
            self.add_line(line)?;
        }
        Ok((self.target, std::mem::take(&mut self.rows.rows)))
    }

    /// Adds the row of a line.
    fn add_line(&mut self, line: std::ops::Range<usize>) -> Result<()> {
        self.line += 1;
        let at = line.clone();
        let bytes = self.lines.bytes(line);
        if bytes == b"\\." {
            self.ended = true;
            return Ok(());
        }
        if self.options.header && self.line == 1 {
            return Ok(());
        }
        self.failing = None;
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
        for (place, at) in self.columns.iter().enumerate() {
            let column = &self.target.columns[*at];
            if place >= self.fields.len() {
                let message = format!("missing data for column \"{}\"", column.name);
                return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message));
            }
            let value = match self.fields.get(place)? {
                Some(text) => {
                    self.failing = Some(place);
                    Some(text_value(text, column, &self.style)?)
                }
                None => None,
            };
            row.assign(column, value)?;
            self.failing = None;
        }
        if self.fields.len() > self.columns.len() {
            return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, "extra data after last expected column"));
        }
        row.key(&self.target)?;
        Ok(row)
    }

    /// Which line it is, and which of its fields, as PostgreSQL says it.
    fn context(&self, line: std::ops::Range<usize>) -> String {
        let place = format!("COPY {}, line {}", self.target.name(), self.line);
        match self.failing.and_then(|field| self.columns.get(field).map(|at| (field, at))) {
            Some((field, at)) => {
                let column = &self.target.columns[*at].name;
                match self.fields.get(field) {
                    Ok(Some(text)) => format!("{place}, column {column}: \"{}\"", shortened(text)),
                    _ => format!("{place}, column {column}"),
                }
            }
            None => format!("{place}: \"{}\"", shortened(&String::from_utf8_lossy(self.lines.bytes(line)))),
        }
    }
}

/// As much of a text as PostgreSQL shows.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(100) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
