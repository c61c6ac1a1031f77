//! Writing a run file.
//!
//! All rows of a file are at hand when it is written, so its columns, their encodings and its row
//! groups are chosen from what is really in it, in one pass before the first byte.
//!
//! # Codec and sizes
//!
//! Measured on 400,000 generated entities of 17 columns (200 of 1,000 keys' partitions, 65,536 rows
//! a row group), on one core of a virtual machine. A point read decodes one page of keys, then one
//! page of each column:
//!
//! | codec, rows a page | bytes a row | page index a file | page of keys | row | scan of all columns | write |
//! |---|---|---|---|---|---|---|
//! | zstd 1, 256 | 97.7 | 984 kB | 96 us | 1,071 us | 2.2 M rows/s | 0.63 M rows/s |
//! | zstd 1, 1,024 | 91.6 | 258 kB | 116 us | 1,249 us | 2.6 M rows/s | 0.83 M rows/s |
//! | zstd 1, 4,096 | 86.4 | 67 kB | 188 us | 1,865 us | 2.8 M rows/s | 0.92 M rows/s |
//! | zstd 3, 1,024 | 85.8 | 258 kB | 115 us | 1,194 us | 2.7 M rows/s | 0.75 M rows/s |
//! | snappy, 1,024 | 113.0 | 258 kB | 34 us | 422 us | 3.3 M rows/s | 1.15 M rows/s |
//! | lz4, 256 | 132.5 | 986 kB | 18 us | 222 us | 3.8 M rows/s | 1.02 M rows/s |
//! | **lz4, 1,024** | 119.9 | 258 kB | 32 us | 273 us | 4.3 M rows/s | 1.15 M rows/s |
//! | lz4, 2,048 | 118.5 | 131 kB | 55 us | 383 us | 3.9 M rows/s | 1.07 M rows/s |
//! | lz4, 4,096 | 116.5 | 67 kB | 101 us | 597 us | 3.8 M rows/s | 1.04 M rows/s |
//!
//! Zstd spends about 60 us a page on its context, whatever the page holds, which no page size
//! mends; lz4 reads a point four times as fast and scans 1.7 times as fast for 30 % more space. Row
//! groups of 131,072 rows gave the same. A pass over the keys of all rows, which is what computing
//! a mask takes, runs at 38 M rows/s.

use std::io::{BufWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, BinaryBuilder};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::checksums::Checksums;
use super::known_keys::KnownKeys;
use super::layout::{PAGE_ROWS, RunColumn, RunLayout};
use super::live_rows::LiveRows;
use super::other;
use super::row_groups::{row_group_ends, rows_of_bytes};
use super::run_file::{ColumnSummary, Holders, RunFile};
use super::statistics::{ColumnStatistics, ValueHasher};
use crate::error::{Error, Result};
use rowkey_model::columns::{
    BytesLayout, Capacity, KeyBuilder, PARTITION_KEY, PropertyBuilder, ROW_KEY, TIMESTAMP, view_batch,
};
use rowkey_model::files::{self, FileStore, Publication};
use rowkey_model::rows::{PropertyId, PropertyNames, RowRef};
use rowkey_model::{DateTime, EdmType, KEY_UTF16_UNITS_MAX};

/// Rows of a batch handed to the Parquet writer, unless they are wide.
const BATCH_ROWS: usize = 8 * 1024;
/// Encoded bytes of such a batch, about.
const BATCH_BYTES: u64 = 8 << 20;
/// Bytes of a page of wide values, about.
const PAGE_BYTES: u64 = 1 << 20;
/// Texts longer than this on average have no statistics per page: they would make the page index
/// large and prune little.
const PAGE_STATISTICS_BYTES_MAX: u64 = 48;
/// A key of 1,024 UTF-16 units has at most this many bytes, so bounds of keys are never cut.
const BOUND_BYTES_MAX: usize = KEY_UTF16_UNITS_MAX * 3;

/// What is needed beside the rows themselves.
#[derive(Debug, Clone, Copy)]
pub struct WriteOptions<'a> {
    pub names: &'a PropertyNames,
    /// By property number: the place of its column in the table, or none where it goes to
    /// `(other)`.
    pub column_ranks: &'a [Option<u32>],
    /// Given to rows that bring no Timestamp.
    pub timestamp: DateTime,
}

/// Writes `rows`, which are in strictly ascending key order and not none, as the file `id` at
/// `path`, and publishes it: when this returns the file is durable. Nothing names it yet. The rows
/// are gone through twice.
pub fn write_run<'r>(
    store: &Arc<dyn FileStore>,
    path: &str,
    id: u64,
    rows: impl Iterator<Item = RowRef<'r>> + Clone,
    options: WriteOptions<'_>,
) -> Result<RunFile> {
    let survey = Survey::take(rows.clone(), options);
    let Some((first, last)) = survey.bounds else {
        return Err(Error::corrupt(path, "a run file without rows"));
    };
    let schema = survey.layout.schema();
    let failure = Arc::new(Mutex::new(None));
    let publication = Publication::start(Arc::clone(store), path)?;
    let output = Output {
        publication: Some(publication),
        crc32c: 0,
        checksums: Checksums::default(),
        failure: Arc::clone(&failure),
    };
    let properties = survey.properties(&schema);
    let written = (|| {
        let mut writer =
            ArrowWriter::try_new(BufWriter::with_capacity(1 << 20, output), Arc::clone(&schema), Some(properties))?;
        let batch_rows = rows_of_bytes(survey.encoded_bytes / survey.rows.max(1), BATCH_BYTES, BATCH_ROWS);
        let mut begun: Option<BatchBuilder<'_>> = None;
        let mut groups = survey.row_group_ends.iter().peekable();
        for (position, row) in rows.enumerate() {
            let rows_max = batch_rows.min(survey.rows as usize - position);
            let batch = begun.get_or_insert_with(|| BatchBuilder::new(&survey, &schema, options, rows_max));
            batch.push(row);
            let group_ends = groups.next_if(|&&end| end == position + 1).is_some();
            if group_ends || batch.rows == batch_rows {
                let batch = begun.take().map(BatchBuilder::finish).transpose()?;
                batch.map_or(Ok(()), |batch| writer.write(&batch))?;
            }
            if group_ends {
                writer.flush()?;
            }
        }
        let metadata = writer.finish()?;
        writer.inner_mut().flush()?;
        let output = writer.inner_mut().get_mut();
        Ok::<_, ParquetError>((
            metadata,
            output.publication.take(),
            output.crc32c,
            std::mem::take(&mut output.checksums),
        ))
    })();
    let (metadata, publication, crc32c, checksums) = written.map_err(|error| match take(&failure) {
        Some(error) => Error::Files(error),
        None => Error::corrupt(path, format!("the Parquet writer failed: {error}")),
    })?;
    let publication = publication.ok_or_else(|| Error::corrupt(path, "it is published already"))?;
    let bytes = publication.bytes();
    publication.finish()?;
    let data_end = metadata
        .row_groups()
        .iter()
        .flat_map(|group| group.columns())
        .map(|column| column.byte_range().0 + column.byte_range().1)
        .max()
        .unwrap_or(0);
    let key_pages = metadata.offset_index().map_or(0, |groups| {
        groups.iter().filter_map(|columns| columns.first()).map(|pages| pages.page_locations().len()).sum()
    });
    let columns = metadata.file_metadata().schema_descr().num_columns();
    let column_bytes = (0..columns)
        .map(|place| metadata.row_groups().iter().map(|group| group.column(place).compressed_size() as u64).sum())
        .collect();
    Ok(RunFile {
        id,
        path: path.to_owned(),
        bytes,
        crc32c,
        checksums,
        tail_bytes: bytes - data_end,
        encoded_bytes: survey.encoded_bytes,
        rows: survey.rows,
        first: first.key().to_key(),
        last: last.key().to_key(),
        partitions: survey.partitions,
        row_groups: metadata.row_groups().len() as u32,
        key_pages: key_pages as u32,
        column_bytes,
        columns: survey.summaries(),
        other: survey.layout.other,
        mask: None,
        live: LiveRows::default(),
        holders: Holders::default(),
        keys: KnownKeys::default(),
    })
}

/// Rows with the columns of a run file, as scans read them; the rows are in key order and bring
/// their Timestamps.
pub fn batch_of<'r>(
    rows: impl Iterator<Item = RowRef<'r>> + Clone,
    names: &PropertyNames,
    column_ranks: &[Option<u32>],
) -> Result<RecordBatch> {
    let options = WriteOptions { names, column_ranks, timestamp: DateTime::MIN };
    let survey = Survey::take(rows.clone(), options);
    let schema = survey.layout.schema();
    let mut batch = BatchBuilder::new(&survey, &schema, options, survey.rows as usize);
    rows.for_each(|row| batch.push(row));
    let views = batch.finish().and_then(|batch| Ok(view_batch(&batch)?));
    views.map_err(|error| Error::corrupt("recent writes", error))
}

/// Between the Parquet writer and the file: counts the checksum and keeps the file's own error,
/// which the Parquet writer would turn into text.
struct Output {
    /// Taken once everything is written.
    publication: Option<Publication>,
    crc32c: u32,
    checksums: Checksums,
    failure: Arc<Mutex<Option<files::Error>>>,
}

impl Write for Output {
    fn write(&mut self, content: &[u8]) -> std::io::Result<usize> {
        let Some(publication) = &mut self.publication else {
            return Err(std::io::Error::other("written behind the end of the file"));
        };
        if let Err(error) = publication.append(content) {
            let text = error.to_string();
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            return Err(std::io::Error::other(text));
        }
        self.crc32c = crc32c::crc32c_append(self.crc32c, content);
        self.checksums.append(publication.bytes() - content.len() as u64, content);
        Ok(content.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn take(failure: &Mutex<Option<files::Error>>) -> Option<files::Error> {
    failure.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// What the rows of a file are like.
struct Survey<'r> {
    /// The first and the last one.
    bounds: Option<(RowRef<'r>, RowRef<'r>)>,
    encoded_bytes: u64,
    /// Of all PartitionKeys, and of all RowKeys.
    key_bytes: [u64; 2],
    rows: u64,
    partitions: u64,
    layout: RunLayout,
    statistics: Vec<ColumnStatistics>,
    /// By property number and type: place in `layout.columns`.
    places: Vec<[Option<u32>; EdmType::ALL.len()]>,
    /// Row counts at which a row group ends.
    row_group_ends: Vec<usize>,
}

impl<'r> Survey<'r> {
    fn take(rows: impl Iterator<Item = RowRef<'r>>, options: WriteOptions<'_>) -> Self {
        let hasher = ValueHasher::default();
        let mut found: Vec<[Option<Box<ColumnStatistics>>; EdmType::ALL.len()]> = Vec::new();
        let mut other = false;
        let mut partition_rows: Vec<usize> = Vec::new();
        let mut partition: &[u8] = &[];
        let (mut encoded_bytes, mut key_bytes) = (0, [0; 2]);
        let mut bounds: Option<(RowRef<'r>, RowRef<'r>)> = None;
        for row in rows {
            bounds = Some((bounds.map_or(row, |(first, _)| first), row));
            encoded_bytes += row.encoded_bytes().len() as u64;
            let partition_bytes = row.partition_bytes().len();
            key_bytes[0] += partition_bytes as u64;
            key_bytes[1] += (row.key_bytes().len() - partition_bytes - 1) as u64;
            match partition_rows.last_mut() {
                Some(count) if row.partition_bytes() == partition => *count += 1,
                _ => {
                    partition = row.partition_bytes();
                    partition_rows.push(1);
                }
            }
            for (id, value) in row.properties() {
                if rank(options, id).is_none() {
                    other = true;
                    continue;
                }
                if found.len() <= id.index() {
                    found.resize_with(id.index() + 1, Default::default);
                }
                found[id.index()][value.edm_type() as usize]
                    .get_or_insert_with(|| Box::new(ColumnStatistics::new()))
                    .add(value, &hasher);
            }
        }
        let mut columns: Vec<(u32, usize, EdmType, bool, ColumnStatistics)> = Vec::new();
        for (id, types) in found.into_iter().enumerate() {
            let typed_name = types.iter().flatten().count() > 1;
            for (edm, statistics) in EdmType::ALL.into_iter().zip(types) {
                if let (Some(statistics), Some(rank)) = (statistics, rank(options, PropertyId(id as u32))) {
                    columns.push((rank, id, edm, typed_name, *statistics));
                }
            }
        }
        columns.sort_by_key(|&(rank, _, edm, ..)| (rank, edm));
        let mut places = vec![[None; EdmType::ALL.len()]; columns.iter().map(|column| column.1 + 1).max().unwrap_or(0)];
        let mut layout = RunLayout { columns: Vec::with_capacity(columns.len()), other };
        let mut statistics = Vec::with_capacity(columns.len());
        for (place, (_, id, edm, typed_name, column)) in columns.into_iter().enumerate() {
            places[id][edm as usize] = Some(place as u32);
            let property = options.names.name(PropertyId(id as u32));
            layout.columns.push(RunColumn { property, edm, typed_name, tick: column.tick });
            statistics.push(column);
        }
        let rows = partition_rows.iter().sum::<usize>() as u64;
        Self {
            bounds,
            encoded_bytes,
            key_bytes,
            rows,
            partitions: partition_rows.len() as u64,
            layout,
            statistics,
            places,
            row_group_ends: row_group_ends(&partition_rows, encoded_bytes / rows.max(1)),
        }
    }

    fn place(&self, id: PropertyId, edm: EdmType) -> Option<usize> {
        self.places.get(id.index())?[edm as usize].map(|place| place as usize)
    }

    fn summaries(&self) -> Vec<ColumnSummary> {
        let summary = |(column, statistics): (&RunColumn, &ColumnStatistics)| {
            let (min, max) = statistics.bounds(column.edm).unzip();
            ColumnSummary { column: column.clone(), entities: statistics.entities, min, max }
        };
        self.layout.columns.iter().zip(&self.statistics).map(summary).collect()
    }

    fn properties(&self, schema: &SchemaRef) -> WriterProperties {
        let widest = self.statistics.iter().map(ColumnStatistics::value_bytes_mean).max().unwrap_or_default();
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("rowkey ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(vec![KeyValue::new("rowkey.layout".to_owned(), "1".to_owned())]))
            .set_compression(Compression::LZ4_RAW)
            .set_data_page_row_count_limit(PAGE_ROWS)
            .set_write_batch_size(rows_of_bytes(widest, PAGE_BYTES, PAGE_ROWS))
            .set_max_row_group_row_count(None)
            .set_dictionary_enabled(false)
            .set_column_index_truncate_length(Some(BOUND_BYTES_MAX))
            .set_statistics_truncate_length(Some(BOUND_BYTES_MAX))
            .set_sorting_columns(Some(
                [0, 1].map(|column_idx| SortingColumn { column_idx, descending: false, nulls_first: false }).to_vec(),
            ));
        // Neighbouring keys begin alike, and neighbouring timestamps are close.
        for key in [PARTITION_KEY, ROW_KEY] {
            properties = properties.set_column_encoding(ColumnPath::from(key), Encoding::DELTA_BYTE_ARRAY);
        }
        properties = properties.set_column_encoding(ColumnPath::from(TIMESTAMP), Encoding::DELTA_BINARY_PACKED);
        for field in schema.fields() {
            if field.name().ends_with(":tick") {
                properties = properties
                    .set_column_dictionary_enabled(ColumnPath::from(vec![field.name().clone()]), true)
                    .set_column_statistics_enabled(
                        ColumnPath::from(vec![field.name().clone()]),
                        EnabledStatistics::None,
                    );
            }
        }
        for (column, statistics) in self.layout.columns.iter().zip(&self.statistics) {
            let path = ColumnPath::from(vec![column.name()]);
            if statistics.repeats() && column.edm != EdmType::Boolean {
                properties = properties.set_column_dictionary_enabled(path.clone(), true);
            }
            if statistics.nan {
                // Parquet's bounds leave NaN out, and SQL has it above all numbers: a bound would
                // prune it away.
                properties = properties.set_column_statistics_enabled(path, EnabledStatistics::None);
            } else if statistics.value_bytes_mean() > PAGE_STATISTICS_BYTES_MAX {
                properties = properties.set_column_statistics_enabled(path, EnabledStatistics::Chunk);
            }
        }
        if self.layout.other {
            let path = ColumnPath::from(super::layout::OTHER_COLUMN);
            properties = properties.set_column_statistics_enabled(path, EnabledStatistics::None);
        }
        properties.build()
    }
}

fn rank(options: WriteOptions<'_>, id: PropertyId) -> Option<u32> {
    options.column_ranks.get(id.index()).copied().flatten()
}

/// Rows on their way into a batch.
struct BatchBuilder<'a> {
    survey: &'a Survey<'a>,
    schema: &'a SchemaRef,
    options: WriteOptions<'a>,
    rows: usize,
    keys: KeyBuilder,
    columns: Vec<PropertyBuilder>,
    other: Option<BinaryBuilder>,
    other_value: Vec<u8>,
}

impl<'a> BatchBuilder<'a> {
    /// For at most so many rows, with room for them.
    fn new(survey: &'a Survey<'a>, schema: &'a SchemaRef, options: WriteOptions<'a>, rows_max: usize) -> Self {
        // Some batches have a little more than others; what is not used is not touched either.
        let capacity = |bytes: u64| {
            let bytes = bytes as usize / (survey.rows as usize).max(1) * rows_max;
            Capacity { rows: rows_max, bytes: bytes + bytes / 8 + PAGE_ROWS }
        };
        let column = |(column, statistics): (&RunColumn, &ColumnStatistics)| {
            let capacity = capacity(statistics.value_bytes);
            let builder = PropertyBuilder::new(column.edm, BytesLayout::Offsets, capacity);
            if column.tick { builder.with_ticks(capacity) } else { builder }
        };
        Self {
            survey,
            schema,
            options,
            rows: 0,
            keys: KeyBuilder::new(survey.key_bytes.map(capacity)),
            columns: survey.layout.columns.iter().zip(&survey.statistics).map(column).collect(),
            other: survey.layout.other.then(BinaryBuilder::new),
            other_value: Vec::new(),
        }
    }

    fn push(&mut self, row: RowRef<'_>) {
        self.keys.push(row.key(), Some(row.timestamp().unwrap_or(self.options.timestamp)));
        self.other_value.clear();
        for (id, value) in row.properties() {
            match self.survey.place(id, value.edm_type()) {
                Some(place) => {
                    let fits = self.columns[place].set(self.rows, value);
                    debug_assert!(fits, "the layout gives each type its column");
                }
                None => other::encode(&self.options.names.name(id), value, &mut self.other_value),
            }
        }
        if let Some(other) = &mut self.other {
            if self.other_value.is_empty() {
                other.append_null();
            } else {
                other.append_value(&self.other_value);
            }
        }
        self.rows += 1;
    }

    fn finish(mut self) -> parquet::errors::Result<RecordBatch> {
        let mut arrays = Vec::from(self.keys.finish());
        for mut column in self.columns {
            let (values, ticks) = column.finish(self.rows);
            arrays.push(values);
            arrays.extend(ticks);
        }
        arrays.extend(self.other.as_mut().map(|other| Arc::new(other.finish()) as ArrayRef));
        Ok(RecordBatch::try_new(Arc::clone(self.schema), arrays)?)
    }
}
