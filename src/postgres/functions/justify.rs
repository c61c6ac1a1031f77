//! Intervals with their parts carried over, and whether moments are finite.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, IntervalMonthDayNanoArray};
use arrow::datatypes::{DataType, IntervalMonthDayNano};
use datafusion::common::Result;

use super::calendar::MICROS_PER_DAY;
use super::interval_math::{NANOS_PER_MICRO, interval_range, intervals};
use super::kind::{Kind, interval};
use super::scalar::{Arguments, Call, Function, immutable_of};

const DAYS_PER_MONTH: i32 = 30;

pub(super) static FUNCTIONS: [Function; 4] = [
    immutable_of("justify_days", 1, returns_interval, |call| each(call, justify_days)),
    immutable_of("justify_hours", 1, returns_interval, |call| each(call, justify_hours)),
    immutable_of("justify_interval", 1, returns_interval, |call| each(call, justify_interval)),
    immutable_of("isfinite", 1, returns_finite, is_finite),
];

fn returns_interval(arguments: &Arguments) -> Result<DataType> {
    match arguments.kind(0) {
        Kind::Interval | Kind::Null => Ok(interval()),
        Kind::Text if arguments.is_unknown(0) => Ok(interval()),
        _ => arguments.undefined(),
    }
}

fn returns_finite(arguments: &Arguments) -> Result<DataType> {
    match arguments.kind(0) {
        kind if kind.is_day() || matches!(kind, Kind::Interval | Kind::Null) => Ok(DataType::Boolean),
        _ => arguments.undefined(),
    }
}

/// There are no infinite times here.
fn is_finite(call: &Call) -> Result<ArrayRef> {
    let values = call.arg(0)?;
    let known = |row: usize| (call.kind(0) != Kind::Null && values.is_valid(row)).then_some(true);
    Ok(Arc::new((0..call.rows).map(known).collect::<BooleanArray>()))
}

fn each(call: &Call, justify: fn(IntervalMonthDayNano) -> Option<IntervalMonthDayNano>) -> Result<ArrayRef> {
    let mut built = IntervalMonthDayNanoArray::builder(call.rows);
    for span in intervals(call, 0)?.iter() {
        match span {
            Some(span) => built.append_value(justify(span).ok_or_else(interval_range)?),
            None => built.append_null(),
        }
    }
    Ok(Arc::new(built.finish()))
}

/// 30 days are a month; days take the sign of months.
fn justify_days(span: IntervalMonthDayNano) -> Option<IntervalMonthDayNano> {
    let (mut months, mut days) = (span.months.checked_add(span.days / DAYS_PER_MONTH)?, span.days % DAYS_PER_MONTH);
    if months > 0 && days < 0 {
        (months, days) = (months - 1, days + DAYS_PER_MONTH);
    } else if months < 0 && days > 0 {
        (months, days) = (months + 1, days - DAYS_PER_MONTH);
    }
    Some(IntervalMonthDayNano::new(months, days, span.nanoseconds))
}

/// 24 hours are a day; the time takes the sign of days.
fn justify_hours(span: IntervalMonthDayNano) -> Option<IntervalMonthDayNano> {
    let nanos_per_day = MICROS_PER_DAY * NANOS_PER_MICRO;
    let (whole, mut nanos) = (span.nanoseconds / nanos_per_day, span.nanoseconds % nanos_per_day);
    let mut days = span.days.checked_add(i32::try_from(whole).ok()?)?;
    if days > 0 && nanos < 0 {
        (days, nanos) = (days - 1, nanos + nanos_per_day);
    } else if days < 0 && nanos > 0 {
        (days, nanos) = (days + 1, nanos - nanos_per_day);
    }
    Some(IntervalMonthDayNano::new(span.months, days, nanos))
}

/// Both, and one sign for all parts.
fn justify_interval(span: IntervalMonthDayNano) -> Option<IntervalMonthDayNano> {
    let nanos_per_day = MICROS_PER_DAY * NANOS_PER_MICRO;
    let (whole, mut nanos) = (span.nanoseconds / nanos_per_day, span.nanoseconds % nanos_per_day);
    let mut days = i64::from(span.days) + whole;
    let per_month = i64::from(DAYS_PER_MONTH);
    let mut months = span.months.checked_add(i32::try_from(days / per_month).ok()?)?;
    days %= per_month;
    if months > 0 && (days < 0 || (days == 0 && nanos < 0)) {
        (months, days) = (months - 1, days + per_month);
    } else if months < 0 && (days > 0 || (days == 0 && nanos > 0)) {
        (months, days) = (months + 1, days - per_month);
    }
    if days > 0 && nanos < 0 {
        (days, nanos) = (days - 1, nanos + nanos_per_day);
    } else if days < 0 && nanos > 0 {
        (days, nanos) = (days + 1, nanos - nanos_per_day);
    }
    Some(IntervalMonthDayNano::new(months, i32::try_from(days).ok()?, nanos))
}
