//! Time zones: the session's, and those named in statements.

use chrono::{LocalResult, NaiveDateTime, Offset, TimeZone};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;

use super::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND};
use super::error::{ErrorKind, fail};

/// A time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// Seconds east of Greenwich.
    Fixed(i32),
    Named(chrono_tz::Tz),
}

impl Zone {
    /// The session's zone.
    pub fn of(options: &ConfigOptions) -> Result<Self> {
        match options.execution.time_zone.as_deref() {
            None => Ok(Zone::Fixed(0)),
            Some(name) => match Self::iso(name) {
                Some(zone) => Ok(zone),
                None => Self::named(name),
            },
        }
    }

    /// A zone named in a statement: by its name, an abbreviation, or an offset as POSIX has them, positive to the west.
    pub fn named(name: &str) -> Result<Self> {
        if let Some(Zone::Fixed(seconds)) = Self::iso(name) {
            return Ok(Zone::Fixed(if name.starts_with(['+', '-']) { -seconds } else { seconds }));
        }
        let abbreviated = match name.to_ascii_uppercase().as_str() {
            "CET" => Some(3600),
            "CEST" => Some(7200),
            "EST" => Some(-5 * 3600),
            "EDT" => Some(-4 * 3600),
            "CST" => Some(-6 * 3600),
            "CDT" => Some(-5 * 3600),
            "MST" => Some(-7 * 3600),
            "MDT" => Some(-6 * 3600),
            "PST" => Some(-8 * 3600),
            "PDT" => Some(-7 * 3600),
            "BST" => Some(3600),
            "JST" => Some(9 * 3600),
            "GMT" | "UCT" => Some(0),
            _ => None,
        };
        if let Some(seconds) = abbreviated {
            return Ok(Zone::Fixed(seconds));
        }
        let known = chrono_tz::TZ_VARIANTS.iter().find(|zone| zone.name().eq_ignore_ascii_case(name));
        match known {
            Some(zone) => Ok(Zone::Named(*zone)),
            None => fail(ErrorKind::InvalidParameter, format!("time zone \"{name}\" not recognized")),
        }
    }

    /// `UTC`, or an offset east of Greenwich: `+02`, `-05:30`, `+02:00:00`.
    fn iso(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("utc") || name.eq_ignore_ascii_case("z") {
            return Some(Zone::Fixed(0));
        }
        let (sign, digits) = match name.split_at_checked(1)? {
            ("+", digits) => (1, digits),
            ("-", digits) => (-1, digits),
            _ => return None,
        };
        let mut seconds = 0;
        for (place, part) in digits.split(':').enumerate() {
            let unit = *[3600, 60, 1].get(place)?;
            if part.is_empty() || part.len() > 2 {
                return None;
            }
            seconds += part.parse::<i32>().ok()? * unit;
        }
        (seconds < 16 * 3600).then_some(Zone::Fixed(sign * seconds))
    }

    /// Seconds east of Greenwich at a moment, in microseconds UTC.
    pub fn offset_seconds(self, micros: i64) -> i64 {
        match self {
            Zone::Fixed(seconds) => i64::from(seconds),
            Zone::Named(zone) => match naive(micros) {
                Some(at) => i64::from(zone.offset_from_utc_datetime(&at).fix().local_minus_utc()),
                None => 0,
            },
        }
    }

    /// What clocks show at a moment.
    pub fn local(self, micros: i64) -> i64 {
        micros.saturating_add(self.offset_seconds(micros) * MICROS_PER_SECOND)
    }

    /// The moment at which clocks show this. Of two, the one in standard time; where clocks skip it, as if they had not been
    /// set forward yet.
    pub fn moment(self, local: i64) -> i64 {
        let seconds = match self {
            Zone::Fixed(seconds) => i64::from(seconds),
            Zone::Named(zone) => match naive(local).map(|at| zone.offset_from_local_datetime(&at)) {
                Some(LocalResult::Single(offset)) => i64::from(offset.fix().local_minus_utc()),
                Some(LocalResult::Ambiguous(first, second)) => {
                    i64::from(first.fix().local_minus_utc().min(second.fix().local_minus_utc()))
                }
                Some(LocalResult::None) | None => self.offset_seconds(local.saturating_sub(MICROS_PER_DAY)),
            },
        };
        local.saturating_sub(seconds * MICROS_PER_SECOND)
    }

    /// As `to_char` writes it: `CET`, `UTC`, `+02`.
    pub fn abbreviation(self, micros: i64) -> String {
        match self {
            Zone::Fixed(0) => "UTC".to_owned(),
            Zone::Fixed(seconds) => {
                let (hours, minutes) = (seconds.abs() / 3600, seconds.abs() / 60 % 60);
                let sign = if seconds < 0 { '-' } else { '+' };
                if minutes == 0 { format!("{sign}{hours:02}") } else { format!("{sign}{hours:02}:{minutes:02}") }
            }
            Zone::Named(zone) => match naive(micros) {
                Some(at) => zone.offset_from_utc_datetime(&at).to_string(),
                None => zone.name().to_owned(),
            },
        }
    }
}

fn naive(micros: i64) -> Option<NaiveDateTime> {
    chrono::DateTime::from_timestamp_micros(micros).map(|at| at.naive_utc())
}
