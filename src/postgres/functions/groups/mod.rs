//! Aggregates of many groups at once that DataFusion computes with an accumulator for each group,
//! and with arrays and states of its own: those of tens of thousands of groups take seconds, and
//! states with as many buffers as groups.

mod distinct;
mod extremes;
mod limited;
mod ordered;
#[cfg(test)]
mod tests;

use arrow::array::{Array, ArrayRef, BooleanArray, ListArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::filter;
use datafusion::common::Result;

pub(super) use distinct::DistinctCount;
pub(super) use extremes::ExtremeFloats;
pub(super) use limited::LimitedGroups;
pub(super) use ordered::{Joined, OrderedGroups};

/// The rows that an aggregate takes: those of its FILTER, and where it leaves NULLs out, those of
/// values; nothing where that is all.
pub(super) fn taken(rows: Option<&BooleanArray>, values: Option<&ArrayRef>) -> Option<BooleanArray> {
    let of_filter = rows.map(|rows| match rows.nulls() {
        Some(nulls) => rows.values() & nulls.inner(),
        None => rows.values().clone(),
    });
    let valid = values.and_then(|values| values.logical_nulls()).map(NullBuffer::into_inner);
    let taken = match (of_filter, valid) {
        (Some(rows), Some(valid)) => &rows & &valid,
        (Some(rows), None) | (None, Some(rows)) => rows,
        (None, None) => return None,
    };
    Some(BooleanArray::new(taken, None))
}

pub(super) fn filtered(values: &ArrayRef, taken: Option<&BooleanArray>) -> Result<ArrayRef> {
    match taken {
        Some(taken) => Ok(filter(values, taken)?),
        None => Ok(values.clone()),
    }
}

/// How long the list of each of so many rows is, if it holds the row alone.
pub(super) fn lengths(rows: usize, taken: Option<&BooleanArray>) -> Vec<usize> {
    (0..rows).map(|row| usize::from(taken.is_none_or(|taken| taken.value(row)))).collect()
}

/// The items of lists without those before the first and behind the last, and where each list
/// begins among them.
fn items_of(lists: &ListArray) -> (ArrayRef, OffsetBuffer<i32>) {
    let offsets = lists.value_offsets();
    let first = offsets[0];
    let items = lists.values().slice(first as usize, (offsets[lists.len()] - first) as usize);
    (items, OffsetBuffer::new(offsets.iter().map(|offset| offset - first).collect()))
}
