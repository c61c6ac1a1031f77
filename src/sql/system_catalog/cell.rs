//! Rows of catalog relations, and how they become Arrow.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, Decimal128Array, Float32Array, Float64Array, Int16Array, Int32Array,
    Int64Array, IntervalMonthDayNanoArray, ListBuilder, StringViewArray, StringViewBuilder, TimestampMicrosecondArray,
    UInt32Array, UInt32Builder, new_null_array,
};
use arrow::array::{Int16Builder, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, IntervalMonthDayNano, IntervalUnit, TimeUnit};
use datafusion::common::{Result, internal_err};

/// A value in a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Null,
    Bool(bool),
    Int2(i16),
    Int4(i32),
    Int8(i64),
    /// An oid of any kind, or a transaction.
    Oid(u32),
    Float4(f32),
    Float8(f64),
    Text(Cow<'static, str>),
    Shared(Arc<str>),
    /// Microseconds since 1970.
    Time(i64),
    /// Microseconds.
    Interval(i64),
    Int2s(Vec<i16>),
    Oids(Vec<u32>),
    Texts(Vec<String>),
}

macro_rules! cell_from {
    ($($from:ty => $cell:ident),* $(,)?) => { $(
        impl From<$from> for Cell {
            fn from(value: $from) -> Self {
                Cell::$cell(value.into())
            }
        }
    )* };
}

cell_from!(
    bool => Bool, i16 => Int2, i32 => Int4, i64 => Int8, u32 => Oid, f32 => Float4, f64 => Float8,
    &'static str => Text, String => Text, Cow<'static, str> => Text, Arc<str> => Shared,
    Vec<i16> => Int2s, Vec<u32> => Oids, Vec<String> => Texts,
);

impl From<char> for Cell {
    fn from(value: char) -> Self {
        Cell::Text(value.to_string().into())
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Null, Into::into)
    }
}

impl Cell {
    pub(super) fn time(micros: impl Into<Option<i64>>) -> Self {
        micros.into().map_or(Cell::Null, Cell::Time)
    }
}

/// `rows!(items, |item| { column: value, ... })`: the rows of a relation, with the columns that are
/// named. In a value, `?` on a `None` leaves the row out.
macro_rules! rows {
    ($items:expr, |$item:pat_param| { $($column:ident: $value:expr),* $(,)? }) => {
        $crate::system_catalog::cell::Rows::new(
            &[$(stringify!($column)),*],
            ($items).into_iter().filter_map(move |$item| Some(vec![$($crate::system_catalog::cell::Cell::from($value)),*])),
        )
    };
}
pub(super) use rows;

pub(super) type Row = Vec<Cell>;

/// Rows and the columns they have; columns of the relation that are not among them are NULL.
pub(super) struct Rows {
    pub columns: &'static [&'static str],
    pub rows: Box<dyn Iterator<Item = Row> + Send>,
}

impl Rows {
    pub(super) fn new<I>(columns: &'static [&'static str], rows: I) -> Self
    where
        I: IntoIterator<Item = Row>,
        I::IntoIter: Send + 'static,
    {
        Self { columns, rows: Box::new(rows.into_iter()) }
    }

    pub(super) fn none() -> Self {
        Self::new(&[], [])
    }
}

/// The values of one column. A cell of another type than the column is a mistake in this module,
/// and an error.
pub(super) fn array(field: &Field, cells: &[&Cell]) -> Result<ArrayRef> {
    if cells.iter().all(|cell| matches!(cell, Cell::Null)) {
        return Ok(new_null_array(field.data_type(), cells.len()));
    }
    macro_rules! primitive {
        ($array:ty, $cell:ident) => {
            Arc::new(<$array>::from(values(field, cells, |cell| match cell {
                Cell::$cell(value) => Some(*value),
                _ => None,
            })?))
        };
    }
    let array: ArrayRef = match field.data_type() {
        DataType::Boolean => primitive!(BooleanArray, Bool),
        DataType::Int16 => primitive!(Int16Array, Int2),
        DataType::Int32 => primitive!(Int32Array, Int4),
        DataType::Int64 => primitive!(Int64Array, Int8),
        DataType::UInt32 => primitive!(UInt32Array, Oid),
        DataType::Float32 => primitive!(Float32Array, Float4),
        DataType::Float64 => primitive!(Float64Array, Float8),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let micros = values(field, cells, |cell| match cell {
                Cell::Time(micros) => Some(*micros),
                _ => None,
            })?;
            Arc::new(TimestampMicrosecondArray::from(micros).with_timezone_opt(zone.clone()))
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let intervals = values(field, cells, |cell| match cell {
                Cell::Interval(micros) => Some(IntervalMonthDayNano::new(0, 0, micros.saturating_mul(1000))),
                _ => None,
            })?;
            Arc::new(IntervalMonthDayNanoArray::from(intervals))
        }
        DataType::Decimal128(precision, scale) => {
            let numbers = values(field, cells, |cell| match cell {
                Cell::Int8(value) => Some(i128::from(*value) * 10_i128.pow((*scale).max(0) as u32)),
                _ => None,
            })?;
            Arc::new(Decimal128Array::from(numbers).with_precision_and_scale(*precision, *scale)?)
        }
        DataType::Utf8View => {
            let texts = values(field, cells, |cell| match cell {
                Cell::Text(text) => Some(text.as_ref()),
                Cell::Shared(text) => Some(text.as_ref()),
                _ => None,
            })?;
            Arc::new(StringViewArray::from(texts))
        }
        DataType::BinaryView => {
            let bytes = values(field, cells, |cell| match cell {
                Cell::Text(text) => Some(text.as_bytes()),
                _ => None,
            })?;
            Arc::new(BinaryViewArray::from(bytes))
        }
        DataType::List(item) => list(field, item, cells)?,
        other => return internal_err!("catalog column {} is of {other}, which no cell is", field.name()),
    };
    Ok(array)
}

fn list(field: &Field, item: &Arc<Field>, cells: &[&Cell]) -> Result<ArrayRef> {
    macro_rules! lists {
        ($builder:expr, $cell:ident) => {{
            let mut builder = ListBuilder::new($builder);
            for cell in cells {
                match cell {
                    Cell::Null => builder.append_null(),
                    Cell::$cell(values) => builder.append_value(values.iter().map(|value| Some(value.clone()))),
                    _ => return mismatch(field, cell),
                }
            }
            builder.finish()
        }};
    }
    let list = match item.data_type() {
        DataType::Int16 => lists!(Int16Builder::new(), Int2s),
        DataType::UInt32 => lists!(UInt32Builder::new(), Oids),
        DataType::Utf8View => lists!(StringViewBuilder::new(), Texts),
        DataType::Utf8 => lists!(StringBuilder::new(), Texts),
        other => return internal_err!("catalog column {} is a list of {other}, which no cell is", field.name()),
    };
    // The builder names its item as it likes; the column has its own name and metadata for it.
    Ok(cast(&list, field.data_type())?)
}

fn values<'a, T>(field: &Field, cells: &[&'a Cell], value: impl Fn(&'a Cell) -> Option<T>) -> Result<Vec<Option<T>>> {
    let read = |cell: &&'a Cell| match cell {
        Cell::Null => Ok(None),
        cell => match value(cell) {
            Some(value) => Ok(Some(value)),
            None => mismatch(field, cell),
        },
    };
    cells.iter().map(read).collect()
}

fn mismatch<T>(field: &Field, cell: &Cell) -> Result<T> {
    internal_err!("catalog column {} is of {}, and gets {cell:?}", field.name(), field.data_type())
}

/// NULLs where a row has no value for a column.
pub(super) fn nulls(field: &Field, rows: usize) -> ArrayRef {
    new_null_array(field.data_type(), rows)
}

/// The same value in every row.
pub(super) fn constant(field: &Field, cell: &Cell, rows: usize) -> Result<ArrayRef> {
    array(field, &vec![cell; rows])
}
