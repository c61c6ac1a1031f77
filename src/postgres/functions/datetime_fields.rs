//! `extract` and `date_part`: one field of a date, a time or an interval.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Decimal128Array, Float64Array, Int64Array};
use arrow::datatypes::{DataType, IntervalMonthDayNano};
use datafusion::common::Result;

use super::calendar::{
    Civil, JULIAN_EPOCH, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, iso_weekday,
};
use super::decimal::Decimal;
use super::error::{SqlState, fail};
use super::interval_math::{NANOS_PER_MICRO, intervals};
use super::kind::{Kind, NUMERIC_DIGITS_MAX};
use super::scalar::{Arguments, Call, Function, immutable};
use super::zone::Zone;

pub(super) static FUNCTIONS: [Function; 2] =
    [immutable("date_part", 2..=2, returns_part, run_part), immutable("extract", 2..=2, returns_extract, run_extract)];

/// A field, as `extract`, `date_part` and `date_trunc` name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Microseconds,
    Milliseconds,
    Second,
    Minute,
    Hour,
    Day,
    Dow,
    IsoDow,
    Doy,
    Week,
    Month,
    Quarter,
    Year,
    IsoYear,
    Decade,
    Century,
    Millennium,
    Epoch,
    Julian,
    Timezone,
    TimezoneHour,
    TimezoneMinute,
}

impl Field {
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "microseconds" | "microsecond" | "usec" | "usecs" | "us" | "microsec" | "microsecs" | "usecond"
            | "useconds" => Field::Microseconds,
            "milliseconds" | "millisecond" | "msec" | "msecs" | "ms" | "millisec" | "millisecs" | "msecond"
            | "mseconds" => Field::Milliseconds,
            "second" | "seconds" | "sec" | "secs" | "s" => Field::Second,
            "minute" | "minutes" | "min" | "mins" | "m" => Field::Minute,
            "hour" | "hours" | "hr" | "hrs" | "h" => Field::Hour,
            "day" | "days" | "d" => Field::Day,
            "dow" => Field::Dow,
            "isodow" => Field::IsoDow,
            "doy" => Field::Doy,
            "week" | "weeks" | "w" => Field::Week,
            "month" | "months" | "mon" | "mons" => Field::Month,
            "quarter" | "qtr" => Field::Quarter,
            "year" | "years" | "y" | "yr" | "yrs" => Field::Year,
            "isoyear" => Field::IsoYear,
            "decade" | "decades" | "dec" | "decs" => Field::Decade,
            "century" | "centuries" | "c" | "cent" => Field::Century,
            "millennium" | "millennia" | "mil" | "mils" => Field::Millennium,
            "epoch" => Field::Epoch,
            "julian" | "jd" | "j" => Field::Julian,
            "timezone" => Field::Timezone,
            "timezone_hour" => Field::TimezoneHour,
            "timezone_minute" => Field::TimezoneMinute,
            _ => return None,
        })
    }

    /// Digits behind the point of what `extract` gives.
    fn scale(self, kind: Kind) -> i8 {
        match self {
            Field::Second => 6,
            Field::Milliseconds => 3,
            Field::Epoch if kind != Kind::Date => 6,
            Field::Julian if kind != Kind::Date => 20,
            _ => 0,
        }
    }
}

/// What PostgreSQL says to a field that a type does not have.
pub(super) fn no_field<T>(name: &str, kind: Kind) -> Result<T> {
    let name = name.to_ascii_lowercase();
    if Field::parse(&name).is_some() {
        return fail(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("unit \"{name}\" not supported for type {}", kind.name()),
        );
    }
    fail(SqlState::INVALID_PARAMETER_VALUE, format!("unit \"{name}\" not recognized for type {}", kind.name()))
}

/// A text without a type is an interval to PostgreSQL nowhere, and to these functions a
/// timestamptz.
fn source(kind: Kind) -> Kind {
    if matches!(kind, Kind::Text | Kind::Null) { Kind::TimestampTz } else { kind }
}

fn returns_part(arguments: &Arguments) -> Result<DataType> {
    if !source(arguments.kind(1)).is_temporal() {
        return arguments.undefined();
    }
    Ok(DataType::Float64)
}

fn returns_extract(arguments: &Arguments) -> Result<DataType> {
    let kind = source(arguments.kind(1));
    if !kind.is_temporal() {
        return arguments.undefined();
    }
    let scale = arguments.text(0).and_then(Field::parse).map_or(6, |field| field.scale(kind));
    Ok(DataType::Decimal128(NUMERIC_DIGITS_MAX, scale))
}

fn run_part(call: &Call) -> Result<ArrayRef> {
    // PostgreSQL's function of dates takes the timestamp of midnight.
    let values = values(call, Kind::Timestamp)?;
    let parts: Float64Array = values.into_iter().map(|value| value.map(Decimal::to_f64)).collect();
    Ok(Arc::new(parts))
}

fn run_extract(call: &Call) -> Result<ArrayRef> {
    let DataType::Decimal128(precision, scale) = *call.returns else {
        return fail(SqlState::FEATURE_NOT_SUPPORTED, "extract gives numeric");
    };
    let mut built = Decimal128Array::builder(call.rows);
    for value in values(call, Kind::Date)? {
        match value {
            Some(value) => built.append_value(value.unscaled(precision, scale)?),
            None => built.append_null(),
        }
    }
    Ok(Arc::new(built.finish().with_precision_and_scale(precision, scale)?))
}

/// The field of each row; a date has those of `date_kind`.
fn values(call: &Call, date_kind: Kind) -> Result<Vec<Option<Decimal>>> {
    let names = call.text(0)?;
    let given = source(call.kind(1));
    let kind = if given == Kind::Date { date_kind } else { given };
    let mut last: Option<(String, Field)> = None;
    let mut field_at = |row: usize| -> Result<Field> {
        let name = names.value(row);
        match &last {
            Some((known, field)) if known == name => Ok(*field),
            _ => match Field::parse(name) {
                Some(field) => {
                    last = Some((name.to_owned(), field));
                    Ok(field)
                }
                None => no_field(name, kind),
            },
        }
    };
    let spans = if kind == Kind::Interval { Some(intervals(call, 1)?) } else { None };
    let micros = match &spans {
        Some(spans) => Int64Array::from(vec![0; spans.len()]),
        None => call.micros(1, given).map(|array| if given == Kind::Date { to_micros(&array) } else { array })?,
    };
    let nulls = [names.nulls(), micros.nulls(), spans.as_ref().and_then(|spans| spans.nulls())];
    call.each(nulls, |row| {
        let field = field_at(row)?;
        let value = match &spans {
            Some(spans) => of_interval(field, spans.value(row)),
            None => of_moment(field, micros.value(row), kind, &call.zone),
        };
        value.map_or_else(|| no_field(names.value(row), kind), Ok)
    })
}

/// Days, as Arrow counts dates, in microseconds.
fn to_micros(days: &Int64Array) -> Int64Array {
    days.iter().map(|days| days.map(|days| days * MICROS_PER_DAY)).collect()
}

fn whole(value: i64) -> Option<Decimal> {
    Some(Decimal::new(i128::from(value), 0))
}

fn seconds(micros: i64) -> Option<Decimal> {
    Some(Decimal::new(i128::from(micros), 6))
}

/// `None`: the type has no such field.
fn of_moment(field: Field, at: i64, kind: Kind, zone: &Zone) -> Option<Decimal> {
    let local = if kind == Kind::TimestampTz { zone.local(at) } else { at };
    let civil = Civil::of(local);
    let time = civil.micros;
    match field {
        Field::Timezone | Field::TimezoneHour | Field::TimezoneMinute => {
            if kind != Kind::TimestampTz {
                return None;
            }
            let offset = zone.offset_seconds(at);
            return whole(match field {
                Field::Timezone => offset,
                Field::TimezoneHour => offset / 3600,
                _ => offset / 60 % 60,
            });
        }
        Field::Epoch => {
            return if kind == Kind::Date { whole(at / MICROS_PER_SECOND) } else { seconds(at) };
        }
        Field::Microseconds | Field::Milliseconds | Field::Second | Field::Minute | Field::Hour
            if kind == Kind::Date =>
        {
            return None;
        }
        Field::Microseconds => return whole(time % MICROS_PER_MINUTE),
        Field::Milliseconds => return Some(Decimal::new(i128::from(time % MICROS_PER_MINUTE), 3)),
        Field::Second => return seconds(time % MICROS_PER_MINUTE),
        Field::Minute => return whole(time % MICROS_PER_HOUR / MICROS_PER_MINUTE),
        Field::Hour => return whole(time / MICROS_PER_HOUR),
        _ if kind == Kind::Time => return None,
        _ => {}
    }
    match field {
        Field::Day => whole(civil.day),
        Field::Dow => whole(iso_weekday(civil.days()) % 7),
        Field::IsoDow => whole(iso_weekday(civil.days())),
        Field::Doy => whole(civil.day_of_year()),
        Field::Week => whole(civil.iso_week().1),
        Field::Month => whole(civil.month),
        Field::Quarter => whole((civil.month - 1) / 3 + 1),
        // There is no year zero.
        Field::Year => whole(if civil.year > 0 { civil.year } else { civil.year - 1 }),
        Field::IsoYear => {
            let (year, _) = civil.iso_week();
            whole(if year > 0 { year } else { year - 1 })
        }
        Field::Decade => whole(civil.year.div_euclid(10)),
        Field::Century => whole(if civil.year > 0 { (civil.year + 99) / 100 } else { -((100 - civil.year) / 100) }),
        Field::Millennium => {
            whole(if civil.year > 0 { (civil.year + 999) / 1000 } else { -((1000 - civil.year) / 1000) })
        }
        Field::Julian => {
            let days = civil.days() + JULIAN_EPOCH;
            if kind == Kind::Date {
                return whole(days);
            }
            let fraction =
                Decimal::new(i128::from(time), 0).divide(Decimal::new(i128::from(MICROS_PER_DAY), 0), 20).ok()?;
            fraction.add(Decimal::new(i128::from(days), 0), 20).ok()
        }
        _ => None,
    }
}

fn of_interval(field: Field, span: IntervalMonthDayNano) -> Option<Decimal> {
    let micros = span.nanoseconds / NANOS_PER_MICRO;
    let (years, months) = (i64::from(span.months) / 12, i64::from(span.months) % 12);
    match field {
        Field::Microseconds => whole(micros % MICROS_PER_MINUTE),
        Field::Milliseconds => Some(Decimal::new(i128::from(micros % MICROS_PER_MINUTE), 3)),
        Field::Second => seconds(micros % MICROS_PER_MINUTE),
        Field::Minute => whole(micros % MICROS_PER_HOUR / MICROS_PER_MINUTE),
        Field::Hour => whole(micros / MICROS_PER_HOUR),
        Field::Day => whole(i64::from(span.days)),
        Field::Month => whole(months),
        Field::Quarter => whole(months / 3 + 1),
        Field::Year => whole(years),
        Field::Decade => whole(years / 10),
        Field::Century => whole(years / 100),
        Field::Millennium => whole(years / 1000),
        // A year of 365.25 days, a month of 30.
        Field::Epoch => {
            let days = i128::from(years) * 1461 * i128::from(MICROS_PER_DAY) / 4
                + i128::from(months * 30 + i64::from(span.days)) * i128::from(MICROS_PER_DAY);
            Some(Decimal::new(days + i128::from(micros), 6))
        }
        _ => None,
    }
}
