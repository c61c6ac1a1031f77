//! CSV without types, for spreadsheets and scripts.
//!
//! The first line names PartitionKey, RowKey, Timestamp and the properties by name. A property that
//! an entity does not have is empty, an empty text is a pair of quotes.

use crate::csv_cell::push_cell;
use crate::output::{Sink, WriteError};
use crate::survey::{Cells, Survey};
use crate::value_text::{push_time, push_value};
use rowkey_model::rows::Rows;
use rowkey_model::{EdmType, ValueRef};

pub(super) struct PlainCsvWriter {
    sink: Sink,
    cells: Cells,
    out: Vec<u8>,
    text: Vec<u8>,
}

impl PlainCsvWriter {
    pub(super) fn new(mut sink: Sink, survey: &Survey) -> Result<Self, WriteError> {
        let properties = survey.properties();
        let mut header = b"PartitionKey,RowKey,Timestamp".to_vec();
        for property in &properties {
            header.push(b',');
            header.extend_from_slice(property.name.as_bytes());
        }
        header.push(b'\n');
        sink.put(&header)?;
        Ok(Self { sink, cells: Cells::of(survey, &properties), out: Vec::new(), text: Vec::new() })
    }

    pub(super) fn write(&mut self, rows: &Rows) -> Result<(), WriteError> {
        self.out.clear();
        let mut cells: Vec<Option<ValueRef<'_>>> = Vec::new();
        for row in rows.iter() {
            let key = row.key();
            self.push_text(key.partition);
            self.out.push(b',');
            self.push_text(key.row);
            self.out.push(b',');
            if let Some(at) = row.timestamp() {
                push_time(&mut self.out, at);
            }
            self.cells.place(self.sink.name(), row, &mut cells)?;
            for cell in &cells {
                self.out.push(b',');
                match cell {
                    None => {}
                    Some(ValueRef::String(text)) => self.push_text(text),
                    Some(value) => {
                        self.text.clear();
                        push_value(&mut self.text, *value);
                        // Binaries alone can be empty, and are not absent.
                        debug_assert!(!self.text.is_empty() || value.edm_type() == EdmType::Binary);
                        if self.text.is_empty() {
                            self.out.extend_from_slice(b"\"\"");
                        }
                        self.out.extend_from_slice(&self.text);
                    }
                }
            }
            self.out.push(b'\n');
        }
        self.sink.put(&self.out)
    }

    pub(super) fn finish(self) -> Result<(), WriteError> {
        self.sink.finish()
    }

    fn push_text(&mut self, text: &str) {
        if text.is_empty() {
            self.out.extend_from_slice(b"\"\"");
        } else {
            push_cell(&mut self.out, text.as_bytes());
        }
    }
}
