//! `date_trunc`, `date_bin`, `age`, `timezone`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array, IntervalMonthDayNanoArray};
use arrow::datatypes::{DataType, IntervalMonthDayNano};
use datafusion::common::Result;

use super::calendar::{
    Civil, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, days_of_civil, iso_weekday,
};
use super::datetime_fields::{Field, no_field};
use super::error::{SqlState, fail};
use super::interval_math::{NANOS_PER_MICRO, age, date_range, intervals, micros_array};
use super::kind::{Kind, interval, timestamp, timestamptz};
use super::scalar::{Arguments, Call, Function, immutable};
use super::zone::Zone;

pub(super) static FUNCTIONS: [Function; 4] = [
    immutable("date_trunc", 2..=3, returns_trunc, run_trunc),
    immutable("date_bin", 3..=3, returns_bin, run_bin),
    immutable("age", 2..=2, returns_age, run_age),
    immutable("timezone", 1..=2, returns_zone, run_zone),
];

fn returns_trunc(arguments: &Arguments) -> Result<DataType> {
    if !arguments.may_be(0, |kind| kind == Kind::Text) {
        return arguments.undefined();
    }
    match arguments.kind(1) {
        Kind::Interval if arguments.types.len() == 2 => Ok(interval()),
        Kind::Timestamp if arguments.types.len() == 2 => Ok(timestamp()),
        Kind::Date | Kind::TimestampTz | Kind::Text | Kind::Null => Ok(timestamptz()),
        // With a zone a timestamp is read as one of the session.
        Kind::Timestamp => Ok(timestamptz()),
        _ => arguments.undefined(),
    }
}

fn run_trunc(call: &Call) -> Result<ArrayRef> {
    let fields = call.text(0)?;
    if let DataType::Interval(_) = call.returns {
        let spans = intervals(call, 1)?;
        let truncated: IntervalMonthDayNanoArray = call.each([spans.nulls(), fields.nulls()], |row| {
            let span = Field::parse(fields.value(row)).and_then(|field| truncated_span(field, spans.value(row)));
            span.map_or_else(|| no_field(fields.value(row), Kind::Interval), Ok)
        })?;
        return Ok(Arc::new(truncated));
    }
    let kind = if matches!(call.returns, DataType::Timestamp(_, None)) { Kind::Timestamp } else { Kind::TimestampTz };
    let moments = call.micros(1, kind)?;
    let zones = if call.len() == 3 { Some(call.text(2)?) } else { None };
    let mut named: Option<(String, Zone)> = None;
    let nulls = [moments.nulls(), fields.nulls(), zones.as_ref().and_then(|zones| zones.nulls())];
    let truncated: Int64Array = call.each(nulls, |row| {
        let zone = match &zones {
            Some(zones) => zone_named(&mut named, zones.value(row))?,
            None => call.zone.clone(),
        };
        let Some(field) = Field::parse(fields.value(row)) else { return no_field(fields.value(row), kind) };
        let at = moments.value(row);
        let truncated_at =
            if kind == Kind::Timestamp { truncated_local(field, at) } else { truncated_moment(field, at, &zone) };
        truncated_at.map_or_else(|| no_field(fields.value(row), kind), Ok)
    })?;
    micros_array(&truncated, call.returns)
}

/// A zone by its name, looked up once for a run of equal names.
fn zone_named(last: &mut Option<(String, Zone)>, name: &str) -> Result<Zone> {
    match last {
        Some((known, zone)) if known == name => Ok(zone.clone()),
        _ => {
            let zone = Zone::named(name)?;
            *last = Some((name.to_owned(), zone.clone()));
            Ok(zone)
        }
    }
}

fn truncated_moment(field: Field, at: i64, zone: &Zone) -> Option<i64> {
    let local = zone.local(at);
    let truncated = truncated_local(field, local)?;
    // Within a day clocks may be set back between the two: what is shorter than a day is taken off
    // the moment itself.
    match field {
        Field::Microseconds | Field::Milliseconds | Field::Second | Field::Minute | Field::Hour => {
            Some(at - (local - truncated))
        }
        _ => Some(zone.moment(truncated)),
    }
}

fn truncated_local(field: Field, local: i64) -> Option<i64> {
    let civil = Civil::of(local);
    let to = |unit: i64| local - local.rem_euclid(unit);
    let date = |year: i64, month: i64| days_of_civil(year, month, 1).checked_mul(MICROS_PER_DAY);
    match field {
        Field::Microseconds => Some(local),
        Field::Milliseconds => Some(to(1000)),
        Field::Second => Some(to(MICROS_PER_SECOND)),
        Field::Minute => Some(to(MICROS_PER_MINUTE)),
        Field::Hour => Some(to(MICROS_PER_HOUR)),
        Field::Day => Some(to(MICROS_PER_DAY)),
        Field::Week => Some((civil.days() - iso_weekday(civil.days()) + 1) * MICROS_PER_DAY),
        Field::Month => date(civil.year, civil.month),
        Field::Quarter => date(civil.year, (civil.month - 1) / 3 * 3 + 1),
        Field::Year => date(civil.year, 1),
        Field::Decade => date(civil.year.div_euclid(10) * 10, 1),
        Field::Century => date((civil.year - 1).div_euclid(100) * 100 + 1, 1),
        Field::Millennium => date((civil.year - 1).div_euclid(1000) * 1000 + 1, 1),
        _ => None,
    }
}

fn truncated_span(field: Field, span: IntervalMonthDayNano) -> Option<IntervalMonthDayNano> {
    let micros = span.nanoseconds / NANOS_PER_MICRO;
    let months = |unit: i32| Some(IntervalMonthDayNano::new(span.months / unit * unit, 0, 0));
    let time =
        |unit: i64| Some(IntervalMonthDayNano::new(span.months, span.days, (micros - micros % unit) * NANOS_PER_MICRO));
    match field {
        Field::Microseconds => time(1),
        Field::Milliseconds => time(1000),
        Field::Second => time(MICROS_PER_SECOND),
        Field::Minute => time(MICROS_PER_MINUTE),
        Field::Hour => time(MICROS_PER_HOUR),
        Field::Day => Some(IntervalMonthDayNano::new(span.months, span.days, 0)),
        Field::Month => months(1),
        Field::Quarter => months(3),
        Field::Year => months(12),
        Field::Decade => months(120),
        Field::Century => months(1200),
        Field::Millennium => months(12_000),
        _ => None,
    }
}

fn returns_bin(arguments: &Arguments) -> Result<DataType> {
    let kinds = [arguments.kind(1), arguments.kind(2)];
    if !kinds.iter().all(|kind| kind.is_day() || matches!(kind, Kind::Text | Kind::Null)) {
        return arguments.undefined();
    }
    // A day becomes either one; where nothing else decides, the preferred one has a zone.
    match kinds.contains(&Kind::Timestamp) && !kinds.contains(&Kind::TimestampTz) {
        true => Ok(timestamp()),
        false => Ok(timestamptz()),
    }
}

fn run_bin(call: &Call) -> Result<ArrayRef> {
    let kind = if matches!(call.returns, DataType::Timestamp(_, None)) { Kind::Timestamp } else { Kind::TimestampTz };
    let (strides, moments, origins) = (intervals(call, 0)?, call.micros(1, kind)?, call.micros(2, kind)?);
    let binned: Int64Array = call.each([strides.nulls(), moments.nulls(), origins.nulls()], |row| {
        let stride = strides.value(row);
        if stride.months != 0 {
            return fail(
                SqlState::FEATURE_NOT_SUPPORTED,
                "timestamps cannot be binned into intervals containing months or years",
            );
        }
        let days = i64::from(stride.days).checked_mul(MICROS_PER_DAY);
        let Some(width) = days.and_then(|days| days.checked_add(stride.nanoseconds / NANOS_PER_MICRO)) else {
            return Err(date_range("interval"));
        };
        if width <= 0 {
            return fail(SqlState::DATETIME_FIELD_OVERFLOW, "stride must be greater than zero");
        }
        let (at, origin) = (moments.value(row), origins.value(row));
        let Some(distance) = at.checked_sub(origin) else { return Err(date_range("timestamp")) };
        Ok(at - distance.rem_euclid(width))
    })?;
    micros_array(&binned, call.returns)
}

fn returns_age(arguments: &Arguments) -> Result<DataType> {
    let days = (0..arguments.types.len()).all(|place| {
        let kind = arguments.kind(place);
        kind.is_day() || matches!(kind, Kind::Text | Kind::Null)
    });
    if days { Ok(interval()) } else { arguments.undefined() }
}

fn run_age(call: &Call) -> Result<ArrayRef> {
    let zoned = (0..call.len()).any(|place| matches!(call.kind(place), Kind::TimestampTz | Kind::Text));
    let locals = |place: usize| -> Result<Int64Array> {
        if !zoned {
            return call.micros(place, Kind::Timestamp);
        }
        let moments = call.micros(place, Kind::TimestampTz)?;
        Ok(moments.iter().map(|at| at.map(|at| call.zone.local(at))).collect())
    };
    let (first, last) = (locals(0)?, locals(1)?);
    let mut built = IntervalMonthDayNanoArray::builder(call.rows);
    for (first, last) in first.iter().zip(last.iter()) {
        match first.zip(last) {
            Some((first, last)) => built.append_value(age(first, last)?),
            None => built.append_null(),
        }
    }
    Ok(Arc::new(built.finish()))
}

/// `timezone(zone, timestamptz)` is a timestamp, and the other way round: AT TIME ZONE.
fn returns_zone(arguments: &Arguments) -> Result<DataType> {
    if arguments.types.len() == 2 && arguments.kind(0) == Kind::Time {
        return arguments.undefined();
    }
    match arguments.kind(arguments.types.len() - 1) {
        Kind::Timestamp => Ok(timestamptz()),
        Kind::TimestampTz | Kind::Date | Kind::Text | Kind::Null => Ok(timestamp()),
        _ => arguments.undefined(),
    }
}

fn run_zone(call: &Call) -> Result<ArrayRef> {
    let to_moment = call.returns == &timestamptz();
    let kind = if to_moment { Kind::Timestamp } else { Kind::TimestampTz };
    let times = call.micros(call.len() - 1, kind)?;
    let zones = if call.len() == 2 && call.kind(0) != Kind::Interval { Some(call.text(0)?) } else { None };
    let spans = if call.len() == 2 && call.kind(0) == Kind::Interval { Some(intervals(call, 0)?) } else { None };
    let mut named: Option<(String, Zone)> = None;
    let mut shifted = Int64Array::builder(call.rows);
    for row in 0..call.rows {
        let zone = match (&zones, &spans) {
            (Some(zones), _) if zones.is_valid(row) => Some(zone_named(&mut named, zones.value(row))?),
            (_, Some(spans)) if spans.is_valid(row) => {
                let span = spans.value(row);
                if span.months != 0 || span.days != 0 {
                    return fail(
                        SqlState::INVALID_PARAMETER_VALUE,
                        "interval time zone must not include months or days",
                    );
                }
                Some(Zone::fixed((span.nanoseconds / NANOS_PER_MICRO / MICROS_PER_SECOND) as i32))
            }
            (None, None) => Some(call.zone.clone()),
            _ => None,
        };
        match zone {
            Some(zone) if times.is_valid(row) => {
                let at = times.value(row);
                shifted.append_value(if to_moment { zone.moment(at) } else { zone.local(at) });
            }
            _ => shifted.append_null(),
        }
    }
    micros_array(&shifted.finish(), call.returns)
}
