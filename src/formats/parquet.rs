//! Parquet with the keys as columns: our own files, and those of other tools.
//!
//! `PartitionKey` and `RowKey` are string columns without nulls; `Timestamp` is optional. Every
//! other column is a property of its name, typed by the column: Boolean, integers of 8 and 16 bits
//! and Int32 are Int32, UInt32 and Int64 are Int64 (UInt64 too, where a value fits), Float is
//! Double, strings are String, binaries Binary, 16 bytes with the UUID type Guid, timestamps of any
//! unit and zone and dates DateTime. A timestamp without zone is UTC. Nanoseconds that are no whole
//! tick of 100 ns are rounded down, INT96 timestamps to the microsecond. Null is absence. Columns
//! of other types are refused by name, those beginning with `odata.` are not read.
//!
//! As in our own files, `P:Int64` is a column of those values of property `P` that have this type,
//! and `P:tick` has the 100 ns digit below the microsecond of `P` (or `P:DateTime`). The column
//! `(other)` is not read yet, and refused.
//!
//! Keys may be made of other columns, and types that the user names overrule those of the columns.
//! A column `__index_level_0__` (and so on) is the index of pandas, which is not read.

mod columns;
mod layout;
mod pieces;
mod writer;

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::ParquetMetaData;

use self::columns::{BatchColumns, ReadableColumns};
use self::layout::Layout;
use self::pieces::{Piece, Pieces, row_bytes};
pub(super) use self::writer::{BatchWriter, ParquetWriter, PartitionFolders};
use super::assumed::{TypeSamples, Typing};
use super::chunk::Chunk;
use super::error::{Error, Reject};
use super::notes::WarningKind;
use super::ordered;
use super::place::Place;
use super::reading::Reading;
use super::reject_line::LineBuilder;
use super::source::Source;
use rowkey_model::columns::is_text;
use rowkey_model::rows::Rows;

/// Rows read at once.
const BATCH_ROWS_MAX: u64 = 8192;
const BATCH_ROWS_MIN: u64 = 16;
/// Longest row that is kept where rejects are, as of other formats.
const REJECT_BYTES_MAX: usize = 16 << 20;

pub(super) fn decode<E: From<Error>>(
    source: Source,
    reading: &Reading<'_>,
    sink: &mut dyn FnMut(Chunk) -> Result<(), E>,
) -> Result<(), E> {
    let (input, file) = source.into_file("Parquet is read from its end")?;
    let failed = |source| Error::Parquet { input: Arc::clone(&input), source };
    let (metadata, schema) = guarded(&input, || read_metadata(&file))?.map_err(failed)?;
    let layout = Layout::of(&input, &schema, reading)?;
    let mut groups = RowGroups::of(metadata.metadata());
    let batch_rows = batch_rows(metadata.metadata(), reading.options.chunk_bytes);
    let projection = ProjectionMask::roots(metadata.parquet_schema(), layout.columns_read());
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
        .with_projection(projection)
        .with_batch_size(batch_rows);
    let mut reader = guarded(&input, || builder.build())?.map_err(failed)?;
    let mut rows_read = 0;
    let mut pieces = Pieces::default();
    let produce = || loop {
        if let Some(piece) = pieces.next() {
            return Ok(Some(piece));
        }
        reading.progress.add_bytes_read(groups.begun_at(rows_read));
        let Some(batch) = guarded(&input, || reader.next())? else { return Ok(None) };
        let batch = batch.map_err(|source| Error::Arrow { input: Arc::clone(&input), source })?;
        pieces.cut(rows_read + 1, &batch, reading.options.chunk_bytes);
        rows_read += batch.num_rows() as u64;
    };
    let work = |samples: &mut TypeSamples, piece: Piece| decode_piece(&input, &layout, reading, samples, &piece);
    ordered::run(reading.options.threads, produce, TypeSamples::default, work, sink)
}

fn decode_piece(
    input: &Arc<str>,
    layout: &Layout,
    reading: &Reading<'_>,
    samples: &mut TypeSamples,
    Piece { first_row, batch }: &Piece,
) -> Result<Chunk, Error> {
    let readable = ReadableColumns::of(input, batch)?;
    let columns = BatchColumns::of(input, layout, &readable)?;
    for column in columns.cut() {
        let reason = format!(
            "column \"{column}\" has times finer than 100 ns, which is what a DateTime holds: they were rounded down"
        );
        reading.notes.warn(WarningKind::Lenient, reason);
    }
    let mut chunk = Chunk { rows: Rows::with_capacity(batch.num_rows(), 0), ..Chunk::default() };
    for (i, row_bytes) in row_bytes(batch).into_iter().enumerate() {
        let place = Place::Row(first_row + i as u64);
        if let Err(reason) = columns.append(i, &mut chunk.rows, reading.names) {
            let reject = || Reject { input: Arc::clone(input), place, reason };
            let keep = reading.options.keep_rejects && row_bytes <= REJECT_BYTES_MAX;
            chunk.reject(keep, reject, |reject, lines| {
                let mut line = LineBuilder::begin(reject, lines);
                columns.write(i, &mut line);
                line.end();
            });
        } else {
            reading.set_origin(&mut chunk.rows, place);
        }
    }
    if layout.is_foreign {
        reading.look_at(&chunk.rows, Typing::ByForm, samples);
    }
    chunk.rows.sort();
    Ok(chunk)
}

/// Turns a panic of the Parquet reader into an error: it does not check everything that a damaged
/// file may say.
fn guarded<T>(input: &Arc<str>, read: impl FnOnce() -> T) -> Result<T, Error> {
    // What a panic leaves behind is dropped unused, since the error ends the decoding.
    catch_unwind(AssertUnwindSafe(read)).map_err(|panic| {
        let reason = match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
            (Some(reason), _) => reason.clone(),
            (_, Some(reason)) => (*reason).to_owned(),
            _ => "it cannot be read".to_owned(),
        };
        Error::DamagedParquet { input: Arc::clone(input), reason }
    })
}

/// Reads the footer, and gives the columns as the file has them. They are read otherwise: texts and
/// binaries as views, since rows that share a value of a dictionary then share its memory; INT96
/// timestamps as microseconds, since nanoseconds reach from 1677 to 2262 only.
fn read_metadata(file: &File) -> parquet::errors::Result<(ArrowReaderMetadata, SchemaRef)> {
    let metadata = ArrowReaderMetadata::load(file, ArrowReaderOptions::new())?;
    let leaves = metadata.parquet_schema();
    let is_int96 = |name: &str| {
        let leaf = leaves.columns().iter().find(|leaf| leaf.path().parts() == [name]);
        leaf.is_some_and(|leaf| leaf.physical_type() == PhysicalType::INT96)
    };
    let read_as = |field: &Field| match field.data_type() {
        _ if is_int96(field.name()) => DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        text if is_text(text) => DataType::Utf8View,
        other => other.clone(),
    };
    let schema = Arc::clone(metadata.schema());
    let fields: Vec<Field> =
        schema.fields().iter().map(|field| field.as_ref().clone().with_data_type(read_as(field))).collect();
    let options = ArrowReaderOptions::new().with_schema(Arc::new(Schema::new(fields)));
    Ok((ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options)?, schema))
}

/// Rows of about `chunk_bytes`, by the sizes in the footer: of what is read, not of what is made of
/// it. Binaries of a fixed size are no views.
fn batch_rows(metadata: &ParquetMetaData, chunk_bytes: usize) -> usize {
    let row_bytes = |group: &parquet::file::metadata::RowGroupMetaData| {
        u64::try_from(group.total_byte_size()).unwrap_or(0) / u64::try_from(group.num_rows()).unwrap_or(0).max(1)
    };
    let row_bytes_max = metadata.row_groups().iter().map(row_bytes).max().unwrap_or(0).max(1);
    let columns = metadata.file_metadata().schema_descr().columns();
    let fixed = columns.iter().filter(|column| column.physical_type() == PhysicalType::FIXED_LEN_BYTE_ARRAY);
    let fixed_bytes: u64 = fixed.map(|column| u64::try_from(column.type_length()).unwrap_or(0)).sum();
    let rows = (chunk_bytes as u64 / row_bytes_max).clamp(BATCH_ROWS_MIN, BATCH_ROWS_MAX);
    rows.min(chunk_bytes as u64 / fixed_bytes.max(1)).max(1) as usize
}

/// The sizes of row groups, to tell how much of the file was begun.
struct RowGroups {
    /// First row and compressed bytes of the groups not yet begun, the next one last.
    ahead: Vec<(u64, u64)>,
}

impl RowGroups {
    fn of(metadata: &ParquetMetaData) -> Self {
        let mut first = 0;
        let mut ahead = Vec::with_capacity(metadata.num_row_groups());
        for group in metadata.row_groups() {
            ahead.push((first, u64::try_from(group.compressed_size()).unwrap_or(0)));
            first += u64::try_from(group.num_rows()).unwrap_or(0);
        }
        ahead.reverse();
        Self { ahead }
    }

    /// Bytes of the groups that begin at or before `row` and were not counted before.
    fn begun_at(&mut self, row: u64) -> u64 {
        let mut bytes = 0;
        while let Some((_, group_bytes)) = self.ahead.pop_if(|(first, _)| *first <= row) {
            bytes += group_bytes;
        }
        bytes
    }
}

#[cfg(test)]
mod tests;
