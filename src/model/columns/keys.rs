//! The columns that every entity has.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int8Builder, StringArray, StringBuilder, TimestampMicrosecondBuilder};
use arrow::datatypes::{DataType, Field};

use super::{Capacity, UTC, utc_micros};
use crate::{DateTime, KeyRef};

/// The column of PartitionKeys.
pub const PARTITION_KEY: &str = "PartitionKey";
/// The column of RowKeys.
pub const ROW_KEY: &str = "RowKey";
/// The column of Timestamps, in microseconds.
pub const TIMESTAMP: &str = "Timestamp";
/// The column of their 100 ns digits.
const TIMESTAMP_TICK: &str = "Timestamp:tick";

/// How many columns every entity has: those above, first and in this order.
pub const KEY_COLUMNS: usize = 4;

/// The Arrow fields of PartitionKey, RowKey, Timestamp and its tick; `timestamps_null` if there may
/// be entities without a Timestamp.
pub fn key_fields(timestamps_null: bool) -> [Field; KEY_COLUMNS] {
    [
        Field::new(PARTITION_KEY, DataType::Utf8, false),
        Field::new(ROW_KEY, DataType::Utf8, false),
        Field::new(TIMESTAMP, utc_micros(), timestamps_null),
        Field::new(TIMESTAMP_TICK, DataType::Int8, timestamps_null),
    ]
}

/// PartitionKey, RowKey, Timestamp and its tick under construction.
#[derive(Debug)]
pub struct KeyBuilder {
    partition: StringBuilder,
    row: StringBuilder,
    timestamp: TimestampMicrosecondBuilder,
    tick: Int8Builder,
}

impl KeyBuilder {
    /// The capacity of PartitionKeys, and that of RowKeys.
    pub fn new([partition, row]: [Capacity; 2]) -> Self {
        Self {
            partition: StringBuilder::with_capacity(partition.rows, partition.bytes),
            row: StringBuilder::with_capacity(row.rows, row.bytes),
            timestamp: TimestampMicrosecondBuilder::with_capacity(row.rows).with_timezone(UTC),
            tick: Int8Builder::with_capacity(row.rows),
        }
    }

    /// Appends a row.
    #[inline]
    pub fn push(&mut self, key: KeyRef<'_>, timestamp: Option<DateTime>) {
        self.partition.append_value(key.partition);
        self.row.append_value(key.row);
        self.timestamp.append_option(timestamp.map(DateTime::micros));
        self.tick.append_option(timestamp.map(DateTime::tick));
    }

    /// The arrays of [`key_fields`]. The builder begins anew.
    pub fn finish(&mut self) -> [ArrayRef; KEY_COLUMNS] {
        [
            Arc::new(self.partition.finish()),
            Arc::new(self.row.finish()),
            Arc::new(self.timestamp.finish()),
            Arc::new(self.tick.finish()),
        ]
    }
}

/// The keys of a batch, downcast once so that they are read row by row.
#[derive(Debug, Clone, Copy)]
pub struct KeyReader<'a> {
    partitions: &'a StringArray,
    rows: &'a StringArray,
}

impl<'a> KeyReader<'a> {
    /// `columns` begin with PartitionKey and RowKey; `None` if those are not texts.
    pub fn new(columns: &'a [ArrayRef]) -> Option<Self> {
        Some(Self { partitions: columns.first()?.as_string_opt()?, rows: columns.get(1)?.as_string_opt()? })
    }

    /// Rows of the batch.
    #[inline]
    pub fn len(&self) -> usize {
        self.partitions.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key of row `row`, which must be one of the batch's.
    #[inline]
    pub fn get(&self, row: usize) -> KeyRef<'a> {
        KeyRef { partition: self.partitions.value(row), row: self.rows.value(row) }
    }
}
