//! Dates, times and intervals from numbers.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Date32Array, Int64Array, IntervalMonthDayNanoArray};
use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::calendar::{Civil, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, days_in_month};
use super::date_pattern;
use super::error::{SqlState, fail};
use super::interval_math::{date_range, interval_range, micros_array};
use super::kind::{Kind, interval, timestamp, timestamptz};
use super::scalar::{Arguments, Call, Function, immutable};
use super::zone::Zone;
use crate::types::{Interval, POSTGRES_EPOCH_MICROS};

pub(super) static FUNCTIONS: [Function; 7] = [
    immutable("make_date", 3..=3, |_| Ok(DataType::Date32), make_date),
    immutable("make_time", 3..=3, |_| Ok(Kind::Time.arrow().unwrap_or(DataType::Null)), make_time),
    immutable("make_timestamp", 6..=6, |_| Ok(timestamp()), make_timestamp),
    immutable("make_timestamptz", 6..=7, |_| Ok(timestamptz()), make_timestamp),
    immutable("make_interval", 0..=7, |_| Ok(interval()), make_interval),
    immutable("to_timestamp", 1..=2, returns_epoch, |call| match call.len() {
        1 => from_epoch(call),
        _ => date_pattern::to_timestamp(call),
    }),
    immutable("to_date", 2..=2, returns_date, date_pattern::to_date),
];

/// Integers of a row; `None` if one is null.
fn row_of(columns: &[Int64Array], row: usize) -> Option<Vec<i64>> {
    columns.iter().map(|column| column.is_valid(row).then(|| column.value(row))).collect()
}

fn days_of(year: i64, month: i64, day: i64) -> Result<i64> {
    let in_calendar = (1..=12).contains(&month) && (-4713..=5_874_897).contains(&year) && year != 0;
    // There is no year zero.
    let astronomical = if year < 0 { year + 1 } else { year };
    if !in_calendar || day < 1 || day > days_in_month(astronomical, month) {
        let message = format!("date field value out of range: {year}-{month:02}-{day:02}");
        return fail(SqlState::DATETIME_FIELD_OVERFLOW, message);
    }
    Ok(Civil { year: astronomical, month, day, micros: 0 }.days())
}

/// Microseconds since midnight.
fn time_of(hour: i64, minute: i64, second: f64) -> Result<i64> {
    let micros = (second * 1e6).round();
    let in_day = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60e6).contains(&micros);
    let time = hour * MICROS_PER_HOUR + minute * MICROS_PER_MINUTE + micros as i64;
    if !in_day || time > MICROS_PER_DAY {
        let message = format!("time field value out of range: {hour}:{minute:02}:{second:02}");
        return fail(SqlState::DATETIME_FIELD_OVERFLOW, message);
    }
    Ok(time)
}

fn integers(call: &Call, places: std::ops::Range<usize>) -> Result<Vec<Int64Array>> {
    places.map(|place| call.int8(place)).collect()
}

fn make_date(call: &Call) -> Result<ArrayRef> {
    let parts = integers(call, 0..3)?;
    let days = (0..call.rows).map(|row| match row_of(&parts, row).as_deref() {
        Some([year, month, day]) => {
            i32::try_from(days_of(*year, *month, *day)?).map(Some).map_err(|_| date_range("date"))
        }
        _ => Ok(None),
    });
    Ok(Arc::new(days.collect::<Result<Date32Array>>()?))
}

fn make_time(call: &Call) -> Result<ArrayRef> {
    let (parts, seconds) = (integers(call, 0..2)?, call.float8(2)?);
    let times = (0..call.rows).map(|row| match row_of(&parts, row).as_deref() {
        Some([hour, minute]) if seconds.is_valid(row) => time_of(*hour, *minute, seconds.value(row)).map(Some),
        _ => Ok(None),
    });
    micros_array(&times.collect::<Result<Int64Array>>()?, call.returns)
}

fn make_timestamp(call: &Call) -> Result<ArrayRef> {
    let (parts, seconds) = (integers(call, 0..5)?, call.float8(5)?);
    let zones = if call.len() == 7 { Some(call.text(6)?) } else { None };
    let zoned = call.returns == &timestamptz();
    let moments = (0..call.rows).map(|row| match row_of(&parts, row).as_deref() {
        Some([year, month, day, hour, minute]) if seconds.is_valid(row) => {
            let days = days_of(*year, *month, *day)?;
            let time = time_of(*hour, *minute, seconds.value(row))?;
            let local = days.checked_mul(MICROS_PER_DAY).and_then(|at| at.checked_add(time));
            let Some(local) = local else { return Err(date_range("timestamp")) };
            match &zones {
                Some(zones) if zones.is_null(row) => Ok(None),
                Some(zones) => Ok(Some(Zone::of_argument(zones.value(row))?.moment(local))),
                None if zoned => Ok(Some(call.zone.moment(local))),
                None => Ok(Some(local)),
            }
        }
        _ => Ok(None),
    });
    micros_array(&moments.collect::<Result<Int64Array>>()?, call.returns)
}

/// Years, months, weeks, days, hours, minutes, seconds, each 0 unless given.
fn make_interval(call: &Call) -> Result<ArrayRef> {
    let parts = integers(call, 0..call.len().min(6))?;
    let seconds = if call.len() == 7 { Some(call.float8(6)?) } else { None };
    let mut built = IntervalMonthDayNanoArray::builder(call.rows);
    for row in 0..call.rows {
        let Some(given) = row_of(&parts, row).filter(|_| seconds.as_ref().is_none_or(|seconds| seconds.is_valid(row)))
        else {
            built.append_null();
            continue;
        };
        let part = |place: usize| given.get(place).copied().unwrap_or(0);
        let micros = seconds.as_ref().map_or(0, |seconds| (seconds.value(row) * 1e6).round() as i64);
        let months = part(0).checked_mul(12).and_then(|months| months.checked_add(part(1)));
        let days = part(2).checked_mul(7).and_then(|days| days.checked_add(part(3)));
        let time = part(4)
            .checked_mul(MICROS_PER_HOUR)
            .and_then(|time| time.checked_add(part(5).checked_mul(MICROS_PER_MINUTE)?))
            .and_then(|time| time.checked_add(micros));
        let months = months.and_then(|months| i32::try_from(months).ok());
        let days = days.and_then(|days| i32::try_from(days).ok());
        match (months, days, time) {
            (Some(months), Some(days), Some(micros)) => {
                built.append_value(Interval { months, days, micros }.in_arrow()?)
            }
            _ => return Err(interval_range()),
        }
    }
    Ok(Arc::new(built.finish()))
}

fn returns_date(arguments: &Arguments) -> Result<DataType> {
    match (arguments.kind(0), arguments.kind(1)) {
        (Kind::Text | Kind::Null, Kind::Text | Kind::Null) => Ok(DataType::Date32),
        _ => arguments.undefined(),
    }
}

fn returns_epoch(arguments: &Arguments) -> Result<DataType> {
    if arguments.types.len() == 2 {
        return returns_date(arguments).map(|_| timestamptz());
    }
    match arguments.kind(0) {
        kind if kind.is_number() || matches!(kind, Kind::Null | Kind::Text) => Ok(timestamptz()),
        _ => arguments.undefined(),
    }
}

/// Seconds since 1970. PostgreSQL counts from 2000: its doubles are rounded there.
fn from_epoch(call: &Call) -> Result<ArrayRef> {
    let seconds = call.float8(0)?;
    let moments = seconds.iter().map(|seconds| match seconds {
        Some(seconds) if seconds.is_nan() => fail(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp cannot be NaN"),
        Some(seconds) if seconds.is_infinite() => {
            let value = if seconds < 0.0 { "-infinity" } else { "infinity" };
            let message = format!("value \"{value}\" of type timestamp with time zone is not supported");
            fail(SqlState::FEATURE_NOT_SUPPORTED, message)
        }
        Some(seconds) => {
            let since_2000 = seconds - (POSTGRES_EPOCH_MICROS / MICROS_PER_SECOND) as f64;
            let micros = (since_2000 * MICROS_PER_SECOND as f64).round_ties_even();
            if !micros.is_finite() || micros.abs() > 9.2e18 {
                return fail(SqlState::DATETIME_FIELD_OVERFLOW, format!("timestamp out of range: \"{seconds}\""));
            }
            Ok(Some((micros as i64).saturating_add(POSTGRES_EPOCH_MICROS)))
        }
        None => Ok(None),
    });
    micros_array(&moments.collect::<Result<Int64Array>>()?, call.returns)
}
