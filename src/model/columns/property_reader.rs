//! From Arrow arrays back to values.

use arrow::array::{
    Array, ArrayAccessor, ArrayRef, AsArray, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray,
    Float64Array, Int8Array, Int32Array, Int64Array, LargeBinaryArray, LargeStringArray, StringArray, StringViewArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Float64Type, Int8Type, Int32Type, Int64Type, TimestampMicrosecondType};

use crate::{DateTime, EdmType, ValueRef};

/// The column of a property in one type, downcast once so that values are read row by row.
///
/// Besides the layouts that columns are built in it reads those that other writers choose: large
/// texts and binaries, and binaries of a fixed size.
#[derive(Debug, Clone, Copy)]
pub struct PropertyReader<'a>(Values<'a>);

#[derive(Debug, Clone, Copy)]
enum Values<'a> {
    Binary(&'a BinaryArray),
    BinaryView(&'a BinaryViewArray),
    Boolean(&'a BooleanArray),
    DateTime(&'a TimestampMicrosecondArray, Option<&'a Int8Array>),
    Double(&'a Float64Array),
    FixedBinary(&'a FixedSizeBinaryArray),
    Guid(&'a FixedSizeBinaryArray),
    Int32(&'a Int32Array),
    Int64(&'a Int64Array),
    LargeBinary(&'a LargeBinaryArray),
    LargeString(&'a LargeStringArray),
    String(&'a StringArray),
    StringView(&'a StringViewArray),
}

impl<'a> PropertyReader<'a> {
    /// `ticks` are the 100 ns digits of DateTimes, zero where there are none. `None` if the arrays
    /// do not hold values of this type.
    pub fn new(edm: EdmType, values: &'a ArrayRef, ticks: Option<&'a ArrayRef>) -> Option<Self> {
        let ticks = match ticks {
            Some(ticks) => Some(ticks.as_primitive_opt::<Int8Type>()?),
            None => None,
        };
        Some(Self(match (edm, values.data_type()) {
            (EdmType::Binary, DataType::BinaryView) => Values::BinaryView(values.as_binary_view_opt()?),
            (EdmType::Binary, DataType::LargeBinary) => Values::LargeBinary(values.as_binary_opt()?),
            (EdmType::Binary, DataType::FixedSizeBinary(_)) => Values::FixedBinary(values.as_fixed_size_binary_opt()?),
            (EdmType::Binary, _) => Values::Binary(values.as_binary_opt()?),
            (EdmType::Boolean, _) => Values::Boolean(values.as_boolean_opt()?),
            (EdmType::DateTime, _) => Values::DateTime(values.as_primitive_opt::<TimestampMicrosecondType>()?, ticks),
            (EdmType::Double, _) => Values::Double(values.as_primitive_opt::<Float64Type>()?),
            (EdmType::Guid, _) => {
                Values::Guid(values.as_fixed_size_binary_opt().filter(|array| array.value_length() == 16)?)
            }
            (EdmType::Int32, _) => Values::Int32(values.as_primitive_opt::<Int32Type>()?),
            (EdmType::Int64, _) => Values::Int64(values.as_primitive_opt::<Int64Type>()?),
            (EdmType::String, DataType::Utf8View) => Values::StringView(values.as_string_view_opt()?),
            (EdmType::String, DataType::LargeUtf8) => Values::LargeString(values.as_string_opt()?),
            (EdmType::String, _) => Values::String(values.as_string_opt()?),
        }))
    }

    /// The value of row `row`, which must be one of the array's.
    #[inline]
    pub fn get(&self, row: usize) -> Option<ValueRef<'a>> {
        Some(match self.0 {
            Values::Binary(array) => ValueRef::Binary(valid(array, row)?),
            Values::BinaryView(array) => ValueRef::Binary(valid(array, row)?),
            Values::Boolean(array) => ValueRef::Boolean(valid(array, row)?),
            Values::DateTime(array, ticks) => {
                let micros = valid(array, row)?;
                let tick = ticks.and_then(|ticks| valid(ticks, row)).unwrap_or(0);
                ValueRef::DateTime(DateTime::from_micros(micros, tick))
            }
            Values::Double(array) => ValueRef::Double(valid(array, row)?),
            Values::FixedBinary(array) => ValueRef::Binary(valid(array, row)?),
            Values::Guid(array) => ValueRef::Guid(uuid::Uuid::from_slice(valid(array, row)?).ok()?),
            Values::Int32(array) => ValueRef::Int32(valid(array, row)?),
            Values::Int64(array) => ValueRef::Int64(valid(array, row)?),
            Values::LargeBinary(array) => ValueRef::Binary(valid(array, row)?),
            Values::LargeString(array) => ValueRef::String(valid(array, row)?),
            Values::String(array) => ValueRef::String(valid(array, row)?),
            Values::StringView(array) => ValueRef::String(valid(array, row)?),
        })
    }

    /// The text of row `row`, if this is a column of texts.
    #[inline]
    pub fn text(&self, row: usize) -> Option<&'a str> {
        match self.get(row) {
            Some(ValueRef::String(text)) => Some(text),
            _ => None,
        }
    }
}

#[inline]
fn valid<A: ArrayAccessor>(array: A, row: usize) -> Option<A::Item> {
    array.is_valid(row).then(|| array.value(row))
}
