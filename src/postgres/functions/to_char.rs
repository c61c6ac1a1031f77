//! `to_char` of moments and intervals, by PostgreSQL's patterns.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringViewBuilder};
use arrow::datatypes::IntervalMonthDayNano;
use datafusion::common::Result;

use super::calendar::{Civil, JULIAN_EPOCH, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, iso_weekday};
use super::error::{SqlState, fail};
use super::interval_math::{NANOS_PER_MICRO, intervals};
use super::kind::Kind;
use super::scalar::Call;
use super::zone::Zone;

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
pub(super) const ROMAN: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// Keywords, the longer before the shorter that begins them. Upper case; those whose case says
/// something are looked at again.
pub(super) const KEYWORDS: [&str; 58] = [
    "A.D.", "A.M.", "B.C.", "P.M.", "MONTH", "Y,YYY", "HH24", "HH12", "IYYY", "IDDD", "SSSSS", "SSSS", "YYYY", "DAY",
    "DDD", "IYY", "MON", "YYY", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "TZH", "TZM", "AD", "AM", "BC", "CC", "DD",
    "DY", "FM", "FX", "HH", "ID", "IW", "IY", "MI", "MM", "MS", "OF", "PM", "RM", "SP", "SS", "TH", "TM", "TZ", "US",
    "WW", "YY", "Y", "D", "I", "J", "Q", "W",
];

/// The longest pattern.
const PATTERN_BYTES_MAX: usize = 64 << 10;

/// One piece of a pattern.
enum Piece {
    Literal(String),
    Keyword { name: &'static str, written: String, filled: bool, ordinal: Option<bool> },
}

pub(super) fn run(call: &Call) -> Result<ArrayRef> {
    let kind = match call.kind(0) {
        Kind::Timestamp => Kind::Timestamp,
        Kind::Date | Kind::TimestampTz | Kind::Text | Kind::Null => Kind::TimestampTz,
        Kind::Interval => return of_intervals(call),
        kind if kind.is_number() => return super::number_pattern::run(call),
        _ => return super::scalar::undefined(call.function, call.args.iter().map(|array| array.data_type())),
    };
    let (moments, patterns) = (call.micros(0, kind)?, call.text(1)?);
    let mut texts = StringViewBuilder::with_capacity(call.rows);
    let mut last: Option<(String, Vec<Piece>)> = None;
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
        let pieces = match &last {
            Some((known, pieces)) if known == pattern => pieces,
            _ => &last.insert((pattern.to_owned(), pieces(pattern)?)).1,
        };
        let zone = (kind == Kind::TimestampTz).then_some(&call.zone);
        texts.append_value(format(pieces, moments.value(row), zone));
    }
    Ok(Arc::new(texts.finish()))
}

fn of_intervals(call: &Call) -> Result<ArrayRef> {
    let (spans, patterns) = (intervals(call, 0)?, call.text(1)?);
    let mut texts = StringViewBuilder::with_capacity(call.rows);
    for row in 0..call.rows {
        if spans.is_null(row) || patterns.is_null(row) || patterns.value(row).is_empty() {
            texts.append_null();
            continue;
        }
        texts.append_value(format_interval(&pieces(patterns.value(row))?, spans.value(row))?);
    }
    Ok(Arc::new(texts.finish()))
}

/// An interval's fields; those of a calendar it does not have.
fn format_interval(pieces: &[Piece], span: IntervalMonthDayNano) -> Result<String> {
    let (years, months, days) = (i64::from(span.months / 12), i64::from(span.months % 12), i64::from(span.days));
    let time = span.nanoseconds / NANOS_PER_MICRO;
    let (hours, micros) = (time / MICROS_PER_HOUR, time % MICROS_PER_SECOND);
    let day_of_year = (years * 12 + months) * 30 + days;
    let mut text = String::new();
    for piece in pieces {
        let (name, written, filled, ordinal) = match piece {
            Piece::Literal(literal) => {
                text.push_str(literal);
                continue;
            }
            Piece::Keyword { name, written, filled, ordinal } => (*name, written, *filled, ordinal),
        };
        // The sign is not counted among the digits.
        let number = |value: i64, width: usize| match (filled, value < 0) {
            (true, true) => format!("-{:0width$}", -value),
            (true, false) => format!("{value:0width$}"),
            (false, _) => value.to_string(),
        };
        // Where the sign is counted.
        let padded = |value: i64, width: usize| if filled { format!("{value:0width$}") } else { value.to_string() };
        let case = |word: &str| {
            if written.starts_with(char::is_lowercase) { word.to_lowercase() } else { word.to_owned() }
        };
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
            "AM" | "PM" => case(if hours % 24 >= 12 { "PM" } else { "AM" }),
            "A.M." | "P.M." => case(if hours % 24 >= 12 { "P.M." } else { "A.M." }),
            "YYYY" | "IYYY" => number(years, 4),
            "YYY" | "IYY" => number(years % 1000, 3),
            "YY" | "IY" => number(years % 100, 2),
            "Y" | "I" => (years % 10).to_string(),
            "Y,YYY" => format!("{},{:03}", years / 1000, years % 1000),
            "CC" => padded(years / 100, 2),
            "MM" => number(months, 2),
            "DD" => padded(days, 2),
            "DDD" | "IDDD" => padded(day_of_year, 3),
            "Q" if months == 0 => String::new(),
            "Q" => ((months - 1) / 3 + 1).to_string(),
            "WW" | "IW" => padded((day_of_year - 1) / 7 + 1, 2),
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
                if filled { format!("{:<4}", case(ROMAN[place])) } else { case(ROMAN[place]) }
            }
            _ => return fail(SqlState::INVALID_DATETIME_FORMAT, "invalid format specification for an interval value"),
        };
        text.push_str(&value);
        if let Some(upper) = ordinal {
            let suffix = ordinal_suffix(&value);
            text.push_str(&if *upper { suffix.to_uppercase() } else { suffix.to_owned() });
        }
    }
    Ok(text)
}

/// A pattern that is not too long: what it is read into takes a hundred times its bytes.
pub(super) fn short(pattern: &str) -> Result<&str> {
    if pattern.len() <= PATTERN_BYTES_MAX {
        return Ok(pattern);
    }
    let message = format!("a format pattern of {} bytes, it has at most {PATTERN_BYTES_MAX}", pattern.len());
    fail(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}

fn pieces(pattern: &str) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = short(pattern)?;
    let (mut filled, mut is_translated) = (true, false);
    while let Some(first) = rest.chars().next() {
        if first == '"' {
            let (text, after) = quoted(&rest[1..]);
            literal.push_str(&text);
            rest = after;
            continue;
        }
        if first == '\\' && rest[1..].starts_with('"') {
            literal.push('"');
            rest = &rest[2..];
            continue;
        }
        let keyword = KEYWORDS
            .iter()
            .find(|keyword| rest.get(..keyword.len()).is_some_and(|start| start.eq_ignore_ascii_case(keyword)));
        let Some(keyword) = keyword else {
            literal.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        };
        let (written, after) = rest.split_at(keyword.len());
        rest = after;
        match *keyword {
            "FM" => filled = false,
            // Names in the locale, which is C, have no blanks behind them.
            "TM" => is_translated = true,
            // Digits spelled out are none; widths are as they are.
            "SP" | "FX" => {}
            "TH" => literal.push_str(written),
            name => {
                if !literal.is_empty() {
                    pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                }
                let ordinal =
                    rest.get(..2).filter(|suffix| suffix.eq_ignore_ascii_case("th")).map(|suffix| suffix == "TH");
                if ordinal.is_some() {
                    rest = &rest[2..];
                }
                let filled_here = filled && !(is_translated && ["MONTH", "DAY"].contains(&name));
                pieces.push(Piece::Keyword { name, written: written.to_owned(), filled: filled_here, ordinal });
                (filled, is_translated) = (true, false);
            }
        }
    }
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal));
    }
    Ok(pieces)
}

/// The text up to a quote, and what follows it.
pub(super) fn quoted(text: &str) -> (String, &str) {
    let mut inside = String::new();
    let mut characters = text.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '"' => return (inside, &text[place + 1..]),
            '\\' => inside.extend(characters.next().map(|(_, character)| character)),
            other => inside.push(other),
        }
    }
    (inside, "")
}

fn format(pieces: &[Piece], at: i64, zone: Option<&Zone>) -> String {
    let local = zone.map_or(at, |zone| zone.local(at));
    let civil = Civil::of(local);
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Literal(literal) => text.push_str(literal),
            Piece::Keyword { name, written, filled, ordinal } => {
                let value = field(name, written, *filled, &civil, zone.map(|zone| (zone, at)));
                text.push_str(&value);
                if let Some(upper) = ordinal {
                    let suffix = ordinal_suffix(&value);
                    text.push_str(&if *upper { suffix.to_uppercase() } else { suffix.to_owned() });
                }
            }
        }
    }
    text
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

fn field(name: &str, written: &str, filled: bool, civil: &Civil, zone: Option<(&Zone, i64)>) -> String {
    let number = |value: i64, width: usize| {
        if filled { format!("{value:0width$}") } else { value.to_string() }
    };
    let time = civil.micros;
    let hour = time / MICROS_PER_HOUR;
    let micros = time % MICROS_PER_SECOND;
    // Years before the first are counted backwards.
    let year = if civil.year > 0 { civil.year } else { 1 - civil.year };
    let (iso_year, iso_week) = civil.iso_week();
    let weekday = iso_weekday(civil.days());
    let word = |word: &str, width: usize| {
        let word = if written.chars().all(|c| !c.is_lowercase()) {
            word.to_uppercase()
        } else if written.starts_with(char::is_lowercase) {
            word.to_lowercase()
        } else {
            word.to_owned()
        };
        if filled { format!("{word:<width$}") } else { word }
    };
    let meridian = |before: &str, after: &str| {
        let text = if hour < 12 { before } else { after };
        if written.starts_with(char::is_lowercase) { text.to_lowercase() } else { text.to_owned() }
    };
    let era = |before: &str, since: &str| {
        let text = if civil.year > 0 { since } else { before };
        if written.starts_with(char::is_lowercase) { text.to_lowercase() } else { text.to_owned() }
    };
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
            let roman = ROMAN[month_place];
            let roman = if written.starts_with(char::is_lowercase) { roman.to_lowercase() } else { roman.to_owned() };
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
        "CC" => number(if civil.year > 0 { (civil.year + 99) / 100 } else { -((100 - civil.year) / 100) }, 2),
        "J" => (civil.days() + JULIAN_EPOCH).to_string(),
        "Q" => ((civil.month - 1) / 3 + 1).to_string(),
        "TZ" => {
            let name = zone.map(|(zone, at)| zone.abbreviation(at)).unwrap_or_default();
            if written.starts_with(char::is_lowercase) { name.to_lowercase() } else { name }
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
        _ => written.to_owned(),
    }
}
