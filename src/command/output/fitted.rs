//! Results as a table where that fits the screen, else with one line a column.

use std::io::Write;

use arrow::array::RecordBatch;

use super::super::text::width;
use super::{Error, ExpandedWriter, ResultColumns, ResultWriter, TableWriter};

/// Which form it is to be is decided when the table has settled the widths of its columns.
pub(crate) struct FittedWriter {
    screen_columns: usize,
    undecided: Option<Undecided>,
    decided: Option<Box<dyn ResultWriter>>,
}

struct Undecided {
    table: TableWriter,
    expanded: ExpandedWriter,
    batches: Vec<RecordBatch>,
    begun: Vec<u8>,
}

impl FittedWriter {
    pub(crate) fn new(columns: ResultColumns, null: &str, screen_columns: usize) -> Self {
        let undecided = Undecided {
            table: TableWriter::new(columns.clone(), null),
            expanded: ExpandedWriter::new(columns, null),
            batches: Vec::new(),
            begun: Vec::new(),
        };
        Self { screen_columns, undecided: Some(undecided), decided: None }
    }

    /// Chooses by what the table has written so far.
    fn decide(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        let Some(Undecided { table, mut expanded, batches, begun }) = self.undecided.take() else { return Ok(()) };
        let text = String::from_utf8_lossy(&begun);
        if text.lines().all(|line| width(line) <= self.screen_columns) {
            out.write_all(&begun)?;
            self.decided = Some(Box::new(table));
        } else {
            for batch in &batches {
                expanded.batch(batch, out)?;
            }
            self.decided = Some(Box::new(expanded));
        }
        Ok(())
    }
}

impl ResultWriter for FittedWriter {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), Error> {
        if let Some(decided) = &mut self.decided {
            return decided.batch(batch, out);
        }
        if let Some(undecided) = &mut self.undecided {
            undecided.table.batch(batch, &mut undecided.begun)?;
            undecided.batches.push(batch.clone());
            if undecided.begun.is_empty() {
                return Ok(());
            }
        }
        self.decide(out)
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        if let Some(undecided) = &mut self.undecided {
            undecided.table.finish(&mut undecided.begun)?;
            let whole = self.screen_columns;
            let text = String::from_utf8_lossy(&undecided.begun);
            if text.lines().all(|line| width(line) <= whole) {
                return Ok(out.write_all(&undecided.begun)?);
            }
            self.decide(out)?;
        }
        match &mut self.decided {
            Some(decided) => decided.finish(out),
            None => Ok(()),
        }
    }

    fn abandon(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        if let Some(undecided) = &mut self.undecided {
            undecided.table.abandon(&mut undecided.begun)?;
            return self.decide(out);
        }
        match &mut self.decided {
            Some(decided) => decided.abandon(out),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{columns_of, texts};
    use super::*;

    fn printed(value: &str, columns: usize) -> String {
        let rows = texts(&[("a", &[Some(value)]), ("b", &[None])]);
        let mut writer = FittedWriter::new(columns_of(&rows), "-", columns);
        let mut out = Vec::new();
        writer.batch(&rows, &mut out).unwrap();
        writer.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_width_decides() {
        assert_eq!(printed("xyz", 9), "  a  | b\n-----+---\n xyz | -\n(1 row)\n");
        assert_eq!(printed("xyz", 7), "-[ RECORD 1 ]\na | xyz\nb | -\n");
    }
}
