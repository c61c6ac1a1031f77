//! Dates and moments read by PostgreSQL's patterns: `to_date('31 Jan 2024', 'DD Mon YYYY')`,
//! `to_timestamp(text, text)`.
//!
//! A field reads its digits where another field follows at once, and all digits there are where
//! something else does; blanks and separators of the text and of the pattern stand for each other.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Date32Array, Int64Array};
use datafusion::common::Result;

use super::calendar::{
    Civil, JULIAN_EPOCH, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, civil_of_days, days_in_month,
    days_of_civil, is_leap, iso_weekday,
};
use super::date_template::{Field, Part, parts};
use super::error::{SqlState, fail};
use super::interval_math::{DATE_DAYS, date_range, in_range, micros_array};
use super::last_template::LastTemplate;
use super::scalar::Call;
use super::to_char::{DAYS, ROMAN};
use crate::types::MONTHS;

/// Keywords that read a number.
const NUMBERS: [&str; 37] = [
    "Y,YYY", "HH24", "HH12", "IYYY", "IDDD", "SSSSS", "SSSS", "YYYY", "DDD", "IYY", "YYY", "FF1", "FF2", "FF3", "FF4",
    "FF5", "FF6", "TZM", "CC", "DD", "HH", "ID", "IW", "IY", "MI", "MM", "MS", "SS", "US", "WW", "YY", "Y", "D", "I",
    "J", "Q", "W",
];

enum Node {
    Field { name: &'static str, fill: bool, ordinal: bool },
    Separator,
    Character(char),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Calendar {
    Gregorian,
    Iso,
}

/// What has been read.
#[derive(Default)]
struct Fields {
    calendar: Option<Calendar>,
    twelve_hours: bool,
    hour: i64,
    afternoon: i64,
    minute: i64,
    second: i64,
    seconds_of_day: i64,
    millis: i64,
    micros: i64,
    /// Those of `FF3`; 0 without such a field.
    fraction_digits: u32,
    weekday: i64,
    day: i64,
    day_of_year: i64,
    month: i64,
    year: i64,
    before_christ: i64,
    week: i64,
    week_of_month: i64,
    century: i64,
    julian: i64,
    year_digits: usize,
    zone_sign: i64,
    zone_hours: i64,
    zone_minutes: i64,
}

fn nodes(pattern: &str) -> Result<Vec<Node>> {
    let nodes = parts(pattern)?.into_iter().map(|part| match part {
        Part::Field(Field { name, is_unfilled, ordinal, .. }) => {
            Node::Field { name, fill: is_unfilled, ordinal: ordinal.is_some() }
        }
        Part::Character { character, is_quoted: false } if is_separator(character) => Node::Separator,
        Part::Character { character, .. } => Node::Character(character),
    });
    Ok(nodes.collect())
}

fn is_separator(character: char) -> bool {
    character.is_ascii_whitespace() || (character.is_ascii_graphic() && !character.is_ascii_alphanumeric())
}

fn invalid<T>(message: String) -> Result<T> {
    fail(SqlState::INVALID_DATETIME_FORMAT, message)
}

/// Sets a field, unless it has another value already.
fn set(field: &mut i64, value: i64, name: &str) -> Result<()> {
    if *field != 0 && *field != value {
        return invalid(format!("conflicting values for \"{name}\" field in formatting string"));
    }
    *field = value;
    Ok(())
}

/// Reads a text along a pattern.
struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    /// Blanks passed over that no separator of the pattern has stood for yet.
    skipped: i64,
}

impl<'a> Reader<'a> {
    fn blanks(&mut self) {
        let trimmed = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        self.skipped += (self.rest.len() - trimmed.len()) as i64;
        self.rest = trimmed;
    }

    fn character(&mut self) {
        let mut characters = self.rest.chars();
        characters.next();
        self.rest = characters.as_str();
    }

    fn is_behind_minus(&self) -> bool {
        self.text[..self.text.len() - self.rest.len()].ends_with('-')
    }

    /// An integer of `width` digits, or of as many as there are (`open`). Gives it with the
    /// characters read.
    fn integer(&mut self, width: usize, open: bool, name: &str) -> Result<(i64, usize)> {
        self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let bytes = self.rest.as_bytes();
        let sign = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
        let limit = if open { bytes.len() } else { width.min(bytes.len()) };
        if !open && bytes.len() < width {
            return invalid(format!("source string too short for \"{name}\" formatting field"));
        }
        let mut end = sign;
        while end < limit && bytes[end].is_ascii_digit() {
            end += 1;
        }
        let none = end == sign;
        if none || (!open && end < width) {
            let shown: String = self.rest.chars().take(width).collect();
            return invalid(format!("invalid value \"{shown}\" for \"{name}\""));
        }
        let value = self.rest[..end].trim_start_matches('+').parse::<i64>().ok();
        self.rest = &self.rest[end..];
        match value.filter(|value| i32::try_from(*value).is_ok()) {
            Some(value) => Ok((value, end)),
            None => fail(
                SqlState::DATETIME_FIELD_OVERFLOW,
                format!("value for \"{name}\" in source string is out of range"),
            ),
        }
    }

    /// The place of the word that comes next.
    fn word(&mut self, words: &[&str], name: &str) -> Result<i64> {
        let found = words
            .iter()
            .position(|word| self.rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)));
        match found {
            Some(place) => {
                self.rest = &self.rest[words[place].len()..];
                Ok(place as i64)
            }
            None => {
                let shown = self.rest.split(' ').next().unwrap_or_default();
                invalid(format!("invalid value \"{shown}\" for \"{name}\""))
            }
        }
    }
}

/// A year of fewer than four digits is the nearest to 2020.
fn full_year(year: i64, digits: usize) -> i64 {
    match (digits, year) {
        (4.., year) => year,
        (_, ..70) => year + 2000,
        (_, ..100) => year + 1900,
        (_, ..520) => year + 2000,
        (_, ..1000) => year + 1000,
        (_, year) => year,
    }
}

fn read(text: &str, nodes: &[Node]) -> Result<Fields> {
    let mut fields = Fields::default();
    let mut reader = Reader { text, rest: text, skipped: 0 };
    let mut fixed = false;
    for (place, node) in nodes.iter().enumerate() {
        if reader.rest.is_empty() {
            break;
        }
        let is_fixed_mark = matches!(node, Node::Field { name: "FX", .. });
        if !fixed && !is_fixed_mark && (matches!(node, Node::Field { .. }) || place == 0) {
            reader.blanks();
        }
        match node {
            Node::Separator if fixed => reader.character(),
            Node::Separator => {
                reader.skipped -= 1;
                if reader.rest.starts_with(is_separator) {
                    reader.character();
                    reader.skipped += 1;
                }
            }
            Node::Character(_) if !fixed && reader.skipped > 0 => reader.skipped -= 1,
            Node::Character(_) => reader.character(),
            Node::Field { name: "FX", .. } => fixed = true,
            Node::Field { name, fill, ordinal } => {
                let open = *fill
                    || *ordinal
                    || match nodes.get(place + 1) {
                        None | Some(Node::Separator) => true,
                        Some(Node::Field { name, .. }) => !NUMBERS.contains(name),
                        Some(Node::Character(character)) => !character.is_ascii_digit(),
                    };
                fields.field(&mut reader, name, open)?;
                if *ordinal && NUMBERS.contains(name) {
                    reader.character();
                    reader.character();
                }
                if !fixed {
                    reader.skipped = 0;
                    reader.blanks();
                }
            }
        }
    }
    Ok(fields)
}

impl Fields {
    fn field(&mut self, reader: &mut Reader, name: &'static str, open: bool) -> Result<()> {
        let calendar = match name {
            "IYYY" | "IYY" | "IY" | "I" | "IDDD" | "ID" | "IW" => Some(Calendar::Iso),
            "YYYY" | "YYY" | "YY" | "Y" | "Y,YYY" | "MM" | "MON" | "MONTH" | "RM" | "DD" | "DDD" | "DAY" | "DY"
            | "D" | "WW" | "W" | "CC" | "AD" | "BC" | "A.D." | "B.C." | "Q" => Some(Calendar::Gregorian),
            _ => None,
        };
        if calendar.is_some() {
            if self.calendar.is_some() && self.calendar != calendar {
                return invalid("invalid combination of date conventions".to_owned());
            }
            self.calendar = calendar;
        }
        let mut number = |width: usize| reader.integer(width, open, name).map(|(value, _)| value);
        let first_three = |words: &[&'static str]| words.iter().map(|word| &word[..3]).collect::<Vec<_>>();
        match name {
            "A.M." | "P.M." => {
                self.twelve_hours = true;
                set(&mut self.afternoon, reader.word(&["a.m.", "p.m."], name)?, name)
            }
            "AM" | "PM" => {
                self.twelve_hours = true;
                set(&mut self.afternoon, reader.word(&["am", "pm"], name)?, name)
            }
            "HH" | "HH12" => {
                self.twelve_hours = true;
                set(&mut self.hour, number(2)?, name)
            }
            "HH24" => set(&mut self.hour, number(2)?, name),
            "MI" => set(&mut self.minute, number(2)?, name),
            "SS" => set(&mut self.second, number(2)?, name),
            "MS" => {
                let (value, digits) = reader.integer(3, open, name)?;
                set(&mut self.millis, value, name)?;
                self.millis *= 10_i64.pow(3_u32.saturating_sub(digits as u32));
                Ok(())
            }
            "US" | "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6" => {
                let width = name.as_bytes().get(2).map_or(6, |digit| usize::from(digit - b'0'));
                let (value, digits) = reader.integer(width, open, name)?;
                set(&mut self.micros, value, name)?;
                self.micros *= 10_i64.pow(6_u32.saturating_sub(digits as u32));
                if name != "US" {
                    self.fraction_digits = width as u32;
                }
                Ok(())
            }
            "SSSS" | "SSSSS" => set(&mut self.seconds_of_day, number(name.len())?, name),
            "TZH" => {
                self.zone_sign = match reader.rest.chars().next() {
                    Some(sign @ ('+' | '-' | ' ')) => {
                        reader.character();
                        if sign == '-' { -1 } else { 1 }
                    }
                    _ if reader.skipped > 0 && reader.is_behind_minus() => -1,
                    _ => 1,
                };
                set(&mut self.zone_hours, reader.integer(2, open, name)?.0, name)
            }
            "TZM" => {
                if self.zone_sign == 0 {
                    self.zone_sign = 1;
                }
                set(&mut self.zone_minutes, number(2)?, name)
            }
            "TZ" | "OF" => fail(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("formatting field \"{name}\" is only supported in to_char"),
            ),
            "A.D." | "B.C." => set(&mut self.before_christ, reader.word(&["a.d.", "b.c."], name)?, name),
            "AD" | "BC" => set(&mut self.before_christ, reader.word(&["ad", "bc"], name)?, name),
            "MONTH" => set(&mut self.month, reader.word(&MONTHS, name)? + 1, name),
            "MON" => set(&mut self.month, reader.word(&first_three(&MONTHS), name)? + 1, name),
            "RM" => {
                // The longer before those that begin them.
                let mut numerals: Vec<(usize, &str)> = ROMAN.into_iter().enumerate().collect();
                numerals.sort_by_key(|(_, numeral)| std::cmp::Reverse(numeral.len()));
                let words: Vec<&str> = numerals.iter().map(|(_, numeral)| *numeral).collect();
                let found = usize::try_from(reader.word(&words, name)?).unwrap_or(0);
                let month = numerals.get(found).map_or(0, |(place, _)| *place as i64);
                set(&mut self.month, month + 1, name)
            }
            "MM" => set(&mut self.month, number(2)?, name),
            // Sunday is 1.
            "DAY" => set(&mut self.weekday, (reader.word(&DAYS, name)? + 1) % 7 + 1, name),
            "DY" => set(&mut self.weekday, (reader.word(&first_three(&DAYS), name)? + 1) % 7 + 1, name),
            "DDD" | "IDDD" => set(&mut self.day_of_year, number(3)?, name),
            "DD" => set(&mut self.day, number(2)?, name),
            "D" => set(&mut self.weekday, number(1)?, name),
            "ID" => set(&mut self.weekday, number(1)? % 7 + 1, name),
            "WW" | "IW" => set(&mut self.week, number(2)?, name),
            // Which day of a quarter would be meant?
            "Q" => number(1).map(|_| ()),
            "CC" => set(&mut self.century, number(2)?, name),
            "Y,YYY" => {
                let Some((thousands, rest)) = reader.rest.split_once(',') else {
                    return invalid("invalid input string for \"Y,YYY\"".to_owned());
                };
                let digits = rest.bytes().take(3).take_while(u8::is_ascii_digit).count();
                match (thousands.trim().parse::<i64>(), rest[..digits].parse::<i64>()) {
                    (Ok(thousands), Ok(years)) if thousands.abs() < 1_000_000 => {
                        reader.rest = &rest[digits..];
                        self.year_digits = 4;
                        set(&mut self.year, thousands * 1000 + years, name)
                    }
                    _ => invalid("invalid input string for \"Y,YYY\"".to_owned()),
                }
            }
            "YYYY" | "IYYY" => {
                self.year_digits = 4;
                set(&mut self.year, number(4)?, name)
            }
            "YYY" | "IYY" | "YY" | "IY" | "Y" | "I" => {
                self.year_digits = name.len();
                let (year, digits) = reader.integer(name.len(), open, name)?;
                set(&mut self.year, full_year(year, digits), name)
            }
            "W" => set(&mut self.week_of_month, number(1)?, name),
            "J" => set(&mut self.julian, number(1)?, name),
            _ => Ok(()),
        }
    }

    /// What clocks show, and the offset east of Greenwich in seconds, if it was there.
    fn moment(mut self, text: &str) -> Result<Read> {
        let beyond =
            || fail(SqlState::DATETIME_FIELD_OVERFLOW, format!("date/time field value out of range: \"{text}\""));
        let (mut hour, mut minute, mut second) = (0, 0, 0);
        if self.seconds_of_day != 0 {
            (hour, minute, second) =
                (self.seconds_of_day / 3600, self.seconds_of_day % 3600 / 60, self.seconds_of_day % 60);
        }
        let given = |field: i64, before: i64| if field != 0 { field } else { before };
        second = given(self.second, second);
        minute = given(self.minute, minute);
        hour = given(self.hour, hour);
        if self.twelve_hours {
            if !(1..=12).contains(&hour) {
                return invalid(format!("hour \"{hour}\" is invalid for the 12-hour clock"));
            }
            hour = hour % 12 + if self.afternoon != 0 { 12 } else { 0 };
        }
        let (mut year, mut month, mut day) = (0, 1, 1);
        let before_christ = self.before_christ != 0;
        let century = if before_christ { -self.century } else { self.century };
        if self.year != 0 {
            if self.century != 0 && self.year_digits <= 2 {
                year = self.year % 100;
                year = match (year, century >= 0) {
                    (0, true) => century * 100,
                    (0, false) => century * 100 + 1,
                    (year, true) => year + (century - 1) * 100,
                    (year, false) => (century + 1) * 100 - year + 1,
                };
            } else {
                year = if before_christ { -self.year } else { self.year };
                // There is no year zero.
                if year < 0 {
                    year += 1;
                }
            }
        } else if self.century != 0 {
            year = if century >= 0 { (century - 1) * 100 + 1 } else { century * 100 + 1 };
        }
        if self.julian != 0 {
            (year, month, day) = civil_of_days(self.julian - JULIAN_EPOCH);
        }
        let iso = self.calendar == Some(Calendar::Iso);
        if self.week != 0 {
            if iso {
                let monday = iso_week_days(year, self.week);
                let days = match self.weekday {
                    0 => monday,
                    1 => monday + 6,
                    weekday => monday + weekday - 2,
                };
                (year, month, day) = civil_of_days(days);
            } else {
                self.day_of_year = (self.week - 1) * 7 + 1;
            }
        }
        if self.week_of_month != 0 {
            self.day = (self.week_of_month - 1) * 7 + 1;
        }
        day = given(self.day, day);
        month = given(self.month, month);
        if self.day_of_year != 0 && (month <= 1 || day <= 1) {
            if year == 0 && !before_christ {
                return invalid("cannot calculate day of year without year information".to_owned());
            }
            if iso {
                (year, month, day) = civil_of_days(iso_week_days(year, 1) + self.day_of_year - 1);
            } else {
                if !(1..=365 + i64::from(is_leap(year))).contains(&self.day_of_year) {
                    return beyond();
                }
                let (_, of_month, of_day) = civil_of_days(days_of_civil(year, 1, 1) + self.day_of_year - 1);
                month = if month <= 1 { of_month } else { month };
                day = if day <= 1 { of_day } else { day };
            }
        }
        let micros = self.millis * 1000 + self.micros;
        let in_calendar = (1..=12).contains(&month) && day >= 1 && day <= days_in_month(year, month);
        let in_day = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
        if !in_calendar || !in_day || !(0..MICROS_PER_SECOND).contains(&micros) {
            return beyond();
        }
        // All digits are read, and rounded to as many as the pattern says.
        let step = match self.fraction_digits {
            0 => 1,
            digits => 10_i64.pow(6 - digits),
        };
        let micros = (micros + step / 2) / step * step;
        let time = hour * MICROS_PER_HOUR + minute * MICROS_PER_MINUTE + second * MICROS_PER_SECOND + micros;
        let shown = Civil { year, month, day, micros: time };
        let zone = match self.zone_sign {
            0 => None,
            _ if !(0..=15).contains(&self.zone_hours) || !(0..60).contains(&self.zone_minutes) => {
                let message = format!("time zone displacement out of range: \"{text}\"");
                return fail(SqlState::DATETIME_FIELD_OVERFLOW, message);
            }
            sign => Some(sign * (self.zone_hours * 3600 + self.zone_minutes * 60)),
        };
        Ok((shown, zone))
    }
}

/// The Monday of an ISO week, in days since 1970.
fn iso_week_days(year: i64, week: i64) -> i64 {
    let fourth = days_of_civil(year, 1, 4);
    fourth - (iso_weekday(fourth) - 1) + (week - 1) * 7
}

/// What clocks show, and seconds east of Greenwich, if they were there.
type Read = (Civil, Option<i64>);

/// What each row shows, and its offset; nothing where an argument is NULL.
fn moments(call: &Call) -> Result<Vec<Option<Read>>> {
    let (texts, patterns) = (call.text(0)?, call.text(1)?);
    let mut templates = LastTemplate::new(nodes);
    call.each([texts.nulls(), patterns.nulls()], |row| {
        read(texts.value(row), templates.get(patterns.value(row))?)?.moment(texts.value(row))
    })
}

pub(super) fn to_date(call: &Call) -> Result<ArrayRef> {
    let days = moments(call)?.into_iter().map(|moment| match moment {
        Some((shown, _)) => {
            let days =
                Some(shown.days()).filter(|days| DATE_DAYS.contains(days)).and_then(|days| i32::try_from(days).ok());
            days.map(Some).ok_or_else(|| date_range("date"))
        }
        None => Ok(None),
    });
    Ok(Arc::new(days.collect::<Result<Date32Array>>()?))
}

pub(super) fn to_timestamp(call: &Call) -> Result<ArrayRef> {
    let moments = moments(call)?.into_iter().map(|moment| match moment {
        Some((shown, offset)) => {
            let at = shown.to_micros().map(|local| match offset {
                Some(seconds) => local - seconds * MICROS_PER_SECOND,
                None => call.zone.moment(local),
            });
            at.filter(|at| in_range(*at)).map(Some).ok_or_else(|| date_range("timestamp"))
        }
        None => Ok(None),
    });
    micros_array(&moments.collect::<Result<Int64Array>>()?, call.returns)
}
