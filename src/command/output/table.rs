//! Results as aligned columns, like psql's.

use std::io::Write;

use arrow::array::RecordBatch;

use super::super::text::{visible, width};
use super::{Error, ResultColumns, ResultWriter};

/// The widths of columns come from the rows held back at the beginning, of which there are at most
/// so many rows and bytes of text; rows after them are printed as they come, and a longer value
/// moves the rest of its line to the right.
const ROWS_HELD_MAX: usize = 1_000;
const BYTES_HELD_MAX: usize = 4 << 20;

/// The column in which EXPLAIN answers: its lines are rows, whether they come as one value or as
/// many.
const QUERY_PLAN: &str = "QUERY PLAN";

/// Writes a heading, a line of dashes, a line (or more, for values with line breaks) for each row,
/// and the number of rows.
pub(crate) struct TableWriter {
    columns: ResultColumns,
    names: Vec<String>,
    numbers: Vec<bool>,
    /// What stands for NULL.
    null: String,
    is_plan: bool,
    held: Vec<Vec<String>>,
    bytes_held: usize,
    /// Known once the heading is written.
    widths: Option<Vec<usize>>,
    rows: u64,
}

impl TableWriter {
    /// `null` stands for NULL.
    pub(crate) fn new(columns: ResultColumns, null: &str) -> Self {
        Self {
            names: columns.names().map(visible).collect(),
            numbers: columns.are_numbers(),
            null: visible(null),
            is_plan: columns.names().eq([QUERY_PLAN]),
            columns,
            held: Vec::new(),
            bytes_held: 0,
            widths: None,
            rows: 0,
        }
    }

    pub(crate) fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), Error> {
        let columns = self.columns.clone();
        let mut text = columns.text(batch)?;
        for row in 0..batch.num_rows() {
            let cells = text.cells(row, &self.null)?;
            if self.is_plan {
                for line in cells.iter().flat_map(|cell| cell.lines()) {
                    self.row(vec![line.to_owned()], out)?;
                }
            } else {
                self.row(cells, out)?;
            }
        }
        Ok(())
    }

    /// Ends the table with this line.
    pub(crate) fn finish_with(&mut self, footer: &str, out: &mut dyn Write) -> Result<(), Error> {
        self.release(out)?;
        Ok(writeln!(out, "{footer}")?)
    }

    fn row(&mut self, cells: Vec<String>, out: &mut dyn Write) -> Result<(), Error> {
        self.rows += 1;
        if let Some(widths) = &self.widths {
            return self.write_row(&cells, widths, out);
        }
        self.bytes_held += cells.iter().map(String::len).sum::<usize>();
        self.held.push(cells);
        if self.held.len() >= ROWS_HELD_MAX || self.bytes_held >= BYTES_HELD_MAX {
            self.release(out)?;
        }
        Ok(())
    }

    /// Settles the widths and writes the heading and the rows held back.
    fn release(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        if self.widths.is_some() {
            return Ok(());
        }
        let widest = |cell: &String| cell.split('\n').map(width).max().unwrap_or(0);
        let mut widths: Vec<usize> = self.names.iter().map(widest).collect();
        for row in &self.held {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(widest(cell));
            }
        }
        self.write_heading(&widths, out)?;
        for row in std::mem::take(&mut self.held) {
            self.write_row(&row, &widths, out)?;
        }
        self.bytes_held = 0;
        self.widths = Some(widths);
        Ok(())
    }

    fn write_heading(&self, widths: &[usize], out: &mut dyn Write) -> Result<(), Error> {
        let mut line = String::new();
        for (at, (name, columns)) in self.names.iter().zip(widths).enumerate() {
            line.push_str(if at == 0 { " " } else { "| " });
            let left = (columns - width(name).min(*columns)) / 2;
            push_padded(&name.replace('\n', " "), left, columns - left, &mut line);
            line.push(' ');
        }
        writeln!(out, "{}", line.trim_end_matches(' '))?;
        let dashes: Vec<String> = widths.iter().map(|columns| "-".repeat(columns + 2)).collect();
        Ok(writeln!(out, "{}", dashes.join("+"))?)
    }

    /// A value with line breaks takes as many lines, each but the last marked with `+`.
    fn write_row(&self, cells: &[String], widths: &[usize], out: &mut dyn Write) -> Result<(), Error> {
        let mut parts: Vec<_> = cells.iter().map(|cell| cell.split('\n').peekable()).collect();
        let mut line = String::new();
        loop {
            line.clear();
            let mut more = false;
            for (at, part) in parts.iter_mut().enumerate() {
                line.push_str(if at == 0 { " " } else { "| " });
                let text = part.next().unwrap_or("");
                let left = if self.numbers[at] { widths[at].saturating_sub(width(text)) } else { 0 };
                push_padded(text, left, widths[at] - left, &mut line);
                let goes_on = part.peek().is_some();
                line.push(if goes_on { '+' } else { ' ' });
                more |= goes_on;
            }
            writeln!(out, "{}", line.trim_end_matches(' '))?;
            if !more {
                return Ok(());
            }
        }
    }
}

impl ResultWriter for TableWriter {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), Error> {
        TableWriter::batch(self, batch, out)
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        let footer = format!("({} {})", self.rows, if self.rows == 1 { "row" } else { "rows" });
        self.finish_with(&footer, out)
    }

    fn abandon(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        if self.held.is_empty() { Ok(()) } else { self.release(out) }
    }
}

/// Adds `left` spaces and the text in at least `columns`.
fn push_padded(text: &str, left: usize, columns: usize, line: &mut String) {
    line.extend(std::iter::repeat_n(' ', left));
    line.push_str(text);
    line.extend(std::iter::repeat_n(' ', columns.saturating_sub(width(text))));
}

#[cfg(test)]
mod tests;
