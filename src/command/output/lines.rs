//! Results of one line a row: comma- and tab-separated values, and tables of Markdown.

use std::io::Write;

use arrow::array::RecordBatch;

use super::{Error, ResultColumns, ResultWriter};

/// How values are put into a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineForm {
    /// Quoted as RFC 4180 says, with `\n` at the end. NULL is an empty field and the empty string a
    /// quoted one.
    Csv,
    /// Tabs between the values; `\t`, `\n`, `\r` and `\\` in them, and `\N` for NULL, as COPY
    /// writes texts.
    Tsv,
    /// A table of Markdown as GitHub reads it: `|` is escaped, a line end is `<br>`, NULL is empty.
    Markdown,
}

/// Writes a header line and a line for each row.
pub(super) struct LineWriter {
    columns: ResultColumns,
    form: LineForm,
    begun: bool,
}

impl LineWriter {
    pub(super) fn new(columns: ResultColumns, form: LineForm) -> Self {
        Self { columns, form, begun: false }
    }

    fn begin(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let mut line = String::new();
        for (at, name) in self.columns.names().enumerate() {
            self.form.push(at, Some(name), &mut line);
        }
        self.form.end(&mut line);
        if self.form == LineForm::Markdown {
            line.push_str(&"| --- ".repeat(self.columns.names().count()));
            line.push_str("|\n");
        }
        Ok(out.write_all(line.as_bytes())?)
    }
}

impl LineForm {
    fn push(self, column: usize, value: Option<&str>, line: &mut String) {
        match self {
            LineForm::Csv => {
                line.push_str(if column == 0 { "" } else { "," });
                if let Some(value) = value {
                    push_quoted(value, line);
                }
            }
            LineForm::Tsv => {
                line.push_str(if column == 0 { "" } else { "\t" });
                let Some(value) = value else { return line.push_str("\\N") };
                for char in value.chars() {
                    match char {
                        '\t' => line.push_str("\\t"),
                        '\n' => line.push_str("\\n"),
                        '\r' => line.push_str("\\r"),
                        '\\' => line.push_str("\\\\"),
                        char => line.push(char),
                    }
                }
            }
            LineForm::Markdown => {
                line.push_str(if column == 0 { "| " } else { " | " });
                for char in value.unwrap_or_default().chars() {
                    match char {
                        '|' | '\\' => line.extend(['\\', char]),
                        '\n' => line.push_str("<br>"),
                        '\r' => {}
                        '<' => line.push_str("&lt;"),
                        char => line.push(char),
                    }
                }
            }
        }
    }

    fn end(self, line: &mut String) {
        line.push_str(match self {
            LineForm::Csv | LineForm::Tsv => "\n",
            LineForm::Markdown => " |\n",
        });
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

impl ResultWriter for LineWriter {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), Error> {
        self.begin(out)?;
        let mut text = self.columns.text(batch)?;
        let mut line = String::new();
        for row in 0..batch.num_rows() {
            line.clear();
            for column in 0..text.columns() {
                self.form.push(column, text.value(row, column)?, &mut line);
            }
            self.form.end(&mut line);
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

#[cfg(test)]
mod tests {
    use super::super::samples::{printed, texts};
    use super::super::{Form, samples};

    #[test]
    fn what_separates_is_escaped() {
        let rows = [Some("a|b"), Some("tab\there"), Some("two\nlines\\"), Some("<b>"), None];
        let batch = texts(&[("na|me", &rows), ("n", &rows.map(|_| Some("1")))]);
        assert_eq!(
            printed(Form::Tsv, std::slice::from_ref(&batch)),
            "na|me\tn\na|b\t1\ntab\\there\t1\ntwo\\nlines\\\\\t1\n<b>\t1\n\\N\t1\n"
        );
        assert_eq!(
            printed(Form::Markdown, &[batch]),
            "| na\\|me | n |\n| --- | --- |\n| a\\|b | 1 |\n| tab\there | 1 |\n\
             | two<br>lines\\\\ | 1 |\n| &lt;b> | 1 |\n|  | 1 |\n"
        );
    }

    #[test]
    fn a_header_even_without_rows() {
        let batch = texts(&[("a", &[]), ("b", &[])]);
        assert_eq!(printed(Form::Tsv, std::slice::from_ref(&batch)), "a\tb\n");
        assert_eq!(printed(Form::Markdown, &[batch]), "| a | b |\n| --- | --- |\n");
    }

    #[test]
    fn quoting_in_csv() {
        let rows = [Some("plain"), Some("a,b"), Some("say \"hi\""), Some("two\nlines"), Some("cr\r"), Some(""), None];
        let batch = texts(&[("na\"me", &rows), ("n", &rows.map(|_| Some("1")))]);
        assert_eq!(
            printed(Form::Csv, &[batch]),
            "\"na\"\"me\",n\nplain,1\n\"a,b\",1\n\"say \"\"hi\"\"\",1\n\"two\nlines\",1\n\"cr\r\",1\n\"\",1\n,1\n"
        );
    }

    #[test]
    fn a_header_of_csv_even_without_rows() {
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
