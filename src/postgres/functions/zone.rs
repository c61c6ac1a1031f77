//! Time zones: the session's, and those named in statements.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;

use super::calendar::MICROS_PER_SECOND;
use super::error::{SqlState, fail};
use crate::carried::carried_in_options;
use crate::types::{self, TextStyle};

/// A time zone, cheap to hand around, with the style of texts in it.
#[derive(Debug, Clone)]
pub struct Zone(Arc<TextStyle>);

impl Zone {
    /// The session's zone, with its style of texts; without a session, an offset east of Greenwich
    /// or a name.
    pub fn of(options: &ConfigOptions) -> Result<Self> {
        if let Some(SessionStyle(style)) = options.extensions.get::<SessionStyle>() {
            return Ok(Self(Arc::clone(style)));
        }
        match options.execution.time_zone.as_deref() {
            None => Ok(Self::from(types::Zone::utc())),
            Some(name) => match offset_east(name) {
                Some(seconds) => Ok(Self::from(types::Zone::fixed(seconds))),
                None => Self::named(name),
            },
        }
    }

    /// The zone in which literals are read: the session's, or the one that it had.
    pub(super) fn of_literals(options: &ConfigOptions) -> Result<Self> {
        match LiteralStyle::in_force(options) {
            Some(style) => Ok(Self(Arc::clone(style))),
            None => Self::of(options),
        }
    }

    /// A zone named in a statement: by its name, an abbreviation, or an offset as POSIX has them,
    /// positive to the west.
    pub fn named(name: &str) -> Result<Self> {
        if let Some(zone) = types::zone_of_abbreviation(&name.to_ascii_lowercase()) {
            return Ok(Self::from(if zone.constant_offset() == Some(0) { types::Zone::utc() } else { zone }));
        }
        // A bare number would be hours to the east as a setting; in an expression it is POSIX's, to
        // the west, and whole: what stands behind a point is not read.
        let has_hours = !name.trim_start_matches(['+', '-']).starts_with('.');
        let hours =
            name.strip_prefix('+').unwrap_or(name).parse::<f64>().ok().filter(|hours| has_hours && hours.abs() < 168.0);
        let number = match name.starts_with(|first: char| first.is_ascii_digit()) {
            true => offset_east(&format!("+{name}")),
            false => offset_east(name),
        };
        let number = number.or(hours.map(|hours| hours.trunc() as i32 * 3600));
        match number {
            Some(seconds) => Ok(Self::fixed(-seconds)),
            None => match types::Zone::parse(name) {
                Ok(zone) => Ok(Self::from(zone)),
                Err(_) => fail(SqlState::INVALID_PARAMETER_VALUE, format!("time zone \"{name}\" not recognized")),
            },
        }
    }

    /// A zone that is an argument by itself: an offset counts to the east there, as in a literal.
    pub fn of_argument(name: &str) -> Result<Self> {
        if name.starts_with(|first: char| first.is_ascii_digit()) {
            let message = format!("invalid input syntax for type numeric time zone: \"{name}\"");
            return fail(SqlState::INVALID_PARAMETER_VALUE, message);
        }
        let is_number = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
        let Some(rest) = name.strip_prefix(['+', '-']).filter(|rest| is_number(rest)) else {
            return Self::named(name);
        };
        // `+0530` is `+05:30`.
        let offset = match rest.len() {
            3.. if !rest.contains(':') => {
                let (hours, minutes) = rest.split_at(rest.len() - 2);
                offset_east(&format!("{}{hours}:{minutes}", &name[..1]))
            }
            _ => offset_east(name),
        };
        match offset {
            Some(seconds) => Ok(Self::fixed(seconds)),
            None => fail(SqlState::INVALID_PARAMETER_VALUE, format!("numeric time zone \"{name}\" out of range")),
        }
    }

    /// Seconds east of Greenwich.
    pub fn fixed(seconds: i32) -> Self {
        Self::from(if seconds == 0 { types::Zone::utc() } else { types::Zone::fixed(seconds) })
    }

    /// How values are written and read in this zone.
    pub fn style(&self) -> &TextStyle {
        &self.0
    }

    /// Seconds east of Greenwich at a moment, in microseconds UTC.
    pub fn offset_seconds(&self, micros: i64) -> i64 {
        i64::from(self.0.zone.offset_at(micros))
    }

    /// What clocks show at a moment.
    pub fn local(&self, micros: i64) -> i64 {
        micros.saturating_add(self.offset_seconds(micros) * MICROS_PER_SECOND)
    }

    /// The moment at which clocks show this.
    pub fn moment(&self, local: i64) -> i64 {
        self.0.zone.local_to_utc(local).unwrap_or(local)
    }

    /// As `to_char` writes it: `CET`, `UTC`, `+02`.
    pub fn abbreviation(&self, micros: i64) -> String {
        self.0.zone.abbreviation_at(micros)
    }
}

impl From<types::Zone> for Zone {
    fn from(zone: types::Zone) -> Self {
        Self(Arc::new(TextStyle { zone, ..TextStyle::default() }))
    }
}

/// The session's style of texts as it travels with a statement: in the extensions of its
/// `ConfigOptions`.
#[derive(Debug, Clone)]
pub struct SessionStyle(pub Arc<TextStyle>);

carried_in_options!(SessionStyle, "rowkey_style");

/// The style in which literals are read where it is not the session's: a statement was prepared
/// before that changed, or a view was made in another session. PostgreSQL reads them then.
#[derive(Debug, Clone)]
pub struct LiteralStyle(pub Arc<TextStyle>);

impl LiteralStyle {
    /// The style in which literals are read, the session's or another one.
    pub fn in_force(options: &ConfigOptions) -> Option<&Arc<TextStyle>> {
        let own = options.extensions.get::<LiteralStyle>().map(|LiteralStyle(style)| style);
        own.or_else(|| options.extensions.get::<SessionStyle>().map(|SessionStyle(style)| style))
    }
}

carried_in_options!(LiteralStyle, "rowkey_literal_style");

/// An offset east of Greenwich: `+02`, `-05:30`, `+02:00:00`.
fn offset_east(name: &str) -> Option<i32> {
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
    (seconds < 16 * 3600).then_some(sign * seconds)
}
