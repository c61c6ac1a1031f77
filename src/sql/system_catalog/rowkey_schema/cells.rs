//! Rows of the catalog's own tables, from cells to Arrow.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringViewArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::Result;

use rowkey_storage::run::utc_micros;

/// A column: its name, its type, whether it may be NULL.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub name: &'static str,
    pub kind: Kind,
    pub nullable: bool,
}

/// The types that columns have here: text, int8, float8, boolean, timestamptz.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Int8,
    Float8,
    Boolean,
    Time,
}

impl Kind {
    /// The name in `pg_type`.
    pub(super) fn type_name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Int8 => "int8",
            Kind::Float8 => "float8",
            Kind::Boolean => "bool",
            Kind::Time => "timestamptz",
        }
    }
}

impl Column {
    pub(super) const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, nullable: false }
    }

    pub(super) const fn nullable(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, nullable: true }
    }
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Null,
    Text(String),
    Int8(i64),
    Float8(f64),
    Boolean(bool),
    /// Microseconds since 1970.
    Time(i64),
}

pub(super) type Row = Vec<Cell>;

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Cell::Int8(value)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Cell::Float8(value)
    }
}

/// Counts of the manifest stay far below 2^63.
impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Cell::Int8(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Cell::from(count as u64)
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Cell::Boolean(value)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Null, T::into)
    }
}

pub(super) fn schema(columns: &[Column]) -> SchemaRef {
    let field = |column: &Column| {
        let data_type = match column.kind {
            Kind::Text => DataType::Utf8View,
            Kind::Int8 => DataType::Int64,
            Kind::Float8 => DataType::Float64,
            Kind::Boolean => DataType::Boolean,
            Kind::Time => utc_micros(),
        };
        Field::new(column.name, data_type, column.nullable)
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// One batch of all rows; a row has a cell for every column.
pub(super) fn batch(columns: &[Column], schema: &SchemaRef, rows: &[Row]) -> Result<RecordBatch> {
    let cells = |place: usize| rows.iter().map(move |row| row.get(place).unwrap_or(&Cell::Null));
    let array = |(place, column): (usize, &Column)| -> ArrayRef {
        match column.kind {
            Kind::Text => Arc::new(
                cells(place)
                    .map(|cell| if let Cell::Text(v) = cell { Some(v) } else { None })
                    .collect::<StringViewArray>(),
            ),
            Kind::Int8 => Arc::new(
                cells(place).map(|cell| if let Cell::Int8(v) = cell { Some(*v) } else { None }).collect::<Int64Array>(),
            ),
            Kind::Float8 => Arc::new(
                cells(place)
                    .map(|cell| if let Cell::Float8(v) = cell { Some(*v) } else { None })
                    .collect::<Float64Array>(),
            ),
            Kind::Boolean => Arc::new(
                cells(place)
                    .map(|cell| if let Cell::Boolean(v) = cell { Some(*v) } else { None })
                    .collect::<BooleanArray>(),
            ),
            Kind::Time => Arc::new(
                cells(place)
                    .map(|cell| if let Cell::Time(v) = cell { Some(*v) } else { None })
                    .collect::<TimestampMicrosecondArray>()
                    .with_timezone("UTC"),
            ),
        }
    };
    let arrays = columns.iter().enumerate().map(array).collect();
    Ok(RecordBatch::try_new(Arc::clone(schema), arrays)?)
}
