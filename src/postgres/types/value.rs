//! One value of a PostgreSQL type, as read from a literal or a parameter.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, LargeBinaryArray,
    LargeStringArray, ListArray, StringViewArray, Time64MicrosecondArray, TimestampMicrosecondArray, UInt32Array,
    new_null_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Field, IntervalMonthDayNano, i256,
};
use arrow::error::ArrowError;

use super::arrow::typed_field;
use super::postgres_type::oid;
use super::{Error, PostgresType, SqlState};

#[cfg(test)]
mod tests;

/// One value. Times count from 1970-01-01, in microseconds or days.
#[derive(Debug, Clone, PartialEq)]
pub enum SqlValue {
    Null,
    Bool(bool),
    Int2(i16),
    Int4(i32),
    Int8(i64),
    Float4(f32),
    Float8(f64),
    /// All types that are held as text.
    Text(String),
    Bytes(Vec<u8>),
    Uuid([u8; 16]),
    /// A local time.
    Timestamp(i64),
    TimestampTz(i64),
    Date(i32),
    /// Since midnight.
    Time(i64),
    Interval(Interval),
    /// `unscaled / 10^scale`; at most 76 digits.
    Numeric {
        unscaled: i256,
        scale: i8,
    },
    /// All types that are held as oids.
    Oid(u32),
    /// The elements of an array of several dimensions are arrays.
    Array(Vec<SqlValue>),
}

/// An interval. The parts are not carried into each other: a month has no fixed number of days, nor
/// a day of hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interval {
    pub months: i32,
    pub days: i32,
    pub micros: i64,
}

impl Interval {
    /// As Arrow holds it, with nanoseconds.
    ///
    /// # Errors
    /// If its time is longer than 2,562,047 hours, so many nanoseconds as an `i64` counts;
    /// PostgreSQL counts a thousand times as many.
    pub fn in_arrow(self) -> Result<IntervalMonthDayNano, Error> {
        let nanos = self.micros.checked_mul(1000).ok_or_else(Self::too_long)?;
        Ok(IntervalMonthDayNano::new(self.months, self.days, nanos))
    }

    /// The error of a time that has more nanoseconds than can be counted.
    pub fn too_long() -> Error {
        Error::unsupported("intervals with a time of more than 2,562,047 hours are not supported")
    }
}

impl SqlValue {
    /// Bytes of a text or of bytes; those of values of a fixed size do not count.
    pub fn content_bytes(&self) -> usize {
        match self {
            SqlValue::Text(text) => text.len(),
            SqlValue::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
    }

    /// An array of one row, of the Arrow type of `ty` (for a numeric: with the scale of the value).
    pub fn to_array(&self, ty: &PostgresType) -> Result<ArrayRef, Error> {
        array_of(ty, std::slice::from_ref(self))
    }
}

/// Values of one type as a column. Numerics take the largest scale among them.
///
/// # Errors
/// If a value is of another type, is a numeric that does not fit in 76 digits at that scale, or an
/// interval beyond Arrow's 292 years of time.
pub fn array_of(ty: &PostgresType, values: &[SqlValue]) -> Result<ArrayRef, Error> {
    let mut column = Column { ty, values };
    macro_rules! collected {
        ($array:ty, $variant:ident($value:ident) => $item:expr) => {
            column.collect::<$array, _>(|value| match value {
                SqlValue::$variant($value) => Some($item),
                _ => None,
            })?
        };
    }
    Ok(match ty.oid {
        _ if ty.element().is_some() => column.lists()?,
        oid::BOOL => Arc::new(collected!(BooleanArray, Bool(value) => Ok(*value))),
        oid::INT2 => Arc::new(collected!(Int16Array, Int2(value) => Ok(*value))),
        oid::INT4 => Arc::new(collected!(Int32Array, Int4(value) => Ok(*value))),
        oid::INT8 | oid::XID8 => Arc::new(collected!(Int64Array, Int8(value) => Ok(*value))),
        oid::FLOAT4 => Arc::new(collected!(Float32Array, Float4(value) => Ok(*value))),
        oid::FLOAT8 => Arc::new(collected!(Float64Array, Float8(value) => Ok(*value))),
        oid::BYTEA => Arc::new(collected!(BinaryViewArray, Bytes(value) => Ok(value.as_slice()))),
        oid::UUID => {
            let uuids = collected!(Vec<Option<[u8; 16]>>, Uuid(value) => Ok(*value));
            let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(uuids.into_iter(), 16);
            Arc::new(array.map_err(|error| unfit(ty, &error))?)
        }
        oid::DATE => Arc::new(collected!(Date32Array, Date(value) => Ok(*value))),
        oid::TIME => Arc::new(collected!(Time64MicrosecondArray, Time(value) => Ok(*value))),
        oid::TIMESTAMP => Arc::new(collected!(TimestampMicrosecondArray, Timestamp(value) => Ok(*value))),
        oid::TIMESTAMPTZ => {
            Arc::new(collected!(TimestampMicrosecondArray, TimestampTz(value) => Ok(*value)).with_timezone("UTC"))
        }
        oid::INTERVAL => Arc::new(collected!(IntervalMonthDayNanoArray, Interval(value) => value.in_arrow())),
        oid::JSON => Arc::new(collected!(LargeBinaryArray, Text(value) => Ok(value.as_bytes()))),
        oid::JSONB => Arc::new(collected!(LargeStringArray, Text(value) => Ok(value.as_str()))),
        oid::NUMERIC => column.numerics()?,
        _ => match super::arrow_type(ty) {
            Some(DataType::Utf8View) => Arc::new(collected!(StringViewArray, Text(value) => Ok(value.as_str()))),
            Some(DataType::UInt32) => Arc::new(collected!(UInt32Array, Oid(value) => Ok(*value))),
            _ => return Err(Error::unsupported(format!("values of type {} are not supported", ty.sql_name))),
        },
    })
}

struct Column<'a> {
    ty: &'a PostgresType,
    values: &'a [SqlValue],
}

impl<'a> Column<'a> {
    /// `take` gives None for a value of another type.
    fn collect<A, T>(&mut self, take: impl Fn(&'a SqlValue) -> Option<Result<T, Error>>) -> Result<A, Error>
    where
        A: FromIterator<Option<T>>,
    {
        let one = |value: &'a SqlValue| match value {
            SqlValue::Null => Ok(None),
            value => take(value).unwrap_or_else(|| Err(mismatch(self.ty))).map(Some),
        };
        self.values.iter().map(one).collect()
    }

    fn numerics(&mut self) -> Result<ArrayRef, Error> {
        let parts: Vec<Option<(i256, i8)>> = self.collect(|value| match value {
            SqlValue::Numeric { unscaled, scale } => Some(Ok((*unscaled, *scale))),
            _ => None,
        })?;
        let Some(scale) = parts.iter().flatten().map(|(_, scale)| *scale).max() else {
            let data_type = super::arrow_type(self.ty).ok_or_else(|| mismatch(self.ty))?;
            return Ok(new_null_array(&data_type, self.values.len()));
        };
        let overflow = || Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "numeric value has more than 76 digits");
        let mut digits = scale.unsigned_abs();
        let mut rescaled = Vec::with_capacity(parts.len());
        for part in parts {
            let Some((unscaled, own_scale)) = part else {
                rescaled.push(None);
                continue;
            };
            let factor = i256::from(10).checked_pow((scale - own_scale).unsigned_abs().into()).ok_or_else(overflow)?;
            let value = unscaled.checked_mul(factor).ok_or_else(overflow)?;
            digits = digits.max(value.to_string().trim_start_matches('-').len().min(255) as u8);
            rescaled.push(Some(value));
        }
        if digits > DECIMAL256_MAX_PRECISION {
            return Err(overflow());
        }
        let array: ArrayRef = if digits <= DECIMAL128_MAX_PRECISION {
            let small: Decimal128Array = rescaled.into_iter().map(|value| value.and_then(i256::to_i128)).collect();
            Arc::new(small.with_precision_and_scale(digits.max(1), scale).map_err(|error| unfit(self.ty, &error))?)
        } else {
            let wide: Decimal256Array = rescaled.into_iter().collect();
            Arc::new(wide.with_precision_and_scale(digits, scale).map_err(|error| unfit(self.ty, &error))?)
        };
        Ok(array)
    }

    fn lists(&mut self) -> Result<ArrayRef, Error> {
        let lists: Vec<Option<&'a Vec<SqlValue>>> = self.collect(|value| match value {
            SqlValue::Array(values) => Some(Ok(values)),
            _ => None,
        })?;
        let element = self.ty.element().ok_or_else(|| mismatch(self.ty))?;
        let items: Vec<SqlValue> = lists.iter().flatten().flat_map(|list| list.iter().cloned()).collect();
        let nested = items.iter().any(|item| matches!(item, SqlValue::Array(_)));
        let item_type = if nested { self.ty } else { element };
        let values = array_of(item_type, &items)?;
        let item = typed_field(Field::LIST_FIELD_DEFAULT_NAME, item_type, true).ok_or_else(|| mismatch(self.ty))?;
        let offsets = OffsetBuffer::from_lengths(lists.iter().map(|list| list.map_or(0, |list| list.len())));
        let nulls = NullBuffer::from_iter(lists.iter().map(Option::is_some));
        let item = Arc::new(item.with_data_type(values.data_type().clone()));
        let array = ListArray::try_new(item, offsets, values, Some(nulls));
        Ok(Arc::new(array.map_err(|error| unfit(self.ty, &error))?))
    }
}

fn mismatch(ty: &PostgresType) -> Error {
    Error::unsupported(format!("a value of another type cannot become {}", ty.sql_name))
}

fn unfit(ty: &PostgresType, error: &ArrowError) -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("values of type {} do not fit: {error}", ty.sql_name))
}
