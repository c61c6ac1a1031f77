//! Values of settings, brought to the form that SHOW prints.

use super::definitions::{Definition, Kind};
use crate::types::{DateStyle, NAME_BYTES_MAX, TextStyle, Zone};
use rowkey_base::{Error, Result, SqlState};

/// The canonical form of a value, or PostgreSQL's error.
pub(super) fn canonical(definition: &Definition, value: &str) -> Result<String> {
    let name = definition.name;
    let invalid = || {
        Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid value for parameter \"{name}\": \"{value}\""))
    };
    match definition.kind {
        Kind::Text if name == "application_name" => Ok(as_name(value)),
        Kind::Text => Ok(value.to_owned()),
        Kind::Bool => match boolean(value) {
            Some(true) => Ok("on".to_owned()),
            Some(false) => Ok("off".to_owned()),
            None => Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("parameter \"{name}\" requires a Boolean value"),
            )),
        },
        Kind::Enum(values) => match values.iter().find(|allowed| allowed.eq_ignore_ascii_case(value)) {
            Some(value) => Ok((*value).to_owned()),
            // Switches among the enums also take the words of booleans.
            None if values.contains(&"on") || values.contains(&"off") => match boolean(value) {
                Some(true) if values.contains(&"on") => Ok("on".to_owned()),
                Some(false) if values.contains(&"off") => Ok("off".to_owned()),
                _ => Err(invalid()),
            },
            None => Err(invalid().with_hint(format!("Available values: {}.", values.join(", ")))),
        },
        Kind::Integer { min, max, unit } => {
            let number = integer(value, unit).ok_or_else(invalid)?;
            if i32::try_from(number).is_err() {
                return Err(invalid().with_hint("Value exceeds integer range."));
            }
            if !(min..=max).contains(&number) {
                let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
                let message = format!(
                    "{number}{unit} is outside the valid range for parameter \"{name}\" ({min}{unit} .. {max}{unit})"
                );
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
            }
            Ok(with_unit(number, unit))
        }
        Kind::Real { min, max, unit } => {
            let number = number_of(value, unit).ok_or_else(invalid)?;
            if !(min..=max).contains(&number) {
                let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
                let message = format!(
                    "{number}{unit} is outside the valid range for parameter \"{name}\" ({}{unit} .. {}{unit})",
                    bound(min),
                    bound(max)
                );
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
            }
            Ok(match !unit.is_empty() && number.fract() == 0.0 && number < 1e9 {
                true => with_unit(number as i64, unit),
                false => format!("{number}{unit}"),
            })
        }
        Kind::TimeZone => Zone::parse(value).map(|zone| zone.to_string()).map_err(|_| invalid()),
        Kind::DateStyle => {
            let default = TextStyle::default().date_style;
            DateStyle::parse(value, default).map(|style| style.to_string()).map_err(|_| invalid())
        }
        Kind::Encoding => {
            let folded: String = value.chars().filter(char::is_ascii_alphanumeric).collect();
            match folded.to_ascii_lowercase().as_str() {
                "utf8" | "unicode" => Ok("UTF8".to_owned()),
                _ => Err(invalid().with_hint("only UTF8 is spoken")),
            }
        }
        Kind::Schemas => Ok(value.to_owned()),
    }
}

/// What others are shown: printable ASCII, at most as long as a name.
fn as_name(value: &str) -> String {
    let shown = |byte| if (b' '..=b'~').contains(&byte) { char::from(byte) } else { '?' };
    value.bytes().take(NAME_BYTES_MAX).map(shown).collect()
}

/// PostgreSQL's words for yes and no, and what they begin with.
fn boolean(value: &str) -> Option<bool> {
    let value = value.trim().to_ascii_lowercase();
    let begins = |word: &str, least: usize| value.len() >= least && word.starts_with(&value);
    if begins("true", 1) || begins("yes", 1) || value == "on" || value == "1" {
        Some(true)
    } else if begins("false", 1) || begins("no", 1) || begins("off", 2) || value == "0" {
        Some(false)
    } else {
        None
    }
}

/// A whole number of `unit`, given with any unit of the same kind or with none.
pub(super) fn integer(value: &str, unit: &str) -> Option<i64> {
    let number = number_of(value, unit)?;
    (number.abs() < 9e15).then(|| number.round_ties_even() as i64)
}

/// A number of `unit`, given with any unit of the same kind or with none.
pub(super) fn number_of(value: &str, unit: &str) -> Option<f64> {
    let value = value.trim();
    if let Ok(number) = value.parse::<f64>() {
        return number.is_finite().then_some(number);
    }
    let digits = value.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c)).unwrap_or(value.len());
    let (number, given) = (value[..digits].parse::<f64>().ok()?, value[digits..].trim());
    let of = if unit == PAGES { "B" } else { unit };
    let whole = if unit == PAGES { PAGE_BYTES } else { size(unit, unit)? };
    Some(number * (size(given, of)? / whole))
}

/// A limit as PostgreSQL writes it.
pub fn bound(limit: f64) -> String {
    if limit == f64::MAX { "1.79769e+308".to_owned() } else { limit.to_string() }
}

/// The unit of what PostgreSQL counts in pages, and what they are in bytes.
const PAGES: &str = "8kB";
const PAGE_BYTES: f64 = 8192.0;

/// How much a unit is, in microseconds or in bytes, whichever the unit of the setting is.
fn size(unit: &str, of: &str) -> Option<f64> {
    let time: &[(&str, f64)] = &[("us", 1.0), ("ms", 1e3), ("s", 1e6), ("min", 6e7), ("h", 3.6e9), ("d", 8.64e10)];
    let memory: &[(&str, f64)] =
        &[("B", 1.0), ("kB", 1024.0), ("MB", 1048576.0), ("GB", 1073741824.0), ("TB", 1099511627776.0)];
    [time, memory]
        .into_iter()
        .find(|units| units.iter().any(|(name, _)| *name == of))?
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, size)| *size)
}

/// The largest unit that gives a whole number, as SHOW prints it.
fn with_unit(number: i64, unit: &str) -> String {
    let larger: &[(&str, i64)] = match unit {
        "ms" => &[("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1)],
        "s" => &[("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)],
        "kB" => &[("TB", 1 << 30), ("GB", 1 << 20), ("MB", 1 << 10), ("kB", 1)],
        "B" => &[("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10), ("B", 1)],
        PAGES if number > 0 => return with_unit(number.saturating_mul(8), "kB"),
        _ => return number.to_string(),
    };
    match larger.iter().find(|(_, size)| number > 0 && number % size == 0) {
        Some((name, size)) => format!("{}{name}", number / size),
        None => number.to_string(),
    }
}

/// The names in a list such as `"$user", public`.
pub(super) fn schemas(list: &str) -> Vec<String> {
    let mut names = Vec::new();
    let (mut name, mut quoted, mut any) = (String::new(), false, false);
    let mut chars = list.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                name.push('"');
            }
            '"' => (quoted, any) = (!quoted, true),
            ',' if !quoted => {
                if any {
                    names.push(std::mem::take(&mut name));
                }
                any = false;
            }
            c if !quoted && c.is_whitespace() => {}
            c => {
                name.push(if quoted { c } else { c.to_ascii_lowercase() });
                any = true;
            }
        }
    }
    if any {
        names.push(name);
    }
    names
}
