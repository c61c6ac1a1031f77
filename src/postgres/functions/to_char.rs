//! `to_char` of moments and intervals, by PostgreSQL's patterns.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringViewBuilder};
use arrow::datatypes::IntervalMonthDayNano;
use datafusion::common::Result;

use super::calendar::{Civil, JULIAN_EPOCH, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, iso_weekday};
use super::date_template::{Case, Field, Part, parts};
use super::error::{SqlState, fail};
use super::interval_math::{NANOS_PER_MICRO, intervals};
use super::kind::Kind;
use super::last_template::LastTemplate;
use super::scalar::Call;
use super::zone::Zone;
use crate::types::MONTHS;

pub(super) const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
pub(super) const ROMAN: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// Keywords of what is no number.
const NO_NUMBERS: [&str; 17] = [
    "A.D.", "A.M.", "B.C.", "P.M.", "AD", "AM", "BC", "PM", "MONTH", "MON", "DAY", "DY", "RM", "TZ", "TZH", "OF", "FX",
];

pub(super) fn run(call: &Call) -> Result<ArrayRef> {
    let kind = match call.kind(0) {
        Kind::Timestamp => Kind::Timestamp,
        Kind::Date | Kind::TimestampTz | Kind::Text | Kind::Null => Kind::TimestampTz,
        Kind::Interval | Kind::Time => return of_intervals(call),
        kind if kind.is_number() => return super::number_pattern::run(call),
        _ => return super::scalar::undefined(call.function, call.args.iter().map(|array| array.data_type())),
    };
    let (moments, patterns) = (call.micros(0, kind)?, call.text(1)?);
    let mut texts = StringViewBuilder::with_capacity(call.rows);
    let mut templates = LastTemplate::new(parts);
    for row in 0..call.rows {
        if moments.is_null(row) || patterns.is_null(row) {
            texts.append_null();
            continue;
        }
        let pattern = patterns.value(row);
        // As PostgreSQL has it.
        if pattern.is_empty() {
            texts.append_null();
            continue;
        }
        let zone = (kind == Kind::TimestampTz).then_some(&call.zone);
        texts.append_value(format(templates.get(pattern)?, moments.value(row), zone));
    }
    Ok(Arc::new(texts.finish()))
}

fn of_intervals(call: &Call) -> Result<ArrayRef> {
    let (spans, patterns) = (intervals(call, 0)?, call.text(1)?);
    let mut texts = StringViewBuilder::with_capacity(call.rows);
    let mut templates = LastTemplate::new(parts);
    for row in 0..call.rows {
        if spans.is_null(row) || patterns.is_null(row) || patterns.value(row).is_empty() {
            texts.append_null();
            continue;
        }
        texts.append_value(format_interval(templates.get(patterns.value(row))?, spans.value(row))?);
    }
    Ok(Arc::new(texts.finish()))
}

/// An interval's fields; those of a calendar it does not have.
fn format_interval(parts: &[Part], span: IntervalMonthDayNano) -> Result<String> {
    let (years, months, days) = (i64::from(span.months / 12), i64::from(span.months % 12), i64::from(span.days));
    let time = span.nanoseconds / NANOS_PER_MICRO;
    let (hours, micros) = (time / MICROS_PER_HOUR, time % MICROS_PER_SECOND);
    let day_of_year = (years * 12 + months) * 30 + days;
    let iso = || IsoWeek::of(years, months, days);
    let mut text = String::new();
    for part in parts {
        let Field { name, case, is_unfilled, ordinal, .. } = match part {
            Part::Character { character, .. } => {
                text.push(*character);
                continue;
            }
            Part::Field(field) => *field,
        };
        let filled = !is_unfilled;
        // The sign is not counted among the digits.
        let number = |value: i64, width: usize| match (filled, value < 0) {
            (true, true) => format!("-{:0width$}", -value),
            (true, false) => format!("{value:0width$}"),
            (false, _) => value.to_string(),
        };
        // Where the sign is counted.
        let padded = |value: i64, width: usize| if filled { format!("{value:0width$}") } else { value.to_string() };
        let cased = |word: &str| if case == Case::Lower { word.to_lowercase() } else { word.to_owned() };
        let value = match name {
            "HH24" => number(hours, 2),
            "HH12" | "HH" => number(if hours % 12 == 0 { 12 } else { hours % 12 }, 2),
            "MI" => number(time % MICROS_PER_HOUR / MICROS_PER_MINUTE, 2),
            "SS" => number(time % MICROS_PER_MINUTE / MICROS_PER_SECOND, 2),
            "MS" => padded(micros / 1000, 3),
            "US" => padded(micros, 6),
            "FF1" => padded(micros / 100_000, 1),
            "FF2" => padded(micros / 10_000, 2),
            "FF3" => padded(micros / 1000, 3),
            "FF4" => padded(micros / 100, 4),
            "FF5" => padded(micros / 10, 5),
            "FF6" => padded(micros, 6),
            "SSSS" | "SSSSS" => (time / MICROS_PER_SECOND).to_string(),
            "AM" | "PM" => cased(if hours % 24 >= 12 { "PM" } else { "AM" }),
            "A.M." | "P.M." => cased(if hours % 24 >= 12 { "P.M." } else { "A.M." }),
            "YYYY" => number(years, 4),
            "YYY" => number(years % 1000, 3),
            "YY" => number(years % 100, 2),
            "Y" => (years % 10).to_string(),
            // The sign of the year of months makes room for that of the year of weeks.
            "IYYY" => padded(iso().year, if years < 0 { 5 } else { 4 }),
            "IYY" => padded(iso().year % 1000, if years < 0 { 4 } else { 3 }),
            "IY" => padded(iso().year % 100, if years < 0 { 3 } else { 2 }),
            "I" => (iso().year % 10).to_string(),
            "Y,YYY" => format!("{},{:03}", years / 1000, years % 1000),
            "CC" => padded(years / 100, 2),
            "MM" => number(months, 2),
            "DD" => padded(days, 2),
            "DDD" => padded(day_of_year, 3),
            "IDDD" => padded(iso().day, 3),
            "Q" if months == 0 => String::new(),
            "Q" => ((months - 1) / 3 + 1).to_string(),
            "WW" => padded((day_of_year - 1) / 7 + 1, 2),
            "IW" => padded(iso().week, 2),
            "W" => ((days - 1) / 7 + 1).to_string(),
            "RM" if months == 0 && years == 0 => String::new(),
            "RM" => {
                // Whole years count as December, years before as January; from -1 on backwards.
                let place = match months {
                    0 if years < 0 => 0,
                    months if months < 0 => 12 + months,
                    months => (months - 1).rem_euclid(12),
                };
                let place = usize::try_from(place).unwrap_or(0).min(11);
                if filled { format!("{:<4}", cased(ROMAN[place])) } else { cased(ROMAN[place]) }
            }
            "FX" => String::new(),
            _ => return fail(SqlState::INVALID_DATETIME_FORMAT, "invalid format specification for an interval value"),
        };
        text.push_str(&value);
        push_ordinal(&mut text, name, ordinal, &value);
    }
    Ok(text)
}

/// The week of the calendar that the fields of an interval would lie in, were they a day: as
/// PostgreSQL counts it, which looks at the years beside and no farther.
struct IsoWeek {
    year: i64,
    week: i64,
    /// The day of the year of weeks, from 1.
    day: i64,
}

impl IsoWeek {
    fn of(year: i64, month: i64, day: i64) -> Self {
        let at = julian(year, month, day);
        let mut first = first_monday(year);
        let mut iso_year = year;
        if at < first {
            iso_year -= 1;
            first = first_monday(iso_year);
        }
        let mut week = (at - first) / 7 + 1;
        let next = first_monday(year + 1);
        if week >= 52 && at >= next {
            iso_year += 1;
            week = (at - next) / 7 + 1;
        }
        Self { year: iso_year, week, day: at - first_monday(iso_year) + 1 }
    }
}

/// The Monday of the week that has the fourth of January, a Julian day.
fn first_monday(year: i64) -> i64 {
    let fourth = julian(year, 1, 4);
    fourth - fourth.rem_euclid(7)
}

/// The Julian day of months and days that no calendar need have.
fn julian(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year + 4800, month + 1) } else { (year + 4799, month + 13) };
    let century = year / 100;
    year * 365 - 32_167 + year / 4 - century + century / 4 + 7834 * month / 256 + day
}

fn format(parts: &[Part], at: i64, zone: Option<&Zone>) -> String {
    let local = zone.map_or(at, |zone| zone.local(at));
    let civil = Civil::of(local);
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Character { character, .. } => text.push(*character),
            Part::Field(field) => {
                let value = written(field, &civil, zone.map(|zone| (zone, at)));
                text.push_str(&value);
                push_ordinal(&mut text, field.name, field.ordinal, &value);
            }
        }
    }
    text
}

/// Only numbers have the endings of ordinal numbers.
fn push_ordinal(text: &mut String, name: &str, case: Option<Case>, value: &str) {
    let Some(case) = case.filter(|_| !NO_NUMBERS.contains(&name)) else { return };
    let suffix = ordinal_suffix(value);
    text.push_str(&if case == Case::Upper { suffix.to_uppercase() } else { suffix.to_owned() });
}

pub(super) fn ordinal_suffix(digits: &str) -> &'static str {
    let teens = digits.len() > 1 && digits.as_bytes()[digits.len() - 2] == b'1';
    match digits.as_bytes().last() {
        Some(b'1') if !teens => "st",
        Some(b'2') if !teens => "nd",
        Some(b'3') if !teens => "rd",
        _ => "th",
    }
}

fn written(field: &Field, civil: &Civil, zone: Option<(&Zone, i64)>) -> String {
    let Field { name, case, is_unfilled, is_translated, .. } = *field;
    let filled = !is_unfilled;
    let is_lower = case == Case::Lower;
    let number = |value: i64, width: usize| {
        if filled { format!("{value:0width$}") } else { value.to_string() }
    };
    let time = civil.micros;
    let hour = time / MICROS_PER_HOUR;
    let micros = time % MICROS_PER_SECOND;
    // Years before the first are counted backwards.
    let counted = |year: i64| if year > 0 { year } else { 1 - year };
    let year = counted(civil.year);
    let (iso_year, iso_week) = civil.iso_week();
    let iso_year = counted(iso_year);
    let weekday = iso_weekday(civil.days());
    let word = |word: &str, width: usize| {
        let word = match case {
            Case::Upper => word.to_uppercase(),
            Case::Lower => word.to_lowercase(),
            Case::Capitalized => word.to_owned(),
        };
        // Names of the locale have no blanks behind them.
        if filled && !is_translated { format!("{word:<width$}") } else { word }
    };
    let cased = |text: &str| if is_lower { text.to_lowercase() } else { text.to_owned() };
    let meridian = |before: &str, after: &str| cased(if hour < 12 { before } else { after });
    let era = |before: &str, since: &str| cased(if civil.year > 0 { since } else { before });
    let month_place = usize::try_from(civil.month - 1).unwrap_or(0).min(11);
    let day_place = usize::try_from(weekday - 1).unwrap_or(0).min(6);
    match name {
        "HH24" => number(hour, 2),
        "HH12" | "HH" => number((hour + 11) % 12 + 1, 2),
        "MI" => number(time % MICROS_PER_HOUR / MICROS_PER_MINUTE, 2),
        "SS" => number(time % MICROS_PER_MINUTE / MICROS_PER_SECOND, 2),
        "MS" => number(micros / 1000, 3),
        "US" => number(micros, 6),
        "FF1" => format!("{}", micros / 100_000),
        "FF2" => format!("{:02}", micros / 10_000),
        "FF3" => format!("{:03}", micros / 1000),
        "FF4" => format!("{:04}", micros / 100),
        "FF5" => format!("{:05}", micros / 10),
        "FF6" => format!("{micros:06}"),
        "SSSS" | "SSSSS" => (time / MICROS_PER_SECOND).to_string(),
        "AM" | "PM" => meridian("AM", "PM"),
        "A.M." | "P.M." => meridian("A.M.", "P.M."),
        "AD" | "BC" => era("BC", "AD"),
        "A.D." | "B.C." => era("B.C.", "A.D."),
        "Y,YYY" => format!("{},{:03}", year / 1000, year % 1000),
        "YYYY" => number(year, 4),
        "YYY" => number(year % 1000, 3),
        "YY" => number(year % 100, 2),
        "Y" => (year % 10).to_string(),
        "IYYY" => number(iso_year, 4),
        "IYY" => number(iso_year % 1000, 3),
        "IY" => number(iso_year % 100, 2),
        "I" => (iso_year % 10).to_string(),
        "MONTH" => word(MONTHS[month_place], 9),
        "MON" => word(&MONTHS[month_place][..3], 3),
        "MM" => number(civil.month, 2),
        "RM" => {
            let roman = cased(ROMAN[month_place]);
            if filled { format!("{roman:<4}") } else { roman }
        }
        "DAY" => word(DAYS[day_place], 9),
        "DY" => word(&DAYS[day_place][..3], 3),
        "DDD" => number(civil.day_of_year(), 3),
        "IDDD" => number((iso_week - 1) * 7 + weekday, 3),
        "DD" => number(civil.day, 2),
        "D" => (weekday % 7 + 1).to_string(),
        "ID" => weekday.to_string(),
        "W" => ((civil.day - 1) / 7 + 1).to_string(),
        "WW" => number((civil.day_of_year() - 1) / 7 + 1, 2),
        "IW" => number(iso_week, 2),
        "CC" if civil.year > 0 => number((civil.year + 99) / 100, 2),
        // The sign is not counted among the digits.
        "CC" => format!("-{}", number((100 - civil.year) / 100, 2)),
        "J" => (civil.days() + JULIAN_EPOCH).to_string(),
        "Q" => ((civil.month - 1) / 3 + 1).to_string(),
        "TZ" => {
            let name = zone.map(|(zone, at)| zone.abbreviation(at)).unwrap_or_default();
            if is_lower { name.to_lowercase() } else { name }
        }
        "TZH" | "TZM" | "OF" => {
            let seconds = zone.map_or(0, |(zone, at)| zone.offset_seconds(at));
            let sign = if seconds < 0 { '-' } else { '+' };
            let (hours, minutes) = (seconds.abs() / 3600, seconds.abs() / 60 % 60);
            let mut text = String::new();
            let written = match name {
                "TZM" => write!(text, "{minutes:02}"),
                "OF" if minutes != 0 => write!(text, "{sign}{hours:02}:{minutes:02}"),
                _ => write!(text, "{sign}{hours:02}"),
            };
            if written.is_ok() { text } else { String::new() }
        }
        // `FX` has a meaning for texts that are read.
        _ => String::new(),
    }
}
