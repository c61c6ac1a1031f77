//! Arithmetic of days, times and intervals.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, AsArray, Date32Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, Time64MicrosecondArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, IntervalMonthDayNano, IntervalMonthDayNanoType};
use datafusion::common::{DataFusionError, Result};

use super::calendar::{Civil, MICROS_PER_DAY, add_months};
use super::error::{Error, SqlState, fail, out_of_range};
use super::kind::{Kind, interval, timestamp, timestamptz};
use super::scalar::Call;
use super::zone::Zone;
use crate::types::Interval;

/// Dates in days since 1970: from 4713-11-24 BC to 5874897-12-31.
pub(super) const DATE_DAYS: std::ops::RangeInclusive<i64> = -2_440_588..=2_145_042_905;
/// Microseconds in `nanos` of Arrow's intervals.
pub(super) const NANOS_PER_MICRO: i64 = 1000;

/// A text beside a day or a time is an interval.
fn interval_or_text(kind: Kind) -> bool {
    matches!(kind, Kind::Interval | Kind::Text | Kind::Null)
}

pub(super) fn add_type(left: Kind, right: Kind) -> Option<DataType> {
    match (left, right) {
        (Kind::Date, other) | (other, Kind::Date) if other.is_integer() => Some(DataType::Date32),
        (Kind::Date, Kind::Time) | (Kind::Time, Kind::Date) => Some(timestamp()),
        (Kind::Interval, other) | (other, Kind::Interval) if interval_or_text(other) => Some(interval()),
        (kind, Kind::Interval) | (Kind::Interval, kind) => after_interval(kind),
        (kind, other) | (other, kind) if kind.is_day() && matches!(other, Kind::Text | Kind::Null) => {
            after_interval(kind)
        }
        _ => None,
    }
}

pub(super) fn subtract_type(left: Kind, right: Kind) -> Option<DataType> {
    match (left, right) {
        (Kind::Date, other) if other.is_integer() => Some(DataType::Date32),
        (Kind::Date, Kind::Date | Kind::Text | Kind::Null) | (Kind::Text | Kind::Null, Kind::Date) => {
            Some(DataType::Int32)
        }
        (left, right) if left.is_day() && right.is_day() => Some(interval()),
        (left, Kind::Text | Kind::Null) if left.is_day() => Some(interval()),
        (Kind::Text | Kind::Null, right) if right.is_day() => Some(interval()),
        (Kind::Time, Kind::Time) => Some(interval()),
        (Kind::Interval, other) | (other, Kind::Interval) if interval_or_text(other) => Some(interval()),
        (kind, Kind::Interval) => after_interval(kind),
        _ => None,
    }
}

/// The type of a day or time moved by an interval.
fn after_interval(kind: Kind) -> Option<DataType> {
    match kind {
        Kind::Date | Kind::Timestamp => Some(timestamp()),
        Kind::TimestampTz => Some(timestamptz()),
        Kind::Time => Kind::Time.arrow(),
        _ => None,
    }
}

pub(super) fn add(call: &Call) -> Result<ArrayRef> {
    let (left, right) = (call.kind(0), call.kind(1));
    // The side that is moved, and the one that says how far.
    let moved = usize::from(!(left.is_day() || left == Kind::Time) || (left == Kind::Time && right == Kind::Date));
    shift(call, moved, 1 - moved, 1)
}

pub(super) fn subtract(call: &Call) -> Result<ArrayRef> {
    match call.returns {
        DataType::Int32 => {
            let (left, right) = (days(call, 0)?, days(call, 1)?);
            let difference: Int32Array =
                rows(&left, &right, |left, right| left.checked_sub(right).ok_or_else(|| out_of_range("integer")))?;
            Ok(Arc::new(difference))
        }
        DataType::Interval(_) if call.kind(0) == Kind::Interval || call.kind(1) == Kind::Interval => {
            let (left, right) = (intervals(call, 0)?, intervals(call, 1)?);
            between(&left, &right, |left, right| {
                let negated = negate(right).ok_or_else(interval_range)?;
                sum(left, negated)
            })
        }
        DataType::Interval(_) => {
            let kind = match (call.kind(0), call.kind(1)) {
                (Kind::Time, _) => Kind::Time,
                (Kind::TimestampTz, _) | (_, Kind::TimestampTz) => Kind::TimestampTz,
                _ => Kind::Timestamp,
            };
            let (left, right) = (call.micros(0, kind)?, call.micros(1, kind)?);
            let mut built = IntervalMonthDayNanoArray::builder(call.rows);
            for (left, right) in left.iter().zip(right.iter()) {
                match left.zip(right) {
                    Some((left, right)) => {
                        let micros = left.checked_sub(right).ok_or_else(interval_range)?;
                        built.append_value(of_micros(micros)?);
                    }
                    None => built.append_null(),
                }
            }
            Ok(Arc::new(built.finish()))
        }
        _ => shift(call, 0, 1, -1),
    }
}

pub(super) fn multiply(call: &Call) -> Result<ArrayRef> {
    let of = usize::from(call.kind(0) != Kind::Interval);
    let (spans, factors) = (intervals(call, of)?, call.float8(1 - of)?);
    scaled(&spans, &factors, |part, factor| Ok(part * factor))
}

pub(super) fn divide(call: &Call) -> Result<ArrayRef> {
    let (spans, divisors) = (intervals(call, 0)?, call.float8(1)?);
    scaled(
        &spans,
        &divisors,
        |part, divisor| {
            if divisor == 0.0 { Err(super::error::division_by_zero()) } else { Ok(part / divisor) }
        },
    )
}

/// The average of so many, from the parts of their sum.
pub(super) fn averaged(months: i64, days: i64, nanoseconds: i128, count: i64) -> Result<IntervalMonthDayNano> {
    let micros = nanoseconds / i128::from(NANOS_PER_MICRO);
    scaled_parts([months as f64, days as f64, micros as f64], |part| Ok(part / count as f64))
}

fn scaled(
    spans: &IntervalMonthDayNanoArray,
    numbers: &arrow::array::Float64Array,
    of: impl Fn(f64, f64) -> Result<f64>,
) -> Result<ArrayRef> {
    let mut built = IntervalMonthDayNanoArray::builder(spans.len());
    for (span, number) in spans.iter().zip(numbers.iter()) {
        match span.zip(number) {
            Some((span, number)) => {
                let micros = (span.nanoseconds / NANOS_PER_MICRO) as f64;
                let parts = [f64::from(span.months), f64::from(span.days), micros];
                built.append_value(scaled_parts(parts, |part| of(part, number))?);
            }
            None => built.append_null(),
        }
    }
    Ok(Arc::new(built.finish()))
}

/// The parts of an interval multiplied or divided: fractions of months become days of 30, fractions
/// of days become time.
fn scaled_parts([months, days, micros]: [f64; 3], of: impl Fn(f64) -> Result<f64>) -> Result<IntervalMonthDayNano> {
    const DAY_SECONDS: f64 = 86_400.0;
    let to_micros = |seconds: f64| (seconds * 1e6).round_ties_even() / 1e6;
    let (months, mut days) = (of(months)?, of(days)?);
    let from_months = to_micros((months - months.trunc()) * 30.0);
    let mut seconds = to_micros((days - days.trunc() + from_months - from_months.trunc()) * DAY_SECONDS);
    days = days.trunc();
    // Rounding may have made a whole day of it.
    if seconds.abs() >= DAY_SECONDS {
        let whole = (seconds / DAY_SECONDS).trunc();
        (days, seconds) = (days + whole, seconds - whole * DAY_SECONDS);
    }
    let (months, days) = (months.trunc(), days + from_months.trunc());
    let micros = of(micros)? + seconds * 1e6;
    let micros = micros.round_ties_even();
    let fits = |part: f64| (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&part);
    if !fits(months) || !fits(days) || micros.is_nan() || micros.abs() >= i64::MAX as f64 {
        return Err(interval_range());
    }
    Ok(Interval { months: months as i32, days: days as i32, micros: micros as i64 }.in_arrow()?)
}

/// `a` moved by `by`, forwards or (`sign` -1) backwards.
fn shift(call: &Call, a: usize, by: usize, sign: i64) -> Result<ArrayRef> {
    match call.returns {
        DataType::Date32 => {
            let (days, more) = (days(call, a)?, call.int8(by)?);
            let moved: Date32Array = days
                .iter()
                .zip(more.iter())
                .map(|(day, more)| match day.zip(more) {
                    Some((day, more)) => {
                        let moved = more.checked_mul(sign).and_then(|more| i64::from(day).checked_add(more));
                        let moved = moved.filter(|day| DATE_DAYS.contains(day)).and_then(|day| i32::try_from(day).ok());
                        moved.map(Some).ok_or_else(|| date_range("date"))
                    }
                    None => Ok(None),
                })
                .collect::<Result<_>>()?;
            Ok(Arc::new(moved))
        }
        DataType::Interval(_) => {
            let (left, right) = (intervals(call, a)?, intervals(call, by)?);
            between(&left, &right, sum)
        }
        DataType::Time64(_) => {
            let (times, spans) = (call.micros(a, Kind::Time)?, intervals(call, by)?);
            let moved: Time64MicrosecondArray = times
                .iter()
                .zip(spans.iter())
                .map(|(time, span)| {
                    let (time, span) = time.zip(span)?;
                    Some((time + sign * (span.nanoseconds / NANOS_PER_MICRO)).rem_euclid(MICROS_PER_DAY))
                })
                .collect();
            Ok(Arc::new(moved))
        }
        DataType::Timestamp(_, zone) => {
            let kind = if zone.is_some() { Kind::TimestampTz } else { Kind::Timestamp };
            let moments = call.micros(a, kind)?;
            let moved: TimestampMicrosecondArray = if call.kind(by) == Kind::Time {
                let times = call.micros(by, Kind::Time)?;
                moments
                    .iter()
                    .zip(times.iter())
                    .map(|(day, time)| day.zip(time).map(|(day, time)| day + time))
                    .collect()
            } else {
                let spans = intervals(call, by)?;
                let moved = moments.iter().zip(spans.iter()).map(|(at, span)| match at.zip(span) {
                    Some((at, span)) => {
                        let zone = zone.as_ref().map(|_| &call.zone);
                        moved(at, span, sign, zone).map(Some).ok_or_else(|| date_range("timestamp"))
                    }
                    None => Ok(None),
                });
                moved.collect::<Result<_>>()?
            };
            Ok(Arc::new(moved.with_data_type(call.returns.clone())))
        }
        other => fail(SqlState::FEATURE_NOT_SUPPORTED, format!("{} gives no {other}", call.function)),
    }
}

/// A moment moved by an interval: months first, then days, both by the calendar of the zone, then
/// time. `None`: out of range.
pub(super) fn moved(at: i64, span: IntervalMonthDayNano, sign: i64, zone: Option<&Zone>) -> Option<i64> {
    let mut at = at;
    if span.months != 0 || span.days != 0 {
        let mut local = zone.map_or(at, |zone| zone.local(at));
        if span.months != 0 {
            local = add_months(local, sign * i64::from(span.months))?;
        }
        let days = (sign * i64::from(span.days)).checked_mul(MICROS_PER_DAY)?;
        local = local.checked_add(days)?;
        at = zone.map_or(local, |zone| zone.moment(local));
    }
    let at = at.checked_add(sign * (span.nanoseconds / NANOS_PER_MICRO))?;
    in_range(at).then_some(at)
}

/// From 4713 BC to year 294276.
pub(super) fn in_range(micros: i64) -> bool {
    (-210_866_803_200_000_000..9_223_372_036_854_775_807).contains(&micros)
}

pub(super) fn date_range(type_name: &str) -> DataFusionError {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("{type_name} out of range")).into()
}

pub(super) fn interval_range() -> DataFusionError {
    date_range("interval")
}

/// A difference of moments: whole days and the rest.
pub(super) fn of_micros(micros: i64) -> Result<IntervalMonthDayNano> {
    let (days, rest) = (micros / MICROS_PER_DAY, micros % MICROS_PER_DAY);
    let days = i32::try_from(days).map_err(|_| interval_range())?;
    Ok(IntervalMonthDayNano::new(0, days, rest * NANOS_PER_MICRO))
}

fn sum(left: IntervalMonthDayNano, right: IntervalMonthDayNano) -> Result<IntervalMonthDayNano> {
    Ok(IntervalMonthDayNano::new(
        left.months.checked_add(right.months).ok_or_else(interval_range)?,
        left.days.checked_add(right.days).ok_or_else(interval_range)?,
        left.nanoseconds.checked_add(right.nanoseconds).ok_or_else(Interval::too_long)?,
    ))
}

fn negate(span: IntervalMonthDayNano) -> Option<IntervalMonthDayNano> {
    let (months, days, nanos) = (span.months.checked_neg()?, span.days.checked_neg()?, span.nanoseconds.checked_neg()?);
    Some(IntervalMonthDayNano::new(months, days, nanos))
}

fn between(
    left: &IntervalMonthDayNanoArray,
    right: &IntervalMonthDayNanoArray,
    op: impl Fn(IntervalMonthDayNano, IntervalMonthDayNano) -> Result<IntervalMonthDayNano>,
) -> Result<ArrayRef> {
    let mut built = IntervalMonthDayNanoArray::builder(left.len());
    for (left, right) in left.iter().zip(right.iter()) {
        match left.zip(right) {
            Some((left, right)) => built.append_value(op(left, right)?),
            None => built.append_null(),
        }
    }
    Ok(Arc::new(built.finish()))
}

fn rows(left: &Int32Array, right: &Int32Array, op: impl Fn(i32, i32) -> Result<i32>) -> Result<Int32Array> {
    left.iter()
        .zip(right.iter())
        .map(|(left, right)| left.zip(right).map(|(left, right)| op(left, right)).transpose())
        .collect()
}

pub(super) fn intervals(call: &Call, place: usize) -> Result<IntervalMonthDayNanoArray> {
    Ok(call.as_type(place, &interval())?.as_primitive::<IntervalMonthDayNanoType>().clone())
}

fn days(call: &Call, place: usize) -> Result<Int32Array> {
    let days = call.as_type(place, &DataType::Date32)?;
    Ok(arrow::compute::cast(&days, &DataType::Int32)?.as_primitive::<arrow::datatypes::Int32Type>().clone())
}

/// What lies between two moments, in years, months, days and time, as `age` counts.
pub(super) fn age(left: i64, right: i64) -> Result<IntervalMonthDayNano> {
    if left < right {
        return negate(age(right, left)?).ok_or_else(interval_range);
    }
    let (later, earlier) = (Civil::of(left), Civil::of(right));
    let mut micros = later.micros - earlier.micros;
    let mut days = later.day - earlier.day;
    let mut months = (later.year - earlier.year) * 12 + later.month - earlier.month;
    if micros < 0 {
        micros += MICROS_PER_DAY;
        days -= 1;
    }
    if days < 0 {
        days += super::calendar::days_in_month(earlier.year, earlier.month);
        months -= 1;
    }
    let (months, days) =
        (i32::try_from(months).map_err(|_| interval_range())?, i32::try_from(days).map_err(|_| interval_range())?);
    Ok(IntervalMonthDayNano::new(months, days, micros * NANOS_PER_MICRO))
}

/// Microseconds of moments, with nothing where `at` is null.
pub(super) fn micros_array(micros: &Int64Array, data_type: &DataType) -> Result<ArrayRef> {
    Ok(arrow::compute::cast(micros, data_type)?)
}
