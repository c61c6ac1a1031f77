//! Entities as the service's JSON, one to a line, made as they are read.

use std::io::{self, Read};

use rowkey_model::{DateTime, Value};

/// Text that is made at a time, in bytes.
const CHUNK_BYTES: usize = 64 << 10;

/// Entities one after another.
pub(super) trait Entities: Send {
    /// Writes the next entity; false when there is none.
    fn write_next(&mut self, to: &mut EntityText) -> bool;
}

/// The text of entities, in minimal metadata: types are named where the form of the value does not
/// tell them.
#[derive(Debug, Default)]
pub(super) struct EntityText(String);

impl EntityText {
    pub(super) fn begin(&mut self, partition: &str, row: &str, timestamp: DateTime) -> &mut Self {
        self.0.push_str("{\"PartitionKey\":");
        self.text(partition);
        self.0.push_str(",\"RowKey\":");
        self.text(row);
        self.0.push_str(&format!(",\"Timestamp\":\"{timestamp}\""));
        self
    }

    pub(super) fn property(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        let value = value.into();
        match &value {
            Value::String(text) => {
                self.0.push_str(&format!(",\"{name}\":"));
                self.text(text);
            }
            Value::Boolean(_) | Value::Int32(_) => self.0.push_str(&format!(",\"{name}\":{value}")),
            Value::Double(double) if double.is_finite() => self.0.push_str(&format!(",\"{name}\":{value}")),
            _ => {
                let edm_type = value.edm_type();
                self.0.push_str(&format!(",\"{name}@odata.type\":\"Edm.{edm_type}\",\"{name}\":\"{value}\""));
            }
        }
        self
    }

    pub(super) fn end(&mut self) {
        self.0.push_str("}\n");
    }

    fn text(&mut self, text: &str) {
        self.0.push_str(&serde_json::Value::from(text).to_string());
    }
}

/// Entities as a stream of bytes.
#[derive(Debug)]
pub(super) struct Lines<E> {
    entities: E,
    text: EntityText,
    /// How much of `text` was read.
    read: usize,
}

impl<E: Entities> Lines<E> {
    pub(super) fn new(entities: E) -> Self {
        Self { entities, text: EntityText::default(), read: 0 }
    }
}

impl<E: Entities> Read for Lines<E> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.text.0.len() {
            self.text.0.clear();
            self.read = 0;
            while self.text.0.len() < CHUNK_BYTES && self.entities.write_next(&mut self.text) {}
        }
        let bytes = (&self.text.0.as_bytes()[self.read..]).read(buffer)?;
        self.read += bytes;
        Ok(bytes)
    }
}
