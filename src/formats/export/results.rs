//! Rows of a query on their way out: whatever columns they have.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::writer::ExportTarget;
use crate::output::{Sink, WriteError};
use crate::parquet::BatchWriter;

/// Text that the caller makes.
#[derive(Debug)]
pub struct LineOutput(Sink);

impl LineOutput {
    /// Begins one file or stream. Of the target only the destination, the compression and whether
    /// something is replaced matter.
    pub fn open(target: ExportTarget) -> Result<Self, WriteError> {
        Ok(Self(Sink::open(target.destination, target.overwrite, target.compression, &target.written)?))
    }

    /// Writes all of `content`.
    pub fn put(&mut self, content: &[u8]) -> Result<(), WriteError> {
        self.0.put(content)
    }

    /// Ends the output: it is durable under its name.
    pub fn finish(self) -> Result<(), WriteError> {
        self.0.finish()
    }
}

/// Batches as one Parquet file.
pub struct TableWriter(BatchWriter);

impl TableWriter {
    /// Begins one file or stream with these columns; the compression is that of the pages in it.
    pub fn open(target: ExportTarget, schema: &SchemaRef) -> Result<Self, WriteError> {
        let sink = Sink::open(target.destination, target.overwrite, None, &target.written)?;
        Ok(Self(BatchWriter::new(sink, SchemaRef::clone(schema), target.compression)?))
    }

    /// Writes the rows of a batch, which has the columns of the file.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        self.0.write(batch)
    }

    /// Ends the output: it is durable under its name.
    pub fn finish(self) -> Result<(), WriteError> {
        self.0.finish()
    }
}

impl std::fmt::Debug for TableWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TableWriter")
    }
}
