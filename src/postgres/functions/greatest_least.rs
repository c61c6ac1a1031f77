//! `greatest` and `least`, which compare as PostgreSQL's operators do, and counts of NULLs.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, DynComparator, Int32Array, make_comparator};
use arrow::compute::interleave;
use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::common_type::common_type;
use super::keys;
use super::kind::Kind;
use super::scalar::{Arguments, Call, Function, immutable};

pub(super) static FUNCTIONS: [Function; 5] = [
    // Once types are settled it is DataFusion's, which computes no more than it needs.
    immutable("coalesce", 1..=usize::MAX, returns_common, first_of_all),
    immutable("greatest", 1..=usize::MAX, returns_common, |call| chosen(call, Ordering::Greater)),
    immutable("least", 1..=usize::MAX, returns_common, |call| chosen(call, Ordering::Less)),
    immutable("num_nulls", 1..=usize::MAX, |_| Ok(DataType::Int32), |call| counted(call, true)),
    immutable("num_nonnulls", 1..=usize::MAX, |_| Ok(DataType::Int32), |call| counted(call, false)),
];

/// They are brought to one type when types are settled; until then it is the one that they will
/// have.
fn returns_common(arguments: &Arguments) -> Result<DataType> {
    let types: Vec<DataType> = arguments.types.iter().map(|data_type| (*data_type).clone()).collect();
    let unknown: Vec<bool> = (0..types.len()).map(|place| arguments.is_unknown(place)).collect();
    match common_type(&types, &unknown) {
        Ok(Some(common)) => Ok(common),
        _ => Ok(types.iter().find(|data_type| **data_type != DataType::Null).cloned().unwrap_or(DataType::Utf8View)),
    }
}

/// For each row the value that is before (or behind) all others in order, the first of several
/// alike.
fn chosen(call: &Call, wanted: Ordering) -> Result<ArrayRef> {
    let values = (0..call.len()).map(|place| call.as_type(place, call.returns)).collect::<Result<Vec<_>>>()?;
    let compared = values.iter().map(keys::of_array).collect::<Result<Vec<_>>>()?;
    // Of NULLs only those within arrays are compared.
    let order = |left: &ArrayRef, right: &ArrayRef| make_comparator(left, right, keys::NULLS_LAST);
    let mut best: Vec<Option<usize>> = vec![None; call.rows];
    // With the best of the rows so far, which are few: those of all pairs of many arguments would
    // be hundreds of megabytes.
    let mut comparators: Vec<Option<DynComparator>> = Vec::with_capacity(compared.len());
    for (place, array) in compared.iter().enumerate() {
        comparators.clear();
        comparators.resize_with(place, || None);
        for (row, best) in best.iter_mut().enumerate() {
            if array.is_null(row) {
                continue;
            }
            let is_better = match *best {
                None => true,
                Some(best) => {
                    let comparator = match &mut comparators[best] {
                        Some(made) => made,
                        unmade => unmade.insert(order(array, &compared[best])?),
                    };
                    comparator(row, row) == wanted
                }
            };
            if is_better {
                *best = Some(place);
            }
        }
    }
    let picked: Vec<(usize, usize)> =
        best.into_iter().enumerate().map(|(row, best)| (best.unwrap_or(0), row)).collect();
    let arrays: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
    Ok(interleave(&arrays, &picked)?)
}

fn first_of_all(call: &Call) -> Result<ArrayRef> {
    let values = (0..call.len()).map(|place| call.as_type(place, call.returns)).collect::<Result<Vec<_>>>()?;
    let first = |row: usize| values.iter().position(|array| array.is_valid(row)).unwrap_or(0);
    let picked: Vec<(usize, usize)> = (0..call.rows).map(|row| (first(row), row)).collect();
    let arrays: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
    Ok(interleave(&arrays, &picked)?)
}

/// How many arguments are NULL, or are not.
fn counted(call: &Call, nulls: bool) -> Result<ArrayRef> {
    let is_null = |place: usize, array: &ArrayRef, row| call.kind(place) == Kind::Null || array.is_null(row);
    let counts = (0..call.rows).map(|row| {
        let places = call.args.iter().enumerate();
        i32::try_from(places.filter(|(place, array)| is_null(*place, array, row) == nulls).count()).unwrap_or(i32::MAX)
    });
    Ok(Arc::new(counts.collect::<Int32Array>()))
}
