//! Intervals: numbers with units, `1 day 02:03:04`, the SQL standard's `1-2 3 4:05:06`, ISO 8601's
//! `P1DT2H`.

use super::is_space;
use super::tokens::fraction_micros;
use crate::types::{Error, Interval, IntervalStyle, SqlState, TextStyle};

/// Units by which a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
    Decade,
    Century,
    Millennium,
}

/// Those that seconds with a fraction name.
const SECONDS: [Unit; 3] = [Unit::Second, Unit::Millisecond, Unit::Microsecond];
/// Those that a clock names.
const CLOCK: [Unit; 5] = [Unit::Hour, Unit::Minute, Unit::Second, Unit::Millisecond, Unit::Microsecond];

/// The fields that a type of intervals may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntervalFields {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    YearToMonth,
    DayToHour,
    DayToMinute,
    DayToSecond,
    HourToMinute,
    HourToSecond,
    MinuteToSecond,
}

impl IntervalFields {
    /// By their name in SQL.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "YEAR" => Self::Year,
            "MONTH" => Self::Month,
            "DAY" => Self::Day,
            "HOUR" => Self::Hour,
            "MINUTE" => Self::Minute,
            "SECOND" => Self::Second,
            "YEAR TO MONTH" => Self::YearToMonth,
            "DAY TO HOUR" => Self::DayToHour,
            "DAY TO MINUTE" => Self::DayToMinute,
            "DAY TO SECOND" => Self::DayToSecond,
            "HOUR TO MINUTE" => Self::HourToMinute,
            "HOUR TO SECOND" => Self::HourToSecond,
            "MINUTE TO SECOND" => Self::MinuteToSecond,
            _ => return None,
        })
    }

    fn smallest(self) -> Unit {
        match self {
            Self::Year => Unit::Year,
            Self::Month | Self::YearToMonth => Unit::Month,
            Self::Day => Unit::Day,
            Self::Hour | Self::DayToHour => Unit::Hour,
            Self::Minute | Self::DayToMinute | Self::HourToMinute => Unit::Minute,
            Self::Second | Self::DayToSecond | Self::HourToSecond | Self::MinuteToSecond => Unit::Second,
        }
    }
}

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;
const MICROS_PER_DAY: i64 = 24 * MICROS_PER_HOUR;

impl Unit {
    /// Unit of a word in lower case. Long words count by their first ten letters.
    fn of(word: &str) -> Option<Self> {
        Some(match word.get(..10).unwrap_or(word) {
            "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" => Unit::Microsecond,
            "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => Unit::Millisecond,
            "s" | "sec" | "secs" | "second" | "seconds" => Unit::Second,
            "m" | "min" | "mins" | "minute" | "minutes" => Unit::Minute,
            "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Hour,
            "d" | "day" | "days" => Unit::Day,
            "w" | "week" | "weeks" => Unit::Week,
            "mon" | "mons" | "month" | "months" => Unit::Month,
            "y" | "yr" | "yrs" | "year" | "years" => Unit::Year,
            "dec" | "decs" | "decade" | "decades" => Unit::Decade,
            "c" | "cent" | "century" | "centuries" => Unit::Century,
            "mil" | "mils" | "millennia" | "millennium" => Unit::Millennium,
            _ => return None,
        })
    }
}

pub(super) fn parse_interval(text: &str, style: &TextStyle) -> Result<Interval, Error> {
    parse(text, None, style)
}

/// Reads the text of an interval of some fields: a number without a unit counts the smallest one.
/// What is below it is not cut off.
///
/// # Errors
/// What is no interval, and what cannot be held.
pub fn parse_interval_of(fields: IntervalFields, text: &str, style: &TextStyle) -> Result<Interval, Error> {
    parse(text, Some(fields), style)
}

fn parse(text: &str, fields: Option<IntervalFields>, style: &TextStyle) -> Result<Interval, Error> {
    let mut sum = Sum { text, fields, interval: Interval::default() };
    let trimmed = text.trim_matches(is_space);
    match trimmed.strip_prefix('P') {
        Some(designators) => sum.add_iso_8601(designators)?,
        None => sum.add_fields(trimmed, style.interval_style)?,
    }
    Ok(sum.interval)
}

/// A field of an interval's text, in lower case.
enum Field {
    Number(String),
    /// With colons inside.
    Clock(String),
    /// Years and months, `1-2`.
    YearMonth(String),
    Word(String),
}

struct Sum<'a> {
    text: &'a str,
    fields: Option<IntervalFields>,
    interval: Interval,
}

impl Sum<'_> {
    fn invalid(&self) -> Error {
        let message = format!("invalid input syntax for type interval: \"{}\"", self.text);
        Error::new(SqlState::INVALID_DATETIME_FORMAT, message)
    }

    fn overflow(&self) -> Error {
        let message = format!("interval field value out of range: \"{}\"", self.text);
        Error::new(SqlState::INTERVAL_FIELD_OVERFLOW, message)
    }

    fn fields(&self, text: &str) -> Result<Vec<Field>, Error> {
        let mut fields = Vec::new();
        let mut rest = text.to_ascii_lowercase();
        while !rest.is_empty() {
            let first = rest.chars().next().unwrap_or(' ');
            let mut end = first.len_utf8();
            if first.is_ascii_alphabetic() {
                end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
                fields.push(Field::Word(rest[..end].to_owned()));
            } else if first.is_ascii_digit() || matches!(first, '+' | '-' | '.') {
                let signed = matches!(first, '+' | '-');
                // Blanks may follow a sign.
                let digits = if signed { rest[1..].trim_start_matches(is_space) } else { &rest };
                let skipped = rest.len() - digits.len();
                let len =
                    digits.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ':' | '-')).unwrap_or(digits.len());
                let field = format!("{}{}", if signed { &rest[..1] } else { "" }, &digits[..len]);
                fields.push(match &digits[..len] {
                    "" => return Err(self.invalid()),
                    field_digits if field_digits.contains(':') => Field::Clock(field),
                    field_digits if field_digits.contains('-') => Field::YearMonth(field),
                    _ => Field::Number(field),
                });
                end = skipped + len;
            } else if !is_space(first) && !first.is_ascii_punctuation() {
                return Err(self.invalid());
            }
            rest.drain(..end);
        }
        Ok(fields)
    }

    /// From the last field to the first, so that a unit is known before its number.
    fn add_fields(&mut self, text: &str, style: IntervalStyle) -> Result<(), Error> {
        let fields = self.fields(text)?;
        let has_sign = |field: &Field, signs: &[char]| match field {
            Field::Number(text) | Field::Clock(text) | Field::YearMonth(text) => text.starts_with(signs),
            Field::Word(_) => false,
        };
        // The standard's leading minus is that of the whole interval, if no other field has a sign.
        let negate_all = style == IntervalStyle::SqlStandard
            && fields.first().is_some_and(|field| has_sign(field, &['-']))
            && !fields.iter().skip(1).any(|field| has_sign(field, &['-', '+']));
        let mut unit = self.fields.map_or(Unit::Second, IntervalFields::smallest);
        let mut unit_is_open = false;
        let mut ago = false;
        // A unit is named once, and a clock or a fraction of seconds names the smaller ones too.
        let mut seen: Vec<Unit> = Vec::new();
        let mut name = |units: &[Unit]| {
            let is_new = !units.iter().any(|unit| seen.contains(unit));
            seen.extend_from_slice(units);
            is_new
        };
        let mut is_empty = true;
        let last = fields.len().saturating_sub(1);
        for (at, field) in fields.iter().enumerate().rev() {
            match field {
                Field::Word(word) if word == "ago" && at == last => ago = true,
                Field::Word(word) => {
                    if unit_is_open {
                        return Err(self.invalid());
                    }
                    unit = Unit::of(word).ok_or_else(|| self.invalid())?;
                    unit_is_open = true;
                    continue;
                }
                Field::Clock(text) => {
                    self.add_clock(text, negate_all)?;
                    if unit_is_open || !name(&CLOCK) {
                        return Err(self.invalid());
                    }
                    unit = Unit::Day;
                }
                Field::YearMonth(text) => {
                    self.add_year_month(text, negate_all)?;
                    if unit_is_open && unit != Unit::Month && unit != Unit::Year {
                        return Err(self.invalid());
                    }
                    if !name(&[Unit::Month]) {
                        return Err(self.invalid());
                    }
                    unit = Unit::Month;
                }
                Field::Number(text) => {
                    let has_fraction =
                        text.split_once('.').is_some_and(|(_, digits)| digits.bytes().any(|digit| digit != b'0'));
                    let is_new = match unit {
                        Unit::Second if has_fraction => name(&SECONDS),
                        unit => name(&[unit]),
                    };
                    if !is_new {
                        return Err(self.invalid());
                    }
                    let negative = text.starts_with('-') || negate_all;
                    self.add_number(text.trim_start_matches(['+', '-']), negative, unit)?;
                    // `5 6 hours` are five days and six hours.
                    if unit == Unit::Hour {
                        unit = Unit::Day;
                    }
                }
            }
            is_empty &= matches!(field, Field::Word(_));
            unit_is_open = false;
        }
        if unit_is_open || is_empty {
            return Err(self.invalid());
        }
        if ago {
            let Interval { months, days, micros } = self.interval;
            let negated = (months.checked_neg(), days.checked_neg(), micros.checked_neg());
            let (Some(months), Some(days), Some(micros)) = negated else { return Err(self.overflow()) };
            self.interval = Interval { months, days, micros };
        }
        Ok(())
    }

    fn add_clock(&mut self, text: &str, negate: bool) -> Result<(), Error> {
        let negative = text.starts_with('-') || negate;
        let unsigned = text.trim_start_matches(['+', '-']);
        let (clock, fraction) = unsigned.split_at(unsigned.find('.').unwrap_or(unsigned.len()));
        let fraction = fraction_micros(fraction).ok_or_else(|| self.invalid())?;
        let parts: Vec<&str> = clock.split(':').collect();
        let (hours, minutes, seconds) = match parts.as_slice() {
            [hours, minutes] if !unsigned.contains('.') && self.fields != Some(IntervalFields::MinuteToSecond) => {
                (*hours, *minutes, "0")
            }
            [minutes, seconds] => ("0", *minutes, *seconds),
            [hours, minutes, seconds] => (*hours, *minutes, *seconds),
            _ => return Err(self.invalid()),
        };
        let (hours, minutes, seconds) = (self.integer(hours)?, self.integer(minutes)?, self.integer(seconds)?);
        if minutes > 59 || seconds > 60 || (seconds == 60 && fraction > 0) {
            return Err(self.overflow());
        }
        let rest = minutes * MICROS_PER_MINUTE + seconds * MICROS_PER_SECOND + fraction;
        let micros = hours.checked_mul(MICROS_PER_HOUR).and_then(|micros| micros.checked_add(rest));
        let micros = micros.ok_or_else(|| self.overflow())?;
        self.add(0, 0, if negative { -micros } else { micros })
    }

    fn add_year_month(&mut self, text: &str, negate: bool) -> Result<(), Error> {
        let negative = text.starts_with('-') || negate;
        let unsigned = text.trim_start_matches(['+', '-']);
        let (years, months) = unsigned.split_once('-').ok_or_else(|| self.invalid())?;
        let (years, months) = (self.integer(years)?, self.integer(months)?);
        if months > 11 {
            return Err(self.overflow());
        }
        let months = years.checked_mul(12).and_then(|sum| sum.checked_add(months)).ok_or_else(|| self.overflow())?;
        self.add(if negative { -months } else { months }, 0, 0)
    }

    fn integer(&self, digits: &str) -> Result<i64, Error> {
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.invalid());
        }
        digits.parse().map_err(|_| self.overflow())
    }

    /// `number` is digits with an optional point. A fraction is carried into smaller parts: 30 days
    /// a month, 24 hours a day.
    fn add_number(&mut self, number: &str, negative: bool, unit: Unit) -> Result<(), Error> {
        let (whole, fraction) = number.split_at(number.find('.').unwrap_or(number.len()));
        if fraction.len() > 1 && !fraction[1..].bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.invalid());
        }
        if whole.is_empty() && fraction.len() < 2 {
            return Err(self.invalid());
        }
        let count = if whole.is_empty() { 0 } else { self.integer(whole)? };
        let part: f64 = if fraction.len() > 1 { fraction.parse().map_err(|_| self.invalid())? } else { 0.0 };
        let (count, part) = if negative { (-count, -part) } else { (count, part) };
        let times = |count: i64, factor: i64| count.checked_mul(factor).ok_or_else(|| self.overflow());
        match unit {
            Unit::Microsecond => self.add_micros(count, part, 1),
            Unit::Millisecond => self.add_micros(times(count, 1000)?, part, 1000),
            Unit::Second => self.add_micros(times(count, MICROS_PER_SECOND)?, part, MICROS_PER_SECOND),
            Unit::Minute => self.add_micros(times(count, MICROS_PER_MINUTE)?, part, MICROS_PER_MINUTE),
            Unit::Hour => self.add_micros(times(count, MICROS_PER_HOUR)?, part, MICROS_PER_HOUR),
            Unit::Day => self.add_days(0, count, part),
            Unit::Week => self.add_days(0, times(count, 7)?, part * 7.0),
            Unit::Month => self.add_days(count, 0, part * 30.0),
            Unit::Year => self.add_months(times(count, 12)?, part * 12.0),
            Unit::Decade => self.add_months(times(count, 120)?, part * 120.0),
            Unit::Century => self.add_months(times(count, 1200)?, part * 1200.0),
            Unit::Millennium => self.add_months(times(count, 12000)?, part * 12000.0),
        }
    }

    fn add_months(&mut self, months: i64, part: f64) -> Result<(), Error> {
        let months = months.checked_add(round(part)).ok_or_else(|| self.overflow())?;
        self.add(months, 0, 0)
    }

    fn add_days(&mut self, months: i64, days: i64, part: f64) -> Result<(), Error> {
        let days = days.checked_add(part.trunc() as i64).ok_or_else(|| self.overflow())?;
        self.add(months, days, round(part.fract() * MICROS_PER_DAY as f64))
    }

    fn add_micros(&mut self, micros: i64, part: f64, unit_micros: i64) -> Result<(), Error> {
        let micros = micros.checked_add(round(part * unit_micros as f64)).ok_or_else(|| self.overflow())?;
        self.add(0, 0, micros)
    }

    fn add(&mut self, months: i64, days: i64, micros: i64) -> Result<(), Error> {
        let own = self.interval;
        let months = i32::try_from(months).ok().and_then(|months| own.months.checked_add(months));
        let days = i32::try_from(days).ok().and_then(|days| own.days.checked_add(days));
        let (Some(months), Some(days), Some(micros)) = (months, days, own.micros.checked_add(micros)) else {
            return Err(self.overflow());
        };
        self.interval = Interval { months, days, micros };
        Ok(())
    }

    /// What follows the `P`: numbers, each with its designator, those after `T` of the time.
    fn add_iso_8601(&mut self, designators: &str) -> Result<(), Error> {
        if designators.is_empty() {
            return Err(self.invalid());
        }
        let (dates, times) = designators.split_once('T').unwrap_or((designators, ""));
        for (mut rest, of_time) in [(dates, false), (times, true)] {
            if !rest.contains(|c: char| c.is_ascii_alphabetic()) {
                self.add_alternative(rest, of_time)?;
                continue;
            }
            while !rest.is_empty() {
                let end = rest.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(|| self.invalid())?;
                let unit = match (&rest[end..end + 1], of_time) {
                    ("Y", false) => Unit::Year,
                    ("M", false) => Unit::Month,
                    ("W", false) => Unit::Week,
                    ("D", false) => Unit::Day,
                    ("H", true) => Unit::Hour,
                    ("M", true) => Unit::Minute,
                    ("S", true) => Unit::Second,
                    _ => return Err(self.invalid()),
                };
                let number = &rest[..end];
                let unsigned = number.strip_prefix(['+', '-']).unwrap_or(number);
                self.add_number(unsigned, number.starts_with('-'), unit)?;
                rest = &rest[end + 1..];
            }
        }
        Ok(())
    }

    /// A date or a time in the alternative format of ISO 8601: `0001-02-03` and `04:05:06`, or with
    /// all of their digits `00010203` and `040506`.
    fn add_alternative(&mut self, text: &str, of_time: bool) -> Result<(), Error> {
        let (units, separator, widths): (_, _, &[usize]) = match of_time {
            false => ([Unit::Year, Unit::Month, Unit::Day], '-', &[4, 2, 2]),
            true => ([Unit::Hour, Unit::Minute, Unit::Second], ':', &[2, 2, 2]),
        };
        if text.len() == widths.iter().sum::<usize>() && text.bytes().all(|digit| digit.is_ascii_digit()) {
            let mut rest = text;
            for (unit, width) in units.into_iter().zip(widths) {
                let (number, behind) = rest.split_at(*width);
                self.add_number(number, false, unit)?;
                rest = behind;
            }
            return Ok(());
        }
        let mut rest = Some(text).filter(|text| !text.is_empty());
        for unit in units {
            let Some(field) = rest else { return Ok(()) };
            let unsigned = field.strip_prefix(['+', '-']).unwrap_or(field);
            let (number, behind) = match unsigned.split_once(separator) {
                Some((number, behind)) => (number, Some(behind)),
                None => (unsigned, None),
            };
            self.add_number(number, field.starts_with('-'), unit)?;
            rest = behind;
        }
        if rest.is_some() { Err(self.invalid()) } else { Ok(()) }
    }
}

fn round(value: f64) -> i64 {
    value.round_ties_even() as i64
}
