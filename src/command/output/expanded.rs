//! Results with one line a column, like psql's expanded display.

use std::io::Write;

use arrow::array::RecordBatch;

use super::super::text::{visible, width};
use super::{Error, ResultColumns, ResultWriter};

/// The line between rows is as long as the widest of so many rows at the beginning.
const ROWS_HELD_MAX: usize = 100;
const BYTES_HELD_MAX: usize = 1 << 20;
/// Longest line between rows, in columns.
const RULE_COLUMNS_MAX: usize = 200;

/// Writes a line with the row's number, then a line (or more, for values with line breaks) for each
/// column.
pub(crate) struct ExpandedWriter {
    columns: ResultColumns,
    names: Vec<String>,
    names_width: usize,
    /// What stands for NULL.
    null: String,
    held: Vec<Vec<String>>,
    bytes_held: usize,
    /// Width of the values, once it is known.
    values_width: Option<usize>,
    rows: u64,
}

impl ExpandedWriter {
    pub(crate) fn new(columns: ResultColumns, null: &str) -> Self {
        let names: Vec<String> = columns.names().map(|name| visible(name).replace('\n', " ")).collect();
        Self {
            columns,
            names_width: names.iter().map(|name| width(name)).max().unwrap_or(0),
            names,
            null: visible(null),
            held: Vec::new(),
            bytes_held: 0,
            values_width: None,
            rows: 0,
        }
    }

    fn release(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        let widest = self.held.iter().flatten().flat_map(|cell| cell.split('\n')).map(width).max().unwrap_or(0);
        let values_width = *self.values_width.get_or_insert(widest);
        for row in std::mem::take(&mut self.held) {
            self.rows += 1;
            self.write_row(&row, values_width, out)?;
        }
        self.bytes_held = 0;
        Ok(())
    }

    fn write_row(&self, cells: &[String], values_width: usize, out: &mut dyn Write) -> Result<(), Error> {
        let label = format!("-[ RECORD {} ]", self.rows);
        let names_end = self.names_width + 1;
        let mut rule = label;
        while rule.len() < (names_end + 2 + values_width).min(RULE_COLUMNS_MAX) {
            rule.push(if rule.len() == names_end { '+' } else { '-' });
        }
        writeln!(out, "{rule}")?;
        for (name, cell) in self.names.iter().zip(cells) {
            let mut lines = cell.split('\n').peekable();
            let mut name = name.as_str();
            while let Some(line) = lines.next() {
                let blanks = self.names_width - width(name);
                let more = if lines.peek().is_some() { "+" } else { "" };
                let text = format!("{name}{:blanks$} | {line}{more}", "");
                writeln!(out, "{}", text.trim_end_matches(' '))?;
                name = "";
            }
        }
        Ok(())
    }
}

impl ResultWriter for ExpandedWriter {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), Error> {
        let columns = self.columns.clone();
        let mut text = columns.text(batch)?;
        for row in 0..batch.num_rows() {
            let cells = text.cells(row, &self.null)?;
            self.bytes_held += cells.iter().map(String::len).sum::<usize>();
            self.held.push(cells);
            if self.values_width.is_some() || self.held.len() >= ROWS_HELD_MAX || self.bytes_held >= BYTES_HELD_MAX {
                self.release(out)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        self.release(out)?;
        if self.rows == 0 {
            writeln!(out, "(0 rows)")?;
        }
        Ok(())
    }

    fn abandon(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        self.release(out)
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{columns_of, texts};
    use super::*;

    fn printed(batches: &[RecordBatch], null: &str) -> String {
        let mut writer = ExpandedWriter::new(columns_of(&batches[0]), null);
        let mut out = Vec::new();
        for batch in batches {
            writer.batch(batch, &mut out).unwrap();
        }
        writer.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_for_each_column() {
        let rows = texts(&[("a", &[Some("one\ntwo"), None]), ("long name", &[Some("日本"), Some("0123456789")])]);
        let expected = "
-[ RECORD 1 ]---------
a         | one+
          | two
long name | 日本
-[ RECORD 2 ]---------
a         | NULL
long name | 0123456789
";
        assert_eq!(printed(&[rows], "NULL"), expected[1..]);
        assert_eq!(printed(&[texts(&[("a", &[])])], ""), "(0 rows)\n");
    }

    #[test]
    fn the_rule_shows_where_values_begin() {
        let rows = texts(&[("a much longer name", &[Some("value")])]);
        let expected = "-[ RECORD 1 ]------+------\na much longer name | value\n";
        assert_eq!(printed(&[rows], ""), expected);
    }

    #[test]
    fn later_rows_stream() {
        let one = texts(&[("a", &[Some("1"); ROWS_HELD_MAX])]);
        let mut writer = ExpandedWriter::new(columns_of(&one), "");
        let mut out = Vec::new();
        writer.batch(&one.slice(0, ROWS_HELD_MAX - 1), &mut out).unwrap();
        assert!(out.is_empty());
        writer.batch(&one.slice(0, 1), &mut out).unwrap();
        writer.batch(&one.slice(0, 1), &mut out).unwrap();
        assert!(writer.held.is_empty());
        assert!(String::from_utf8(out).unwrap().ends_with("-[ RECORD 101 ]\na | 1\n"));
    }
}
