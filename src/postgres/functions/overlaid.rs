//! `overlay` of texts and of bytes: a part of a value replaced by another value.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BinaryViewBuilder, StringViewBuilder};
use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::error::{SqlState, fail, out_of_range};
use super::kind::Kind;
use super::scalar::{Arguments, Call, Function, immutable};
use super::text::characters;

pub(super) static FUNCTIONS: [Function; 1] = [immutable("overlay", 3..=4, returns, run)];

fn returns(arguments: &Arguments) -> Result<DataType> {
    if !(2..arguments.types.len()).all(|place| arguments.may_be(place, Kind::is_integer)) {
        return arguments.undefined();
    }
    let is = |place: usize, wanted: Kind| arguments.may_be(place, |kind| kind == wanted);
    if is(0, Kind::Text) && is(1, Kind::Text) {
        return Ok(DataType::Utf8View);
    }
    if is(0, Kind::Bytea) && is(1, Kind::Bytea) { Ok(DataType::BinaryView) } else { arguments.undefined() }
}

/// The value up to `from`, the other one, and the value from behind the part that it takes the
/// place of: as many as the other one has, unless `for` says how many.
fn run(call: &Call) -> Result<ArrayRef> {
    let from = call.int8(2)?;
    let count = if call.len() == 4 { Some(call.int8(3)?) } else { None };
    // How many stay before it, and how many of the value are left out, both counted from 0.
    let span = |row: usize, others: usize| -> Result<(usize, usize)> {
        if from.value(row) <= 0 {
            return fail(SqlState::SUBSTRING_ERROR, "negative substring length not allowed");
        }
        let count = count.as_ref().map_or_else(|| i64::try_from(others).unwrap_or(i64::MAX), |count| count.value(row));
        let behind = from.value(row).checked_add(count).filter(|behind| i32::try_from(*behind).is_ok());
        let behind = behind.ok_or_else(|| out_of_range("integer"))?;
        let index = |place: i64| usize::try_from(place - 1).unwrap_or_default();
        Ok((index(from.value(row)), index(behind)))
    };
    let is_null = |row: usize| call.args.iter().any(|array| array.is_null(row));
    let mut reserved = call.reserve();
    if *call.returns == DataType::BinaryView {
        let (values, others) = (bytes(call, 0)?, bytes(call, 1)?);
        let mut built = BinaryViewBuilder::with_capacity(call.rows);
        for row in 0..call.rows {
            if is_null(row) {
                built.append_null();
                continue;
            }
            let (value, other) = (values.value(row), others.value(row));
            let (before, behind) = span(row, other.len())?;
            let parts = [&value[..before.min(value.len())], other, &value[behind.min(value.len())..]];
            reserved.value(parts.iter().map(|part| part.len()).sum())?;
            built.append_value(parts.concat());
        }
        return Ok(Arc::new(built.finish()));
    }
    let (values, others) = (call.text(0)?, call.text(1)?);
    let mut built = StringViewBuilder::with_capacity(call.rows);
    for row in 0..call.rows {
        if is_null(row) {
            built.append_null();
            continue;
        }
        let (value, other) = (values.value(row), others.value(row));
        let (before, behind) = span(row, other.chars().count())?;
        let parts = [characters(value, 0, before), other, characters(value, behind, usize::MAX)];
        reserved.value(parts.iter().map(|part| part.len()).sum())?;
        built.append_value(parts.concat());
    }
    Ok(Arc::new(built.finish()))
}

fn bytes(call: &Call, place: usize) -> Result<BinaryViewArray> {
    Ok(call.as_type(place, &DataType::BinaryView)?.as_binary_view().clone())
}
