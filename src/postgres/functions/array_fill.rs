//! `array_fill`: an array of one value so many times.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt64Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::take;
use arrow::datatypes::{DataType, Int32Type};
use datafusion::common::Result;

use super::cast::cast_array;
use super::collecting::shown_bytes;
use super::error::{SqlState, fail};
use super::kind::Kind;
use super::scalar::{Arguments, Call, Function, immutable};

/// What PostgreSQL allows.
const ITEMS_MAX: usize = 134_217_727;

pub(super) static FUNCTIONS: [Function; 1] = [immutable("array_fill", 2..=3, returns, run)];

fn returns(asked: &Arguments) -> Result<DataType> {
    if asked.kind(0) == Kind::Array {
        return fail(SqlState::FEATURE_NOT_SUPPORTED, "arrays of more than one dimension are not supported");
    }
    if asked.types.len() > 2 {
        return fail(SqlState::FEATURE_NOT_SUPPORTED, "arrays whose lower bound is not 1 are not supported");
    }
    let is_list = asked.is_unknown(1) || matches!(asked.kind(1), Kind::Array | Kind::Null);
    match asked.types.first() {
        Some(item) if is_list => Ok(DataType::new_list((*item).clone(), true)),
        _ => asked.undefined(),
    }
}

fn run(call: &Call) -> Result<ArrayRef> {
    let wanted = DataType::new_list(DataType::Int32, true);
    let dimensions = cast_array(call.arg(1)?, &wanted, &call.zone)?;
    let dimensions = dimensions.as_list::<i32>();
    let (mut lengths, mut rows) = (Vec::with_capacity(call.rows), Vec::new());
    let mut reserved = call.reserve();
    let value = call.arg(0)?;
    let item_bytes = value.data_type().primitive_width().unwrap_or(size_of::<u128>()) + size_of::<u64>();
    for row in 0..call.rows {
        let length = match dimensions.is_valid(row) {
            true => length_of(&dimensions.value(row))?,
            false => {
                return fail(SqlState::NULL_VALUE_NOT_ALLOWED, "dimension array or low bound array cannot be null");
            }
        };
        // Items share a text until rows are made of them.
        reserved.value(length.saturating_mul(item_bytes + shown_bytes(&value.slice(row, 1))))?;
        rows.extend(std::iter::repeat_n(row as u64, length));
        lengths.push(length);
    }
    let values = take(value, &UInt64Array::from(rows), None)?;
    let DataType::List(item) = call.returns else { return super::scalar::undefined(call.function, std::iter::empty()) };
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(
        Arc::clone(item),
        offsets,
        cast_array(&values, item.data_type(), &call.zone)?,
        None,
    )?))
}

/// The length of the one dimension; an array without one is empty.
fn length_of(dimensions: &ArrayRef) -> Result<usize> {
    let lengths = dimensions.as_primitive::<Int32Type>();
    if lengths.null_count() > 0 {
        return fail(SqlState::NULL_VALUE_NOT_ALLOWED, "dimension values cannot be null");
    }
    match lengths.values().as_ref() {
        [] => Ok(0),
        [length] => match usize::try_from(*length) {
            Ok(length) if length <= ITEMS_MAX => Ok(length),
            _ => {
                let message = format!("array size exceeds the maximum allowed ({ITEMS_MAX})");
                fail(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
            }
        },
        _ => fail(SqlState::FEATURE_NOT_SUPPORTED, "arrays of more than one dimension are not supported"),
    }
}
