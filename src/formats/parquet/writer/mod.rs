//! Writing Parquet that this importer, and every other reader, reads back.
//!
//! The columns are PartitionKey, RowKey, Timestamp and its tick, then the properties by name: `P`
//! where a property has one type, and `P:Int64` and so on where it has several. `P:tick` has the
//! 100 ns digit of DateTimes, which Parquet's microseconds lack.

mod columns;
mod folders;

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression as Codec, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;

use self::columns::Columns;
pub(crate) use self::folders::PartitionFolders;
use crate::output::{Compression, Sink, WriteError};
use crate::survey::Survey;
use rowkey_model::rows::RowRef;

/// Rows gathered before they are encoded.
const BATCH_ROWS: usize = 4096;
/// A row group ends when it holds so many bytes.
const ROW_GROUP_BYTES: usize = 64 << 20;
const ROW_GROUP_ROWS: usize = 1 << 20;

/// Entities in one file.
pub(crate) struct ParquetWriter {
    schema: SchemaRef,
    writer: BatchWriter,
    columns: Columns,
}

impl ParquetWriter {
    pub(crate) fn new(sink: Sink, survey: &Survey, compression: Option<Compression>) -> Result<Self, WriteError> {
        let columns = Columns::of(survey);
        let schema: SchemaRef = Arc::new(Schema::new(columns.fields()));
        Ok(Self { writer: BatchWriter::new(sink, Arc::clone(&schema), compression)?, schema, columns })
    }

    pub(crate) fn write<'r>(&mut self, rows: impl Iterator<Item = RowRef<'r>>) -> Result<(), WriteError> {
        for row in rows {
            self.columns.push(&self.writer.name, row)?;
            if self.columns.rows() >= BATCH_ROWS {
                self.encode()?;
            }
        }
        Ok(())
    }

    fn encode(&mut self) -> Result<(), WriteError> {
        let name = Arc::clone(&self.writer.name);
        let batch = self.columns.finish(&self.schema);
        self.writer.write(&batch.map_err(|error| WriteError::Parquet { name, source: error.into() })?)
    }

    pub(crate) fn finish(mut self) -> Result<(), WriteError> {
        if self.columns.rows() > 0 {
            self.encode()?;
        }
        self.writer.finish()
    }
}

fn properties(compression: Option<Compression>) -> WriterProperties {
    let codec = match compression {
        Some(Compression::Gzip) => Codec::GZIP(GzipLevel::default()),
        Some(Compression::Zstd) | None => Codec::ZSTD(ZstdLevel::default()),
    };
    WriterProperties::builder()
        .set_created_by(concat!("rowkey ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(codec)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .build()
}

/// Rows of any columns, in one file.
pub(crate) struct BatchWriter {
    name: Arc<str>,
    writer: ArrowWriter<Sink>,
}

impl BatchWriter {
    pub(crate) fn new(sink: Sink, schema: SchemaRef, compression: Option<Compression>) -> Result<Self, WriteError> {
        let name = Arc::clone(sink.name());
        match ArrowWriter::try_new(sink, schema, Some(properties(compression))) {
            Ok(writer) => Ok(Self { name, writer }),
            Err(source) => Err(WriteError::Parquet { name, source }),
        }
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        let failed = |source| WriteError::Parquet { name: Arc::clone(&self.name), source };
        self.writer.write(batch).map_err(failed)?;
        if self.writer.memory_size().max(self.writer.in_progress_size()) >= ROW_GROUP_BYTES {
            self.writer.flush().map_err(failed)?;
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<(), WriteError> {
        let Self { name, writer } = self;
        writer.into_inner().map_err(|source| WriteError::Parquet { name, source })?.finish()
    }
}
