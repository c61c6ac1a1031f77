//! Session settings that shape the text of values.

use super::zone::Zone;
use super::{Error, SqlState};

/// Session settings that shape text.
#[derive(Debug, Clone, PartialEq)]
pub struct TextStyle {
    pub zone: Zone,
    pub date_style: DateStyle,
    pub interval_style: IntervalStyle,
    pub bytea_output: ByteaOutput,
    /// Above 0: shortest text that reads back equal. Else 15 (float4: 6) significant digits plus
    /// this.
    pub extra_float_digits: i32,
    /// When the statement began, for `now` and `today` in literals, in microseconds since 1970;
    /// None where no statement is near.
    pub now: Option<i64>,
}

impl TextStyle {
    /// The same for a statement that begins at a moment.
    pub fn at(&self, now_micros: i64) -> Self {
        Self { now: Some(now_micros), ..self.clone() }
    }
}

impl Default for TextStyle {
    /// PostgreSQL's defaults, in UTC.
    fn default() -> Self {
        Self {
            zone: Zone::utc(),
            date_style: DateStyle { format: DateFormat::Iso, order: DateOrder::Mdy },
            interval_style: IntervalStyle::Postgres,
            bytea_output: ByteaOutput::Hex,
            extra_float_digits: 1,
            now: None,
        }
    }
}

/// `DateStyle`: how dates are printed, and how ambiguous ones are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateStyle {
    pub format: DateFormat,
    pub order: DateOrder,
}

/// How dates are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateFormat {
    Iso,
    Postgres,
    Sql,
    German,
}

/// In which order ambiguous dates are read, and in some formats printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrder {
    Mdy,
    Dmy,
    Ymd,
}

/// `IntervalStyle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntervalStyle {
    Postgres,
    PostgresVerbose,
    SqlStandard,
    Iso8601,
}

/// `bytea_output`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteaOutput {
    Hex,
    Escape,
}

impl DateStyle {
    /// Reads a value of the setting, which may name only one half: `ISO, DMY`, `German`, `ymd`.
    /// `current` fills in the other.
    pub fn parse(text: &str, current: DateStyle) -> Result<DateStyle, Error> {
        let invalid = || {
            let message = format!("invalid value for parameter \"DateStyle\": \"{text}\"");
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
        };
        let (mut format, mut order) = (None, None);
        for word in text.split(',') {
            let word = word.trim().trim_matches('"').to_ascii_lowercase();
            let (new_format, new_order) = match word.as_str() {
                "iso" => (Some(DateFormat::Iso), None),
                "sql" => (Some(DateFormat::Sql), None),
                "german" => (Some(DateFormat::German), None),
                "ymd" => (None, Some(DateOrder::Ymd)),
                "mdy" | "us" => (None, Some(DateOrder::Mdy)),
                "dmy" => (None, Some(DateOrder::Dmy)),
                "default" => (Some(DateFormat::Iso), Some(DateOrder::Mdy)),
                word if word.starts_with("postgres") => (Some(DateFormat::Postgres), None),
                word if word.starts_with("euro") => (None, Some(DateOrder::Dmy)),
                word if word.starts_with("noneuro") => (None, Some(DateOrder::Mdy)),
                _ => return Err(invalid()),
            };
            let contradicts = new_format.is_some_and(|new| format.is_some_and(|old| old != new))
                || new_order.is_some_and(|new| order.is_some_and(|old| old != new));
            if contradicts && word != "default" {
                return Err(invalid());
            }
            // `default` gives way to what is said beside it.
            if word == "default" {
                (format, order) = (format.or(new_format), order.or(new_order));
            } else {
                (format, order) = (new_format.or(format), new_order.or(order));
            }
        }
        // German dates are written day first unless an order is named.
        let implied = if format == Some(DateFormat::German) { DateOrder::Dmy } else { current.order };
        Ok(DateStyle { format: format.unwrap_or(current.format), order: order.unwrap_or(implied) })
    }
}

impl std::fmt::Display for DateStyle {
    /// As `SHOW DateStyle` prints it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let format = match self.format {
            DateFormat::Iso => "ISO",
            DateFormat::Postgres => "Postgres",
            DateFormat::Sql => "SQL",
            DateFormat::German => "German",
        };
        let order = match self.order {
            DateOrder::Mdy => "MDY",
            DateOrder::Dmy => "DMY",
            DateOrder::Ymd => "YMD",
        };
        write!(f, "{format}, {order}")
    }
}

impl std::str::FromStr for IntervalStyle {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.to_ascii_lowercase().as_str() {
            "postgres" => Ok(IntervalStyle::Postgres),
            "postgres_verbose" => Ok(IntervalStyle::PostgresVerbose),
            "sql_standard" => Ok(IntervalStyle::SqlStandard),
            "iso_8601" => Ok(IntervalStyle::Iso8601),
            _ => Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("invalid value for parameter \"IntervalStyle\": \"{text}\""),
            )),
        }
    }
}

impl std::fmt::Display for IntervalStyle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            IntervalStyle::Postgres => "postgres",
            IntervalStyle::PostgresVerbose => "postgres_verbose",
            IntervalStyle::SqlStandard => "sql_standard",
            IntervalStyle::Iso8601 => "iso_8601",
        })
    }
}

impl std::str::FromStr for ByteaOutput {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.to_ascii_lowercase().as_str() {
            "hex" => Ok(ByteaOutput::Hex),
            "escape" => Ok(ByteaOutput::Escape),
            _ => Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("invalid value for parameter \"bytea_output\": \"{text}\""),
            )),
        }
    }
}

impl std::fmt::Display for ByteaOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ByteaOutput::Hex => "hex",
            ByteaOutput::Escape => "escape",
        })
    }
}
