//! Time zones, as `SET TimeZone` names them.

use chrono::{DateTime, Offset, TimeZone, Utc};
use chrono_tz::{OffsetComponents, OffsetName, TZ_VARIANTS, Tz};

use super::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND, day_of, days_of_civil, is_leap, weekday};
use super::{Error, SqlState};

#[cfg(test)]
mod tests;

/// A time zone of the session or of a literal.
#[derive(Debug, Clone, PartialEq)]
pub struct Zone {
    name: String,
    rule: Rule,
}

#[derive(Debug, Clone, PartialEq)]
enum Rule {
    Fixed {
        seconds_east: i32,
        abbreviation: String,
    },
    Named {
        tz: Tz,
        repeats: bool,
        /// Whether clocks are set forward in summer.
        summer: bool,
    },
}

/// Named zones are tabled up to the end of this year. What follows goes on by the rules of the last
/// years.
const LAST_TABLED_YEAR: i64 = 2096;
/// Offsets stay below a week, as in POSIX zones.
const MAX_HOURS: i32 = 167;

impl Zone {
    /// UTC, the zone of a new session.
    pub fn utc() -> Self {
        Self { name: "UTC".into(), rule: Rule::Fixed { seconds_east: 0, abbreviation: "UTC".into() } }
    }

    /// A constant offset, named as `SET TIME ZONE -5` is shown: `<-05>+05`.
    pub fn fixed(seconds_east: i32) -> Self {
        let size = seconds_east.unsigned_abs();
        let (hours, minutes, seconds) = (size / 3600, size / 60 % 60, size % 60);
        let mut digits = format!("{hours:02}");
        if minutes != 0 || seconds != 0 {
            digits += &format!(":{minutes:02}");
        }
        if seconds != 0 {
            digits += &format!(":{seconds:02}");
        }
        // POSIX counts to the west, the name in brackets to the east.
        let (east, west) = if seconds_east < 0 { ('-', '+') } else { ('+', '-') };
        let abbreviation = format!("{east}{digits}");
        Self { name: format!("<{abbreviation}>{west}{digits}"), rule: Rule::Fixed { seconds_east, abbreviation } }
    }

    /// Reads a value of the setting `TimeZone`: a name of the tz database in any case, a number of
    /// hours to the east (`-5`, `+02`, `5.5`), or a POSIX zone, whose offset counts to the **west**
    /// (`UTC+3` lies three hours behind Greenwich, and so does `+03:00`).
    pub fn parse(text: &str) -> Result<Self, Error> {
        let invalid = || {
            let message = format!("invalid value for parameter \"TimeZone\": \"{text}\"");
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
        };
        let number = text.trim_start();
        if number.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'))
            && let Ok(hours) = number.parse::<f64>()
        {
            if hours.is_nan() || hours.abs() >= f64::from(MAX_HOURS + 1) {
                return Err(invalid());
            }
            let seconds = (hours * 3600.0) as i32;
            if seconds % 60 != 0 {
                return Err(leap_seconds(text));
            }
            return Ok(Self::fixed(seconds));
        }
        match Self::named(text) {
            Some(zone) => Ok(zone),
            None => Self::posix(text)?.ok_or_else(invalid),
        }
    }

    /// A zone of the tz database, in any case.
    pub(super) fn named(text: &str) -> Option<Self> {
        let tz = *TZ_VARIANTS.iter().find(|tz| tz.name().eq_ignore_ascii_case(text))?;
        if tz == Tz::UTC {
            return Some(Self::utc());
        }
        // Some zones end their rules before the end of the tables (Morocco's follow Ramadan up to
        // 2087).
        let january = days_of_civil(LAST_TABLED_YEAR + 1, 1, 1);
        let mut offsets = (0..12).map(|month| tabled_offset(tz, (january + 30 * month) * MICROS_PER_DAY).fix());
        let first = offsets.next();
        let repeats = offsets.any(|offset| Some(offset) != first);
        Some(Self { name: tz.name().into(), rule: Rule::Named { tz, repeats, summer: true } })
    }

    /// The zone with its clocks of winter all year.
    pub(super) fn without_summer_time(mut self) -> Self {
        if let Rule::Named { summer, .. } = &mut self.rule {
            *summer = false;
        }
        self
    }

    /// `EST5`, `<+0330>-03:30`, `-05:30`. Ok(None): not of this form.
    pub(super) fn posix(text: &str) -> Result<Option<Self>, Error> {
        let (abbreviation, rest) = match text.strip_prefix('<') {
            Some(quoted) => match quoted.split_once('>') {
                Some(halves) => halves,
                None => return Ok(None),
            },
            None => text.split_at(text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len())),
        };
        let Some((seconds_west, rest)) = posix_offset(rest) else { return Ok(None) };
        if !rest.is_empty() {
            let summer = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
            if !abbreviation.is_empty() && (summer >= 3 || rest.starts_with('<')) {
                return Err(Error::unsupported(format!(
                    "time zone \"{text}\" has a rule for summer time of its own, which is not supported: use a zone's name"
                )));
            }
            return Ok(None);
        }
        if seconds_west % 60 != 0 {
            return Err(leap_seconds(text));
        }
        let abbreviation = abbreviation.to_ascii_uppercase();
        let rule = Rule::Fixed { seconds_east: -seconds_west, abbreviation };
        Ok(Some(Self { name: text.to_ascii_uppercase(), rule }))
    }

    /// The offset if it never changes, in seconds to the east.
    pub fn constant_offset(&self) -> Option<i32> {
        match &self.rule {
            Rule::Fixed { seconds_east, .. } => Some(*seconds_east),
            Rule::Named { .. } => None,
        }
    }

    /// Seconds to the east of Greenwich at an instant, in microseconds since 1970.
    pub fn offset_at(&self, utc_micros: i64) -> i32 {
        match &self.rule {
            Rule::Fixed { seconds_east, .. } => *seconds_east,
            Rule::Named { tz, repeats, summer } => {
                let offset = tabled_offset(*tz, tabled_instant(utc_micros, *repeats));
                match summer {
                    true => offset.fix().local_minus_utc(),
                    false => i32::try_from(offset.base_utc_offset().num_seconds()).unwrap_or(0),
                }
            }
        }
    }

    /// The abbreviation in force at an instant: `CET`, `+04`.
    pub fn abbreviation_at(&self, utc_micros: i64) -> String {
        match &self.rule {
            Rule::Fixed { abbreviation, .. } => abbreviation.clone(),
            Rule::Named { tz, repeats, .. } => {
                let offset = tabled_offset(*tz, tabled_instant(utc_micros, *repeats));
                offset.abbreviation().map_or_else(|| offset.to_string(), str::to_owned)
            }
        }
    }

    /// The instant of a local time, both in microseconds since 1970. A time that a change of clocks
    /// skips is read with the offset before the change, one that happens twice with the offset
    /// after it, as PostgreSQL reads them. None: beyond 64 bits.
    pub fn local_to_utc(&self, local_micros: i64) -> Option<i64> {
        let at = |seconds_east: i32| local_micros.checked_sub(i64::from(seconds_east) * MICROS_PER_SECOND);
        if let Some(offset) = self.constant_offset() {
            return at(offset);
        }
        let before = self.offset_at(local_micros.checked_sub(MICROS_PER_DAY)?);
        let after = self.offset_at(local_micros.checked_add(MICROS_PER_DAY)?);
        let utc_after = at(after)?;
        if before == after || self.offset_at(utc_after) == after { Some(utc_after) } else { at(before) }
    }
}

impl std::fmt::Display for Zone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

fn leap_seconds(text: &str) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("time zone \"{text}\" appears to use leap seconds"))
}

/// `[+-]hh[:mm[:ss]]` in seconds, and what follows it.
fn posix_offset(text: &str) -> Option<(i32, &str)> {
    let (sign, mut rest) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let mut seconds = 0;
    for (unit, max) in [(3600, MAX_HOURS), (60, 59), (1, 59)] {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let count: i32 = rest[..digits].parse().ok().filter(|count| *count <= max)?;
        seconds += count * unit;
        rest = &rest[digits..];
        match rest.strip_prefix(':') {
            Some(more) if unit > 1 => rest = more,
            _ => break,
        }
    }
    Some((sign * seconds, rest))
}

fn tabled_offset(tz: Tz, utc_micros: i64) -> <Tz as TimeZone>::Offset {
    // Instants beyond chrono's years lie before every change of clocks: those after the tables were
    // moved into them.
    let instant =
        DateTime::from_timestamp(utc_micros.div_euclid(MICROS_PER_SECOND), 0).unwrap_or(DateTime::<Utc>::MIN_UTC);
    tz.offset_from_utc_datetime(&instant.naive_utc())
}

/// An instant with the same offset within the tables. The calendar repeats every 28 years as long
/// as no leap day is left out, so there is a tabled year that begins on the same weekday and is as
/// long.
fn tabled_instant(utc_micros: i64, repeats: bool) -> i64 {
    const END: i64 = 4_007_750_400 * MICROS_PER_SECOND; // 2097-01-01
    if utc_micros < END || !repeats {
        return utc_micros.min(END + 300 * MICROS_PER_DAY);
    }
    let year = day_of(utc_micros.div_euclid(MICROS_PER_DAY)).year;
    let january = |year| days_of_civil(year, 1, 1);
    let alike = |other: &i64| is_leap(*other) == is_leap(year) && weekday(january(*other)) == weekday(january(year));
    let twin = (LAST_TABLED_YEAR - 27..=LAST_TABLED_YEAR).find(alike).unwrap_or(LAST_TABLED_YEAR);
    utc_micros - (january(year) - january(twin)) * MICROS_PER_DAY
}
