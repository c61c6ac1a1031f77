//! `(a, b) OVERLAPS (c, d)`: whether two spans of time have a moment in common. A span's end may be
//! an interval behind its start. And `a && b`: whether two arrays have an item in common.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::array_items::found_among;
use super::common_type::common_type;
use super::interval_math::{date_range, intervals, moved};
use super::keys;
use super::kind::Kind;
use super::scalar::{Arguments, Call, Function, immutable, stable};
use crate::carried::Stop;

/// Pairs of items that are compared one by one; more are looked up by hash.
const COMPARED_MAX: usize = 4096;

pub(super) static FUNCTIONS: [Function; 2] =
    [stable("overlaps", 4..=4, returns, run), immutable("arrayoverlap", 2..=2, returns_of_arrays, run_of_arrays)];

fn returns_of_arrays(arguments: &Arguments) -> Result<DataType> {
    let fits = |place: usize| arguments.may_be(place, |kind| kind == Kind::Array);
    if fits(0) && fits(1) { Ok(DataType::Boolean) } else { arguments.undefined() }
}

/// A NULL in an array is equal to nothing.
fn run_of_arrays(call: &Call) -> Result<ArrayRef> {
    let (left, right) = (call.arg(0)?, call.arg(1)?);
    let types = match (left.data_type(), right.data_type()) {
        (DataType::List(left), DataType::List(right)) => Some((left.data_type().clone(), right.data_type().clone())),
        (DataType::List(item), _) | (_, DataType::List(item)) => {
            Some((item.data_type().clone(), item.data_type().clone()))
        }
        _ => None,
    };
    let Some((left_item, right_item)) = types else {
        return Ok(arrow::array::new_null_array(&DataType::Boolean, call.rows));
    };
    let item = match common_type(&[left_item.clone(), right_item], &[false, false]) {
        Ok(common) => common.unwrap_or(left_item),
        Err(_) => return super::scalar::undefined(call.function, call.args.iter().map(|array| array.data_type())),
    };
    let wanted = DataType::new_list(item, true);
    let (left, right) = (call.as_type(0, &wanted)?, call.as_type(1, &wanted)?);
    let (left, right) = (left.as_list::<i32>(), right.as_list::<i32>());
    let stop = Stop::of(call.options);
    let overlaps: BooleanArray = call.each([left.nulls(), right.nulls()], |row| {
        let (left, right) = (keys::of_array(&left.value(row))?, keys::of_array(&right.value(row))?);
        stop.check()?;
        if left.len().saturating_mul(right.len()) > COMPARED_MAX {
            return Ok(found_among(&left, &right)?.contains(&true));
        }
        let compare = make_comparator(&left, &right, SortOptions::default())?;
        let equal = |a: usize| (0..right.len()).any(|b| right.is_valid(b) && compare(a, b).is_eq());
        Ok((0..left.len()).any(|a| left.is_valid(a) && equal(a)))
    })?;
    Ok(Arc::new(overlaps))
}

fn returns(arguments: &Arguments) -> Result<DataType> {
    let fits = |place: usize| {
        let is_end = place % 2 == 1;
        arguments.may_be(place, |kind| kind.is_day() || is_end && kind == Kind::Interval)
    };
    if (0..4).all(fits) { Ok(DataType::Boolean) } else { arguments.undefined() }
}

fn run(call: &Call) -> Result<ArrayRef> {
    let zoned = (0..4).any(|place| call.kind(place) == Kind::TimestampTz);
    let kind = if zoned { Kind::TimestampTz } else { Kind::Timestamp };
    let end = |start: &Int64Array, place: usize| -> Result<Int64Array> {
        if call.kind(place) != Kind::Interval {
            return call.micros(place, kind);
        }
        let zone = zoned.then_some(&call.zone);
        let ends =
            start.iter().zip(intervals(call, place)?.iter().collect::<Vec<_>>()).map(|(start, span)| {
                match start.zip(span) {
                    Some((start, span)) => moved(start, span, 1, zone).map(Some).ok_or_else(|| date_range("timestamp")),
                    None => Ok(None),
                }
            });
        ends.collect()
    };
    let (first, second) = (call.micros(0, kind)?, call.micros(2, kind)?);
    let (first_end, second_end) = (end(&first, 1)?, end(&second, 3)?);
    let at = |moments: &Int64Array, row: usize| moments.is_valid(row).then(|| moments.value(row));
    let rows = (0..call.rows).map(|row| {
        let first = ordered(at(&first, row), at(&first_end, row))?;
        let second = ordered(at(&second, row), at(&second_end, row))?;
        common(first, second)
    });
    Ok(Arc::new(rows.collect::<BooleanArray>()))
}

type Span = (i64, Option<i64>);

/// The earlier moment first; the only one known is the start.
fn ordered(start: Option<i64>, end: Option<i64>) -> Option<Span> {
    match (start, end) {
        (None, None) => None,
        (None, Some(end)) => Some((end, None)),
        (Some(start), Some(end)) if start > end => Some((end, Some(start))),
        (Some(start), end) => Some((start, end)),
    }
}

/// Ends do not belong to their spans, unless a span is one moment. What an unknown end could change
/// is unknown.
fn common(first: Span, second: Span) -> Option<bool> {
    let within = |start: i64, (_, end): Span, other_end: Option<i64>| match end {
        Some(end) if start < end => Some(true),
        Some(_) => other_end.map(|_| false),
        None => None,
    };
    match first.0.cmp(&second.0) {
        std::cmp::Ordering::Greater => within(first.0, second, first.1),
        std::cmp::Ordering::Less => within(second.0, first, second.1),
        std::cmp::Ordering::Equal => first.1.and(second.1).map(|_| true),
    }
}
