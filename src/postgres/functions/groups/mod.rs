//! Aggregates of many groups at once that DataFusion computes with an accumulator for each group,
//! and with arrays and states of its own: those of tens of thousands of groups take seconds, and
//! states with as many buffers as groups.

mod distinct;
mod ordered;
#[cfg(test)]
mod tests;

use arrow::array::{Array, ArrayRef, BooleanArray, ListArray};
use arrow::buffer::NullBuffer;
use arrow::compute::filter;
use datafusion::common::{Result, internal_err};

pub(super) use distinct::DistinctCount;
pub(super) use ordered::{Joined, OrderedGroups};

/// The rows that an aggregate takes: those of its FILTER, and where it leaves NULLs out, those of
/// values; nothing where that is all.
fn taken(rows: Option<&BooleanArray>, values: Option<&ArrayRef>) -> Option<BooleanArray> {
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

fn filtered(values: &ArrayRef, taken: Option<&BooleanArray>) -> Result<ArrayRef> {
    match taken {
        Some(taken) => Ok(filter(values, taken)?),
        None => Ok(values.clone()),
    }
}

/// The items of lists without those before the first and behind the last, and where each list
/// begins among them.
fn items_of(lists: &ListArray) -> (ArrayRef, impl Iterator<Item = usize>) {
    let offsets = lists.value_offsets();
    let first = offsets[0];
    let items = lists.values().slice(first as usize, (offsets[lists.len()] - first) as usize);
    (items, offsets.iter().map(move |offset| (offset - first) as usize))
}

/// Lists are addressed with 32 bits.
fn offset(at: usize) -> Result<i32> {
    match i32::try_from(at) {
        Ok(at) => Ok(at),
        Err(_) => internal_err!("the states of groups hold {at} items, more than a list has"),
    }
}
