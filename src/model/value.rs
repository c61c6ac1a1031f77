//! Property values and their types.

mod reference;

use std::fmt;
use std::num::IntErrorKind;
use std::str::FromStr;

use base64::Engine as _;
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::limits::{BINARY_BYTES_MAX, STRING_UTF16_UNITS_MAX};
use rowkey_base::DateTime;
use rowkey_base::{Rejected, Rule};

pub use reference::ValueRef;

/// The eight property types. The order is that of their names and is the order of typed columns in
/// a file; what stands for a type on disk is its [`tag`](EdmType::tag).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum EdmType {
    Binary,
    Boolean,
    DateTime,
    Double,
    Guid,
    Int32,
    Int64,
    String,
}

impl EdmType {
    /// All types, in the order of their names.
    pub const ALL: [EdmType; 8] = [
        EdmType::Binary,
        EdmType::Boolean,
        EdmType::DateTime,
        EdmType::Double,
        EdmType::Guid,
        EdmType::Int32,
        EdmType::Int64,
        EdmType::String,
    ];

    /// The name without its `Edm.` prefix, as it stands in column names (`Age:Int64`).
    pub fn name(self) -> &'static str {
        match self {
            EdmType::Binary => "Binary",
            EdmType::Boolean => "Boolean",
            EdmType::DateTime => "DateTime",
            EdmType::Double => "Double",
            EdmType::Guid => "Guid",
            EdmType::Int32 => "Int32",
            EdmType::Int64 => "Int64",
            EdmType::String => "String",
        }
    }

    /// What stands for the type in the log and in run files. A tag is never given to another type.
    pub fn tag(self) -> u8 {
        match self {
            EdmType::Binary => 0,
            EdmType::Boolean => 1,
            EdmType::DateTime => 2,
            EdmType::Double => 3,
            EdmType::Guid => 4,
            EdmType::Int32 => 5,
            EdmType::Int64 => 6,
            EdmType::String => 7,
        }
    }

    /// The type of a tag; none where no type has it.
    pub fn of_tag(tag: u8) -> Option<EdmType> {
        Some(match tag {
            0 => EdmType::Binary,
            1 => EdmType::Boolean,
            2 => EdmType::DateTime,
            3 => EdmType::Double,
            4 => EdmType::Guid,
            5 => EdmType::Int32,
            6 => EdmType::Int64,
            7 => EdmType::String,
            _ => return None,
        })
    }

    /// Reads `Edm.Int64` or `Int64`.
    pub fn parse(text: &str) -> Option<EdmType> {
        let name = text.strip_prefix("Edm.").unwrap_or(text);
        EdmType::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Numeric types widen into each other in SQL: Int32 < Int64 < Double.
    pub fn is_numeric(self) -> bool {
        matches!(self, EdmType::Int32 | EdmType::Int64 | EdmType::Double)
    }

    /// Whether values of this type are shown in a column of another one, or of the same.
    pub fn widens_to(self, to: EdmType) -> bool {
        let width = |edm| [EdmType::Int32, EdmType::Int64, EdmType::Double].iter().position(|narrow| *narrow == edm);
        self == to || width(self).zip(width(to)).is_some_and(|(from, to)| from < to)
    }
}

impl fmt::Display for EdmType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A property's value. There is no null: a property without a value is absent from its entity.
#[derive(Debug, Clone)]
pub enum Value {
    Binary(Vec<u8>),
    Boolean(bool),
    DateTime(DateTime),
    Double(f64),
    Guid(uuid::Uuid),
    Int32(i32),
    Int64(i64),
    String(String),
}

impl Value {
    /// The type of the value.
    pub fn edm_type(&self) -> EdmType {
        ValueRef::from(self).edm_type()
    }

    /// Reads a value from the text it has in JSON and CSV beside the name of its type.
    ///
    /// Binary is standard base64 with padding, Boolean `true` or `false`, DateTime as
    /// [`DateTime::parse`] has it, Double decimal with or without exponent, `NaN`,
    /// `Infinity`, or `-Infinity`, Guid 8-4-4-4-12 hexadecimal digits in either case. The length of
    /// strings and binaries is left to [`Value::validate`].
    ///
    /// # Errors
    /// Text that is no value of the type, or a number or time out of its range.
    pub fn from_text(edm_type: EdmType, text: &str) -> Result<Value, Rejected> {
        let unreadable = |limit: &str| Rejected::new(edm_type.name(), text, Rule::Unreadable, limit);
        match edm_type {
            EdmType::Binary => BASE64
                .decode(text)
                .map(Value::Binary)
                .map_err(|error| unreadable(&format!("a Binary is written in standard base64 with padding ({error})"))),
            EdmType::Boolean => match text {
                truth if truth.eq_ignore_ascii_case("true") => Ok(Value::Boolean(true)),
                truth if truth.eq_ignore_ascii_case("false") => Ok(Value::Boolean(false)),
                _ => Err(unreadable("a Boolean is written as true or false")),
            },
            EdmType::DateTime => DateTime::parse(text).map(Value::DateTime),
            EdmType::Double => parse_double(text).map(Value::Double).map_err(unreadable),
            EdmType::Guid => parse_guid(text).map(Value::Guid).map_err(unreadable),
            EdmType::Int32 => parse_integer(text)
                .map(Value::Int32)
                .map_err(|range| unreadable(range.unwrap_or("an Int32 lies between -2147483648 and 2147483647"))),
            EdmType::Int64 => parse_integer(text).map(Value::Int64).map_err(|range| {
                unreadable(range.unwrap_or("an Int64 lies between -9223372036854775808 and 9223372036854775807"))
            }),
            EdmType::String => Ok(Value::String(text.to_owned())),
        }
    }

    /// Checks the length of strings and binaries; `property` names the culprit in the message.
    ///
    /// # Errors
    /// A String or Binary over the service's limit.
    pub fn validate(&self, property: &str) -> Result<(), Rejected> {
        match self {
            Value::String(text) => validate_string(property, text),
            Value::Binary(bytes) => validate_binary(property, bytes),
            Value::DateTime(at) => at.validate(property),
            _ => Ok(()),
        }
    }
}

/// Two values are equal when they are the same version of the same thing: doubles by bits, so NaN
/// equals itself and 0.0 is not -0.0.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        ValueRef::from(self) == ValueRef::from(other)
    }
}

impl Eq for Value {}

/// The text that [`Value::from_text`] reads back as the same value, in the service's form.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Binary(bytes) => Base64Display::new(bytes, &BASE64).fmt(f),
            Value::Boolean(value) => value.fmt(f),
            Value::DateTime(at) => at.fmt(f),
            Value::Double(value) => write_double(f, *value),
            Value::Guid(guid) => guid.as_hyphenated().fmt(f),
            Value::Int32(value) => value.fmt(f),
            Value::Int64(value) => value.fmt(f),
            Value::String(text) => f.pad(text),
        }
    }
}

/// The shortest digits that read back as the same double: plain and with a point for decimal
/// exponents -4..=14, otherwise with an exponent of at least two digits, as .NET and so the service
/// write them (`3.0`, `1E+24`, `1.5E-07`).
fn write_double(f: &mut fmt::Formatter<'_>, value: f64) -> fmt::Result {
    if !value.is_finite() {
        return f.pad(if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        });
    }
    let plain = value.abs();
    if plain == 0.0 || (1e-4..1e15).contains(&plain) {
        // `Debug` writes these without exponent and always with a point.
        return write!(f, "{value:?}");
    }
    let scientific = format!("{value:E}");
    match scientific.split_once("E-") {
        Some((digits, exponent)) => write!(f, "{digits}E-{exponent:0>2}"),
        None => f.write_str(&scientific.replace('E', "E+")),
    }
}

fn parse_double(text: &str) -> Result<f64, &'static str> {
    match text {
        "NaN" => return Ok(f64::NAN),
        "Infinity" => return Ok(f64::INFINITY),
        "-Infinity" => return Ok(f64::NEG_INFINITY),
        _ => {}
    }
    let numeric = |b: u8| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E');
    match text.parse::<f64>() {
        Ok(value) if !text.bytes().all(numeric) || value.is_nan() => Err(DOUBLE_FORM),
        Ok(value) if value.is_infinite() => {
            Err("a Double lies between -1.7976931348623157E+308 and 1.7976931348623157E+308")
        }
        Ok(value) => Ok(value),
        Err(_) => Err(DOUBLE_FORM),
    }
}

const DOUBLE_FORM: &str = "a Double is written as 1.5, 1E+24, NaN, Infinity or -Infinity";

fn parse_guid(text: &str) -> Result<uuid::Uuid, &'static str> {
    // Only the hyphenated form has this length, of those that `try_parse` reads.
    let form = "a Guid is written as 8-4-4-4-12 hexadecimal digits";
    if text.len() == 36 { uuid::Uuid::try_parse(text).map_err(|_| form) } else { Err(form) }
}

/// `None` in the error means that the number is well-formed and does not fit.
fn parse_integer<T: FromStr<Err = std::num::ParseIntError>>(text: &str) -> Result<T, Option<&'static str>> {
    text.parse().map_err(|error: std::num::ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => None,
        _ => Some("an integer is written in decimal digits"),
    })
}

macro_rules! value_from {
    ($($from:ty => $variant:ident),+ $(,)?) => {$(
        impl From<$from> for Value {
            fn from(value: $from) -> Self {
                Value::$variant(value.into())
            }
        }
    )+};
}

value_from! {
    Vec<u8> => Binary,
    bool => Boolean,
    DateTime => DateTime,
    f64 => Double,
    uuid::Uuid => Guid,
    i32 => Int32,
    i64 => Int64,
    &str => String,
    String => String,
}

/// Refuses a String value of more than 32 Ki UTF-16 units.
pub(crate) fn validate_string(property: &str, text: &str) -> Result<(), Rejected> {
    // UTF-8 never has fewer bytes than UTF-16 has units, so short texts need no count.
    if text.len() <= STRING_UTF16_UNITS_MAX {
        return Ok(());
    }
    let units = text.encode_utf16().count();
    if units <= STRING_UTF16_UNITS_MAX {
        return Ok(());
    }
    let limit = format!("a String holds at most {STRING_UTF16_UNITS_MAX} UTF-16 units, this has {units}");
    Err(Rejected::new(format!("property {property}"), text, Rule::StringLength, limit))
}

/// Refuses a Binary value of more than 64 KiB.
pub(crate) fn validate_binary(property: &str, bytes: &[u8]) -> Result<(), Rejected> {
    if bytes.len() <= BINARY_BYTES_MAX {
        return Ok(());
    }
    let limit = format!("a Binary holds at most {BINARY_BYTES_MAX} bytes, this has {}", bytes.len());
    Err(Rejected::new(format!("property {property}"), "(binary)", Rule::BinaryLength, limit))
}

#[cfg(test)]
mod tests;
