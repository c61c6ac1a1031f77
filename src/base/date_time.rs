//! Points in time at the service's resolution.

mod serialized;

use std::borrow::Cow;
use std::fmt;

use crate::calendar::{civil_of_days, days_in_month, days_of_civil};
use crate::{Rejected, Rule};

pub use serialized::DATE_TIME_NEWTYPE;

/// Ticks (100 ns) in a second.
const TICKS_PER_SECOND: i64 = 10_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// Ticks from the year 1, where .NET counts from, to 1970.
const DOT_NET_EPOCH_TICKS: i64 = 621_355_968_000_000_000;

/// A point in time in UTC, in ticks of 100 ns since 1970-01-01; the service keeps 1601-01-01 up to
/// the last tick of 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime(i64);

impl DateTime {
    /// 1601-01-01T00:00:00Z.
    pub const MIN: DateTime = DateTime(-11_644_473_600 * TICKS_PER_SECOND);
    /// 9999-12-31T23:59:59.9999999Z.
    pub const MAX: DateTime = DateTime(253_402_300_800 * TICKS_PER_SECOND - 1);

    /// From ticks of 100 ns since 1970-01-01T00:00:00Z; see [`Self::validate`] for their range.
    pub fn from_ticks(ticks: i64) -> Self {
        Self(ticks)
    }

    /// From whole microseconds and the 100 ns digit (0..=9) behind them, as they lie in a file.
    pub fn from_micros(micros: i64, tick: i8) -> Self {
        Self(micros.saturating_mul(10).saturating_add(i64::from(tick)))
    }

    /// 100 ns ticks since 1970-01-01T00:00:00Z.
    pub fn ticks(self) -> i64 {
        self.0
    }

    /// 100 ns ticks since 0001-01-01T00:00:00Z, as .NET counts them and keys of log tails hold
    /// them.
    pub fn dot_net_ticks(self) -> i64 {
        self.0.saturating_add(DOT_NET_EPOCH_TICKS)
    }

    /// The time of ticks as .NET counts them; see [`Self::validate`] for their range.
    pub fn from_dot_net_ticks(ticks: i64) -> Self {
        Self(ticks.saturating_sub(DOT_NET_EPOCH_TICKS))
    }

    /// Microseconds since 1970-01-01T00:00:00Z, rounded down.
    pub fn micros(self) -> i64 {
        self.0.div_euclid(10)
    }

    /// The 100 ns digit below the microsecond, 0..=9.
    pub fn tick(self) -> i8 {
        self.0.rem_euclid(10) as i8
    }

    /// Refuses what lies outside 1601..=9999; `property` names the culprit in the message.
    pub fn validate(self, property: &str) -> Result<(), Rejected> {
        if (Self::MIN..=Self::MAX).contains(&self) {
            return Ok(());
        }
        Err(Rejected::new(format!("property {property}"), &format!("{} ticks", self.0), Rule::DateTimeRange, RANGE))
    }

    /// Reads ISO 8601 text as exports have it: `2024-05-01T08:00:00.1234567Z`.
    ///
    /// A space may stand for the `T`. The fraction may be absent or have any number of digits, as
    /// long as those after the seventh are zeros. The zone is `Z`, an offset (`+02:00`, `+0200`,
    /// `+02`) or absent, which means UTC. Dates outside 1601..=9999 (in UTC) are refused.
    pub fn parse(text: &str) -> Result<DateTime, Rejected> {
        let at = Self::parse_unbounded(text)?;
        if (Self::MIN..=Self::MAX).contains(&at) {
            Ok(at)
        } else {
            Err(Rejected::new("DateTime", text, Rule::DateTimeRange, RANGE))
        }
    }

    /// The same, where seconds may be missing, or all behind the day (OData 3, ABNF of `dateTime`).
    pub fn parse_odata(text: &str) -> Result<DateTime, Rejected> {
        Self::parse(&with_seconds(text))
    }

    /// The same for an instant that may lie outside of the range.
    pub fn parse_odata_unbounded(text: &str) -> Result<DateTime, Rejected> {
        Self::parse_unbounded(&with_seconds(text))
    }

    /// [`DateTime::parse`] for an instant that may lie outside of the range, to tell it in another
    /// form.
    pub fn parse_unbounded(text: &str) -> Result<DateTime, Rejected> {
        let Some((civil, rest)) = text.as_bytes().split_first_chunk::<19>() else {
            return Err(unreadable(text, FORM));
        };
        let seconds = civil_seconds(civil).map_err(|reason| unreadable(text, reason))?;
        let (fraction, zone) = fraction_ticks(rest).map_err(|reason| unreadable(text, reason))?;
        let offset = offset_seconds(zone).map_err(|reason| unreadable(text, reason))?;
        Ok(DateTime((seconds - offset) * TICKS_PER_SECOND + fraction))
    }
}

const RANGE: &str = "a DateTime lies between 1601-01-01T00:00:00Z and 9999-12-31T23:59:59.9999999Z";
const FORM: &str = "a DateTime is written as 2024-05-01T08:00:00.1234567Z";

/// A time with zeros where seconds are missing, or all behind its day.
fn with_seconds(text: &str) -> Cow<'_, str> {
    match text.split_at_checked("2020-01-02T03:04".len()) {
        None if text.len() == "2020-01-02".len() => Cow::Owned(format!("{text}T00:00:00Z")),
        Some((minutes, zone)) if !zone.starts_with(':') => Cow::Owned(format!("{minutes}:00{zone}")),
        _ => Cow::Borrowed(text),
    }
}

fn unreadable(text: &str, reason: &str) -> Rejected {
    Rejected::new("DateTime", text, Rule::Unreadable, reason)
}

/// Two digits as a number; `u32::MAX`, above every field's limit, where one is not a digit.
fn two_digits(tens: u8, ones: u8) -> u32 {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    if tens > 9 || ones > 9 { u32::MAX } else { u32::from(tens) * 10 + u32::from(ones) }
}

/// Seconds since 1970 of `2024-05-01T08:00:00`, taken as UTC.
fn civil_seconds(text: &[u8; 19]) -> Result<i64, &'static str> {
    let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1, b'T' | b't' | b' ', h0, h1, b':', n0, n1, b':', s0, s1] = *text
    else {
        return Err(FORM);
    };
    let (century, year) = (two_digits(y0, y1), two_digits(y2, y3));
    let (month, day) = (two_digits(m0, m1), two_digits(d0, d1));
    let (hour, minute, second) = (two_digits(h0, h1), two_digits(n0, n1), two_digits(s0, s1));
    if [century, year, month, day, hour, minute, second].contains(&u32::MAX) {
        return Err(FORM);
    }
    let (year, month, day) = (i64::from(century * 100 + year), i64::from(month), i64::from(day));
    if !(1..=12).contains(&month) {
        return Err("a month is 01 to 12");
    }
    if day < 1 || day > days_in_month(year, month) {
        return Err("there is no such day in the calendar");
    }
    if hour > 23 || minute > 59 || second > 59 {
        return Err("a time of day is 00:00:00 to 23:59:59");
    }
    let seconds = hour * 3600 + minute * 60 + second;
    Ok(days_of_civil(year, month, day) * SECONDS_PER_DAY + i64::from(seconds))
}

/// The ticks of a leading `.1234567`, and what follows it.
fn fraction_ticks(rest: &[u8]) -> Result<(i64, &[u8]), &'static str> {
    let Some((b'.', digits)) = rest.split_first() else {
        return Ok((0, rest));
    };
    let (mut ticks, mut unit, mut count) = (0, TICKS_PER_SECOND, 0);
    while let Some(digit) = digits.get(count).map(|b| b.wrapping_sub(b'0')).filter(|digit| *digit <= 9) {
        unit /= 10;
        if unit == 0 && digit != 0 {
            return Err("a DateTime has a resolution of 100 ns: at most seven digits of a second");
        }
        ticks += i64::from(digit) * unit;
        count += 1;
    }
    if count == 0 { Err(FORM) } else { Ok((ticks, &digits[count..])) }
}

/// Seconds by which a zone's clocks are ahead of UTC.
fn offset_seconds(zone: &[u8]) -> Result<i64, &'static str> {
    let (sign, hours, minutes) = match *zone {
        [] | [b'Z' | b'z'] => return Ok(0),
        [sign, h0, h1] => (sign, two_digits(h0, h1), 0),
        [sign, h0, h1, n0, n1] | [sign, h0, h1, b':', n0, n1] => (sign, two_digits(h0, h1), two_digits(n0, n1)),
        _ => return Err("a zone is Z or an offset such as +02:00"),
    };
    if hours > 23 || minutes > 59 || !matches!(sign, b'+' | b'-') {
        return Err("a zone is Z or an offset such as +02:00");
    }
    let seconds = i64::from(hours * 3600 + minutes * 60);
    Ok(if sign == b'-' { -seconds } else { seconds })
}

/// The text of a [`DateTime`], which takes no memory but its own.
#[derive(Debug, Clone, Copy)]
pub struct DateTimeText {
    bytes: [u8; 30],
    /// Where the text is in it.
    from: usize,
    to: usize,
}

impl DateTimeText {
    /// The text.
    pub fn as_str(&self) -> &str {
        // It is digits and signs.
        std::str::from_utf8(&self.bytes[self.from..self.to]).unwrap_or_default()
    }
}

impl DateTime {
    /// The service's text: UTC with `Z`, the fraction without trailing zeros, no point when it is
    /// zero.
    pub fn text(self) -> DateTimeText {
        let (seconds, fraction) = (self.0.div_euclid(TICKS_PER_SECOND), self.0.rem_euclid(TICKS_PER_SECOND));
        let (days, second) = (seconds.div_euclid(SECONDS_PER_DAY), seconds.rem_euclid(SECONDS_PER_DAY));
        let (year, month, day) = civil_of_days(days);
        let mut bytes = *b"+00000-00-00T00:00:00.0000000Z";
        write_digits(&mut bytes[1..6], year.abs());
        write_digits(&mut bytes[7..9], month);
        write_digits(&mut bytes[10..12], day);
        write_digits(&mut bytes[13..15], second / 3600);
        write_digits(&mut bytes[16..18], second / 60 % 60);
        write_digits(&mut bytes[19..21], second % 60);
        write_digits(&mut bytes[22..29], fraction);
        let mut end = 29;
        let from = match year {
            0..=9999 => {
                if fraction == 0 {
                    end = 21;
                } else {
                    while bytes[end - 1] == b'0' {
                        end -= 1;
                    }
                }
                2
            }
            // Nothing validated comes here; ISO 8601 asks for a sign before longer years.
            year => {
                bytes[0] = if year < 0 { b'-' } else { b'+' };
                0
            }
        };
        bytes[end] = b'Z';
        DateTimeText { bytes, from, to: end + 1 }
    }
}

/// As [`DateTime::text`].
impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text().as_str())
    }
}

/// Writes a number right-aligned over the zeros of `digits`.
fn write_digits(digits: &mut [u8], mut number: i64) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests;
