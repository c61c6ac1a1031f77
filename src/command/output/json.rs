//! Results as JSON.

use std::io::Write;

use arrow::array::RecordBatch;
use bytes::BytesMut;

use super::json_value::{JsonColumn, label};
use super::{Error, ResultColumns, ResultWriter};

/// What stands around the objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    Array,
    /// Nothing: NDJSON.
    Lines,
}

/// Writes objects, one to a line.
pub(super) struct JsonWriter {
    columns: ResultColumns,
    around: Rows,
    /// The names as JSON strings, each with its colon.
    labels: Vec<String>,
    rows: u64,
}

impl JsonWriter {
    pub(super) fn new(columns: ResultColumns, around: Rows) -> Result<Self, Error> {
        let mut sorted: Vec<&str> = columns.names().collect();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::ColumnTwice { column: twice[0].to_owned() });
        }
        let labels = columns.names().map(label).collect();
        Ok(Self { columns, around, labels, rows: 0 })
    }
}

impl ResultWriter for JsonWriter {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<(), Error> {
        let fields = self.columns.fields();
        let columns = fields
            .iter()
            .zip(batch.columns())
            .map(|(field, array)| JsonColumn::new(field, array).map_err(|source| Error::value(field.name(), source)));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let (mut line, mut buffer) = (String::new(), BytesMut::new());
        for row in 0..batch.num_rows() {
            line.clear();
            line.push_str(match (self.around, self.rows) {
                (Rows::Array, 0) => "[\n{",
                (Rows::Array, _) => ",\n{",
                (Rows::Lines, _) => "{",
            });
            for (at, column) in columns.iter().enumerate() {
                line.push_str(if at == 0 { "" } else { "," });
                line.push_str(&self.labels[at]);
                let written = column.write(row, &mut buffer, &mut line);
                written.map_err(|source| Error::value(fields[at].name(), source))?;
            }
            line.push_str(if self.around == Rows::Array { "}" } else { "}\n" });
            out.write_all(line.as_bytes())?;
            self.rows += 1;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        Ok(out.write_all(match (self.around, self.rows) {
            (Rows::Array, 0) => b"[]\n",
            (Rows::Array, _) => b"\n]\n",
            (Rows::Lines, _) => b"",
        })?)
    }

    /// The array stays open: a parser refuses it.
    fn abandon(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        Ok(out.write_all(if self.rows == 0 || self.around == Rows::Lines { b"" } else { b"\n" })?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{columns_of, printed, texts};
    use super::super::{Form, samples};
    use super::*;

    #[test]
    fn an_array_of_objects() {
        assert_eq!(
            printed(Form::Json, &[samples::entity(), texts(&[])]),
            concat!(
                "[\n{\"PartitionKey\":\"a\",\"Count\":1,\"Big\":9223372036854775807,\"Ratio\":0.1,\"On\":true,",
                "\"At\":\"1601-01-01T00:00:00Z\",\"Data\":\"AP8=\",\"Id\":\"00112233-4455-6677-8899-aabbccddeeff\"},\n",
                "{\"PartitionKey\":\"b\",\"Count\":null,\"Big\":null,\"Ratio\":\"NaN\",\"On\":false,",
                "\"At\":\"9999-12-31T23:59:59.999999Z\",\"Data\":\"\",\"Id\":null}\n]\n"
            )
        );
        assert_eq!(printed(Form::Json, &[texts(&[("a", &[])])]), "[]\n");
    }

    #[test]
    fn an_object_a_line() {
        let rows = texts(&[("a", &[Some("1"), None])]);
        assert_eq!(printed(Form::Ndjson, &[rows.clone(), rows]), "{\"a\":\"1\"}\n{\"a\":null}\n".repeat(2));
        assert_eq!(printed(Form::Ndjson, &[texts(&[("a", &[])])]), "");
    }

    #[test]
    fn it_reads_back() {
        let nasty = ["\"", "\\", "\n\t\u{1}", "é日🙂", "</script>"].map(Some);
        let text = printed(Form::Json, &[texts(&[("na\"me", &nasty)])]);
        let rows: Vec<serde_json::Map<String, serde_json::Value>> = serde_json::from_str(&text).unwrap();
        let values: Vec<_> = rows.iter().map(|row| row["na\"me"].as_str()).collect();
        assert_eq!(values, nasty);
    }

    #[test]
    fn names_must_differ() {
        let batch = texts(&[("a", &[]), ("b", &[]), ("a", &[])]);
        let error = JsonWriter::new(columns_of(&batch), Rows::Array).err().unwrap();
        assert!(error.to_string().contains("\"a\""), "{error}");
        assert!(error.hint().is_some());
    }

    #[test]
    fn an_interrupted_result_is_no_array() {
        let batch = texts(&[("a", &[Some("1")])]);
        let mut writer = JsonWriter::new(columns_of(&batch), Rows::Array).unwrap();
        let mut out = Vec::new();
        writer.batch(&batch, &mut out).unwrap();
        writer.abandon(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "[\n{\"a\":\"1\"}\n");
    }
}
