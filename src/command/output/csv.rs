//! Results as comma-separated values.

use std::io::Write;

use arrow::array::RecordBatch;

use super::{Error, ResultColumns, ResultWriter};

/// Writes a header line and a line for each row, quoted as RFC 4180 says, with `\n` at the end.
/// NULL is an empty field and the empty string a quoted one.
pub(super) struct CsvWriter {
    columns: ResultColumns,
    begun: bool,
}

impl CsvWriter {
    pub(super) fn new(columns: ResultColumns) -> Self {
        Self { columns, begun: false }
    }

    fn begin(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        if !self.begun {
            self.begun = true;
            let mut line = String::new();
            for (at, name) in self.columns.names().enumerate() {
                line.push_str(if at == 0 { "" } else { "," });
                push_quoted(name, &mut line);
            }
            writeln!(out, "{line}")?;
        }
        Ok(())
    }
}

impl ResultWriter for CsvWriter {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), Error> {
        self.begin(out)?;
        let mut text = self.columns.text(batch)?;
        let mut line = String::new();
        for row in 0..batch.num_rows() {
            line.clear();
            for column in 0..text.columns() {
                line.push_str(if column == 0 { "" } else { "," });
                if let Some(value) = text.value(row, column)? {
                    push_quoted(value, &mut line);
                }
            }
            line.push('\n');
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        self.begin(out)
    }

    fn abandon(&mut self, _: &mut dyn Write) -> Result<(), Error> {
        Ok(())
    }
}

/// Adds a value that is not NULL, in quotes if it needs them.
fn push_quoted(value: &str, line: &mut String) {
    if !value.is_empty() && !value.contains([',', '"', '\n', '\r']) {
        line.push_str(value);
        return;
    }
    line.push('"');
    line.push_str(&value.replace('"', "\"\""));
    line.push('"');
}

#[cfg(test)]
mod tests {
    use super::super::samples::{printed, texts};
    use super::super::{Form, samples};

    #[test]
    fn quoting() {
        let rows = [Some("plain"), Some("a,b"), Some("say \"hi\""), Some("two\nlines"), Some("cr\r"), Some(""), None];
        let batch = texts(&[("na\"me", &rows), ("n", &rows.map(|_| Some("1")))]);
        assert_eq!(
            printed(Form::Csv, &[batch]),
            "\"na\"\"me\",n\nplain,1\n\"a,b\",1\n\"say \"\"hi\"\"\",1\n\"two\nlines\",1\n\"cr\r\",1\n\"\",1\n,1\n"
        );
    }

    #[test]
    fn a_header_even_without_rows() {
        assert_eq!(printed(Form::Csv, &[texts(&[("a", &[]), ("b", &[])])]), "a,b\n");
    }

    #[test]
    fn values_of_all_types() {
        assert_eq!(
            printed(Form::Csv, &[samples::entity()]),
            "PartitionKey,Count,Big,Ratio,On,At,Data,Id\n\
             a,1,9223372036854775807,0.1,t,1601-01-01 00:00:00+00,\\x00ff,00112233-4455-6677-8899-aabbccddeeff\n\
             b,,,NaN,f,9999-12-31 23:59:59.999999+00,\\x,\n"
        );
    }
}
