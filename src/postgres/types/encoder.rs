//! Columns of a batch, written value by value in the form of DataRow.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array,
    Decimal256Array, FixedSizeBinaryArray, Float32Array, Float64Array, Int16Array, Int32Array, Int64Array,
    IntervalMonthDayNanoArray, LargeBinaryArray, LargeStringArray, StringArray, StringViewArray,
    Time64MicrosecondArray, TimestampMicrosecondArray, UInt32Array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Date32Type, Decimal128Type, Decimal256Type, Field, Float32Type, Float64Type,
    Int16Type, Int32Type, Int64Type, IntervalMonthDayNanoType, IntervalUnit, Time64MicrosecondType, TimeUnit,
    TimestampMicrosecondType, UInt32Type,
};
use bytes::{BufMut, BytesMut};

use super::arrow::holds;
use super::calendar::MICROS_PER_DAY;
use super::postgres_type::oid;
use super::value::Interval;
use super::{Error, PostgresType, SqlState, TYPE_LENGTH, TextStyle, binary, text, type_of};

mod lists;
#[cfg(test)]
mod tests;

/// Most bytes of the text of a record or array that is within another record or array.
const PART_BYTES_MAX: usize = 32 << 20;

/// Which of the two forms of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Binary,
}

/// Writes one column of a batch, row by row. Everything that depends on the column only is decided
/// when it is made.
pub struct ColumnEncoder<'a> {
    ty: &'static PostgresType,
    values: Values<'a>,
    nulls: Option<NullBuffer>,
    format: Format,
    style: &'a TextStyle,
    /// Of `char(n)`: values have blanks at the end up to it.
    characters: Option<usize>,
}

/// The column as Arrow holds it. Clones of arrays share their buffers.
enum Values<'a> {
    Null,
    Bool(BooleanArray),
    Int2(Int16Array),
    Int4(Int32Array),
    Int8(Int64Array),
    Oid(UInt32Array),
    Float4(Float32Array),
    Float8(Float64Array),
    Text(StringArray),
    /// `jsonb`
    LargeText(LargeStringArray),
    TextView(StringViewArray),
    Bytes(BinaryArray),
    /// `json`
    LargeBytes(LargeBinaryArray),
    BytesView(BinaryViewArray),
    FixedBytes(FixedSizeBinaryArray),
    Timestamp(TimestampMicrosecondArray),
    Date(Date32Array),
    Time(Time64MicrosecondArray),
    Interval(IntervalMonthDayNanoArray),
    Numeric(Decimal128Array, i8),
    WideNumeric(Decimal256Array, i8),
    List {
        offsets: Offsets,
        items: Box<ColumnEncoder<'a>>,
    },
    Record(Vec<ColumnEncoder<'a>>),
    Dictionary {
        keys: Vec<usize>,
        values: Box<ColumnEncoder<'a>>,
    },
}

/// Where the items of each list lie.
enum Offsets {
    Small(OffsetBuffer<i32>),
    Large(OffsetBuffer<i64>),
    Fixed(usize),
}

impl<'a> ColumnEncoder<'a> {
    /// # Errors
    /// If no PostgreSQL type shows such a column, or a value is out of the range of its type
    /// (UInt64 as bigint).
    pub fn new(field: &Field, array: &ArrayRef, format: Format, style: &'a TextStyle) -> Result<Self, Error> {
        let ty = type_of(field).ok_or_else(|| not_shown(array.data_type()))?;
        let length = field.metadata().get(TYPE_LENGTH).filter(|_| ty.oid == oid::BPCHAR);
        let characters = length.and_then(|length| length.parse().ok());
        Ok(Self { characters, ..Self::with_type(ty, array, format, style)? })
    }

    /// As [`ColumnEncoder::new`], for a type known otherwise.
    ///
    /// # Errors
    /// Also if the Arrow type does not hold values of that type.
    pub fn with_type(
        ty: &'static PostgresType,
        array: &ArrayRef,
        format: Format,
        style: &'a TextStyle,
    ) -> Result<Self, Error> {
        let nested = |ty, array: &ArrayRef| Self::with_type(ty, array, format, style).map(Box::new);
        let array = &canonical(ty, array)?;
        // A client reads the bytes by the type in RowDescription.
        if !array.data_type().is_null() && !holds(array.data_type(), ty) {
            let message = format!("a column of type {} holds Arrow values of type {}", ty.sql_name, array.data_type());
            return Err(Error::new(SqlState::INTERNAL_ERROR, message));
        }
        let values = match array.data_type() {
            DataType::Null => Values::Null,
            DataType::Boolean => Values::Bool(array.as_boolean().clone()),
            DataType::Int16 => Values::Int2(array.as_primitive::<Int16Type>().clone()),
            DataType::Int32 => Values::Int4(array.as_primitive::<Int32Type>().clone()),
            DataType::Int64 => Values::Int8(array.as_primitive::<Int64Type>().clone()),
            DataType::UInt32 => Values::Oid(array.as_primitive::<UInt32Type>().clone()),
            DataType::Float32 => Values::Float4(array.as_primitive::<Float32Type>().clone()),
            DataType::Float64 => Values::Float8(array.as_primitive::<Float64Type>().clone()),
            DataType::Utf8 => Values::Text(array.as_string().clone()),
            DataType::LargeUtf8 => Values::LargeText(array.as_string().clone()),
            DataType::Utf8View => Values::TextView(array.as_string_view().clone()),
            DataType::Binary => Values::Bytes(array.as_binary().clone()),
            DataType::LargeBinary => Values::LargeBytes(array.as_binary().clone()),
            DataType::BinaryView => Values::BytesView(array.as_binary_view().clone()),
            DataType::FixedSizeBinary(_) => Values::FixedBytes(array.as_fixed_size_binary().clone()),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                Values::Timestamp(array.as_primitive::<TimestampMicrosecondType>().clone())
            }
            DataType::Date32 => Values::Date(array.as_primitive::<Date32Type>().clone()),
            DataType::Time64(TimeUnit::Microsecond) => {
                Values::Time(array.as_primitive::<Time64MicrosecondType>().clone())
            }
            DataType::Interval(IntervalUnit::MonthDayNano) => {
                Values::Interval(array.as_primitive::<IntervalMonthDayNanoType>().clone())
            }
            DataType::Decimal128(_, scale) => Values::Numeric(array.as_primitive::<Decimal128Type>().clone(), *scale),
            DataType::Decimal256(_, scale) => {
                Values::WideNumeric(array.as_primitive::<Decimal256Type>().clone(), *scale)
            }
            DataType::List(item) => {
                let list = array.as_list::<i32>();
                let items = nested(item_type(ty, item)?, list.values())?;
                Values::List { offsets: Offsets::Small(list.offsets().clone()), items }
            }
            DataType::LargeList(item) => {
                let list = array.as_list::<i64>();
                let items = nested(item_type(ty, item)?, list.values())?;
                Values::List { offsets: Offsets::Large(list.offsets().clone()), items }
            }
            DataType::FixedSizeList(item, len) => {
                let items = nested(item_type(ty, item)?, array.as_fixed_size_list().values())?;
                Values::List { offsets: Offsets::Fixed(*len as usize), items }
            }
            DataType::Struct(fields) => {
                let members = fields.iter().zip(array.as_struct().columns());
                let members = members.map(|(field, column)| Self::new(field, column, format, style));
                Values::Record(members.collect::<Result<_, _>>()?)
            }
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                Values::Dictionary { keys: dictionary.normalized_keys(), values: nested(ty, dictionary.values())? }
            }
            other => return Err(not_shown(other)),
        };
        Ok(Self { ty, values, nulls: array.nulls().cloned(), format, style, characters: None })
    }

    /// Whether the value of a row is NULL; panics if there is no such row.
    pub fn is_null(&self, row: usize) -> bool {
        match &self.values {
            Values::Null => true,
            _ if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) => true,
            Values::Dictionary { keys, values } => values.is_null(keys[row]),
            _ => false,
        }
    }

    /// Writes the length of a value, -1 for NULL, and the value. After an error `out` is as before.
    pub fn encode(&self, row: usize, out: &mut BytesMut) -> Result<(), Error> {
        if self.is_null(row) {
            out.put_i32(-1);
            return Ok(());
        }
        let start = out.len();
        out.put_i32(0);
        let written = self.write(row, out).and_then(|()| {
            i32::try_from(out.len() - start - 4).map_err(|_| {
                Error::new(
                    SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                    format!("a value of type {} is too long", self.ty.sql_name),
                )
            })
        });
        match written {
            Ok(length) => {
                out[start..start + 4].copy_from_slice(&length.to_be_bytes());
                Ok(())
            }
            Err(error) => {
                out.truncate(start);
                Err(error)
            }
        }
    }

    /// Writes a value that is not NULL, without its length.
    pub fn write(&self, row: usize, out: &mut BytesMut) -> Result<(), Error> {
        match self.format {
            Format::Text => self.write_text(row, out),
            Format::Binary => self.write_binary(row, out),
        }
    }

    /// The text form of a value that is not NULL. It takes the place of what `buffer` holds.
    ///
    /// # Errors
    /// If the value is beyond what its type can show, or is not UTF-8.
    pub fn text<'b>(&self, row: usize, buffer: &'b mut BytesMut) -> Result<&'b str, Error> {
        buffer.clear();
        self.write_text(row, buffer)?;
        std::str::from_utf8(buffer).map_err(|_| {
            Error::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"")
        })
    }

    /// Quotes double at each level of records and arrays in one another.
    fn refuse_long_part(&self, bytes: usize) -> Result<(), Error> {
        if bytes <= PART_BYTES_MAX || !matches!(self.values, Values::Record(_) | Values::List { .. }) {
            return Ok(());
        }
        let message = format!(
            "a value of type {} within another has a text of {bytes} bytes, the most are {PART_BYTES_MAX}",
            self.ty.sql_name
        );
        Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message))
    }

    /// Blanks behind a value of `char(n)` that begins at `start`.
    fn pad(&self, start: usize, out: &mut BytesMut) {
        if let Some(characters) = self.characters {
            // A character is not one of the bytes that go on with another.
            let have = out[start..].iter().filter(|byte| **byte & 0xC0 != 0x80).count();
            out.put_bytes(b' ', characters.saturating_sub(have));
        }
    }

    fn write_text(&self, row: usize, out: &mut BytesMut) -> Result<(), Error> {
        let start = out.len();
        let style = self.style;
        match &self.values {
            Values::Null => {}
            Values::Bool(array) => out.put_u8(if array.value(row) { b't' } else { b'f' }),
            Values::Int2(array) => text::write_integer(array.value(row).into(), out),
            Values::Int4(array) => text::write_integer(array.value(row).into(), out),
            Values::Int8(array) => text::write_integer(array.value(row), out),
            Values::Oid(array) => match array.value(row) {
                // An object without a name is a number, no object at all a dash.
                0 if self.ty.category == 'N' && self.ty.oid != oid::OID => out.put_u8(b'-'),
                value => text::write_integer(value.into(), out),
            },
            Values::Float4(array) => text::write_float4(array.value(row), style.extra_float_digits, out),
            Values::Float8(array) => text::write_float8(array.value(row), style.extra_float_digits, out),
            Values::Text(array) => out.extend_from_slice(array.value(row).as_bytes()),
            Values::LargeText(array) => out.extend_from_slice(array.value(row).as_bytes()),
            Values::TextView(array) => out.extend_from_slice(array.value(row).as_bytes()),
            Values::Bytes(array) => text::write_bytea(array.value(row), style.bytea_output, out),
            Values::LargeBytes(array) => out.extend_from_slice(array.value(row)),
            Values::BytesView(array) => text::write_bytea(array.value(row), style.bytea_output, out),
            Values::FixedBytes(array) => match <&[u8; 16]>::try_from(array.value(row)) {
                Ok(uuid) if self.ty.oid == oid::UUID => text::write_uuid(uuid, out),
                _ => text::write_bytea(array.value(row), style.bytea_output, out),
            },
            Values::Timestamp(array) if self.ty.oid == oid::TIMESTAMPTZ => {
                text::write_timestamptz(array.value(row), style.date_style, &style.zone, out);
            }
            Values::Timestamp(array) => text::write_timestamp(array.value(row), style.date_style, out),
            Values::Date(array) => text::write_date(array.value(row).into(), style.date_style, out),
            Values::Time(array) => text::write_time(time_of_day(array, row)?, out),
            Values::Interval(array) => text::write_interval(interval(array, row), style.interval_style, out),
            Values::Numeric(array, scale) => text::write_i128(array.value(row), *scale, out),
            Values::WideNumeric(array, scale) => text::write_i256(array.value(row), *scale, out),
            Values::List { .. } => self.write_list_text(row, out)?,
            Values::Record(members) => {
                out.put_u8(b'(');
                for (at, member) in members.iter().enumerate() {
                    if at > 0 {
                        out.put_u8(b',');
                    }
                    if !member.is_null(row) {
                        let start = out.len();
                        member.write_text(row, out)?;
                        member.refuse_long_part(out.len() - start)?;
                        text::quote_member(start, out);
                    }
                }
                out.put_u8(b')');
            }
            Values::Dictionary { keys, values } => values.write_text(keys[row], out)?,
        }
        self.pad(start, out);
        Ok(())
    }

    fn write_binary(&self, row: usize, out: &mut BytesMut) -> Result<(), Error> {
        let start = out.len();
        match &self.values {
            Values::Null => {}
            Values::Bool(array) => out.put_u8(array.value(row).into()),
            Values::Int2(array) => out.put_i16(array.value(row)),
            Values::Int4(array) => out.put_i32(array.value(row)),
            Values::Int8(array) => out.put_i64(array.value(row)),
            Values::Oid(array) => out.put_u32(array.value(row)),
            Values::Float4(array) => out.put_f32(array.value(row)),
            Values::Float8(array) => out.put_f64(array.value(row)),
            Values::Text(array) => self.write_text_binary(array.value(row), out)?,
            Values::LargeText(array) => self.write_text_binary(array.value(row), out)?,
            Values::TextView(array) => self.write_text_binary(array.value(row), out)?,
            Values::Bytes(array) => out.extend_from_slice(array.value(row)),
            Values::LargeBytes(array) => out.extend_from_slice(array.value(row)),
            Values::BytesView(array) => out.extend_from_slice(array.value(row)),
            Values::FixedBytes(array) => out.extend_from_slice(array.value(row)),
            Values::Timestamp(array) => binary::put_timestamp(array.value(row), out)?,
            Values::Date(array) => binary::put_date(array.value(row), out)?,
            Values::Time(array) => out.put_i64(time_of_day(array, row)?),
            Values::Interval(array) => {
                let value = interval(array, row);
                out.put_i64(value.micros);
                out.put_i32(value.days);
                out.put_i32(value.months);
            }
            Values::Numeric(array, scale) => binary::put_numeric_i128(array.value(row), *scale, out),
            Values::WideNumeric(array, scale) => binary::put_numeric(array.value(row), *scale, out),
            Values::List { .. } => self.write_list_binary(row, out)?,
            Values::Record(members) => {
                out.put_i32(members.len() as i32);
                for member in members {
                    out.put_u32(member.ty.oid);
                    member.encode(row, out)?;
                }
            }
            Values::Dictionary { keys, values } => values.write_binary(keys[row], out)?,
        }
        self.pad(start, out);
        Ok(())
    }

    fn write_text_binary(&self, value: &str, out: &mut BytesMut) -> Result<(), Error> {
        match self.ty.oid {
            oid::CHAR => match value.as_bytes() {
                [] => out.put_u8(0),
                [byte] => out.put_u8(*byte),
                _ => {
                    let message = format!("value \"{value}\" is too long for type \"char\"");
                    return Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message));
                }
            },
            oid::JSONB => {
                // Version of the format.
                out.put_u8(1);
                out.extend_from_slice(value.as_bytes());
            }
            _ => out.extend_from_slice(value.as_bytes()),
        }
        Ok(())
    }
}

/// The text form of one value, None for NULL. For many values of a column make a [`ColumnEncoder`].
pub fn text_value(field: &Field, array: &ArrayRef, row: usize, style: &TextStyle) -> Result<Option<String>, Error> {
    let row_array = array.slice(row, 1);
    let encoder = ColumnEncoder::new(field, &row_array, Format::Text, style)?;
    if encoder.is_null(0) {
        return Ok(None);
    }
    let mut buffer = BytesMut::new();
    Ok(Some(encoder.text(0, &mut buffer)?.to_owned()))
}

fn interval(array: &IntervalMonthDayNanoArray, row: usize) -> Interval {
    let value = array.value(row);
    Interval { months: value.months, days: value.days, micros: value.nanoseconds / 1000 }
}

fn time_of_day(array: &Time64MicrosecondArray, row: usize) -> Result<i64, Error> {
    let micros = array.value(row);
    if (0..=MICROS_PER_DAY).contains(&micros) {
        Ok(micros)
    } else {
        Err(Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "time out of range"))
    }
}

/// The type of a list's items: of the array's element, or of the array itself for a list of lists.
fn item_type(ty: &'static PostgresType, item: &Field) -> Result<&'static PostgresType, Error> {
    let element = ty.element().ok_or_else(|| not_shown(item.data_type()))?;
    match item.data_type() {
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) if element.element().is_none() => {
            Ok(ty)
        }
        _ => Ok(element),
    }
}

/// The array in the one Arrow type, or one of the few, by which values of its PostgreSQL type are
/// written.
fn canonical(ty: &PostgresType, array: &ArrayRef) -> Result<ArrayRef, Error> {
    let target = match array.data_type() {
        DataType::Int8 | DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 if ty.oid == oid::INT8 => DataType::Int64,
        DataType::UInt64 => DataType::Int64,
        DataType::Float16 => DataType::Float32,
        DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) => {
            DataType::Decimal128(DECIMAL128_MAX_PRECISION, *scale)
        }
        DataType::Timestamp(unit, zone) if *unit != TimeUnit::Microsecond => {
            DataType::Timestamp(TimeUnit::Microsecond, zone.clone())
        }
        DataType::Date64 => DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Time32(_) | DataType::Time64(TimeUnit::Nanosecond) => DataType::Time64(TimeUnit::Microsecond),
        DataType::Interval(IntervalUnit::YearMonth | IntervalUnit::DayTime) | DataType::Duration(_) => {
            DataType::Interval(IntervalUnit::MonthDayNano)
        }
        _ => return Ok(Arc::clone(array)),
    };
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, &target, &options).map_err(|error| {
        Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{} out of range: {error}", ty.sql_name))
    })
}

fn not_shown(data_type: &DataType) -> Error {
    Error::unsupported(format!("values of Arrow type {data_type} have no PostgreSQL type"))
}
