//! Writing Storage Explorer's CSV in its newest form.
//!
//! PartitionKey, RowKey and Timestamp come first, then the properties by name, each followed by its
//! column of types. Every value has its own type beside it, without the prefix `Edm.`; both cells
//! are empty where an entity lacks the property. Times have seven digits.

use crate::csv_cell::push_cell;
use crate::output::{Sink, WriteError};
use crate::survey::{Cells, Survey};
use crate::value_text::{push_ticks, push_value};
use rowkey_model::ValueRef;
use rowkey_model::rows::Rows;

pub(crate) struct TypedCsvWriter {
    sink: Sink,
    cells: Cells,
    out: Vec<u8>,
}

impl TypedCsvWriter {
    pub(crate) fn new(mut sink: Sink, survey: &Survey) -> Result<Self, WriteError> {
        let properties = survey.properties();
        let mut header = b"PartitionKey,RowKey,Timestamp".to_vec();
        // Names of properties are identifiers, which need no quotes.
        for property in &properties {
            for suffix in ["", super::header::TYPE_SUFFIX] {
                header.push(b',');
                header.extend_from_slice(property.name.as_bytes());
                header.extend_from_slice(suffix.as_bytes());
            }
        }
        header.push(b'\n');
        sink.put(&header)?;
        Ok(Self { sink, cells: Cells::of(survey, &properties), out: Vec::new() })
    }

    pub(crate) fn write(&mut self, rows: &Rows) -> Result<(), WriteError> {
        self.out.clear();
        let mut cells: Vec<Option<ValueRef<'_>>> = Vec::new();
        for row in rows.iter() {
            let key = row.key();
            push_cell(&mut self.out, key.partition.as_bytes());
            self.out.push(b',');
            push_cell(&mut self.out, key.row.as_bytes());
            self.out.push(b',');
            if let Some(at) = row.timestamp() {
                push_ticks(&mut self.out, at);
            }
            self.cells.place(self.sink.name(), row, &mut cells)?;
            for cell in &cells {
                self.out.push(b',');
                match cell {
                    Some(ValueRef::String(text)) => push_cell(&mut self.out, text.as_bytes()),
                    Some(ValueRef::DateTime(at)) => push_ticks(&mut self.out, *at),
                    Some(value) => push_value(&mut self.out, *value),
                    None => {}
                }
                self.out.push(b',');
                if let Some(value) = cell {
                    self.out.extend_from_slice(value.edm_type().name().as_bytes());
                }
            }
            self.out.push(b'\n');
        }
        self.sink.put(&self.out)
    }

    pub(crate) fn finish(self) -> Result<(), WriteError> {
        self.sink.finish()
    }
}
