//! Giving a value the type that its user asks for, from whatever form a tool left it in.

use std::borrow::Cow;

use rowkey_model::{BINARY_BYTES_MAX, DateTime, EdmType, Rejected, Rule, STRING_UTF16_UNITS_MAX, Value, ValueRef};

/// Integers up to which every one is a Double.
const EXACT_DOUBLE_MAX: f64 = 9_007_199_254_740_992.0;

/// Reads a value from text that need not have the service's form: as spreadsheets, Python and
/// pandas write it, with blanks around it. `42.0` is an Int32 as well.
pub(super) fn from_text(edm_type: EdmType, text: &str) -> Result<Value, Rejected> {
    if edm_type == EdmType::String {
        return Ok(Value::String(text.to_owned()));
    }
    let trimmed = text.trim();
    let unreadable = |limit: &str| Rejected::new(edm_type.name(), text, Rule::Unreadable, limit);
    match edm_type {
        EdmType::Boolean => match trimmed {
            _ if trimmed.eq_ignore_ascii_case("true") || trimmed == "1" => Ok(Value::Boolean(true)),
            _ if trimmed.eq_ignore_ascii_case("false") || trimmed == "0" => Ok(Value::Boolean(false)),
            _ => Err(unreadable("a Boolean is written as true or false")),
        },
        EdmType::DateTime => date_time(trimmed).map(Value::DateTime),
        EdmType::Guid => Value::from_text(edm_type, trimmed.trim_start_matches('{').trim_end_matches('}')),
        EdmType::Binary => match python_bytes(trimmed) {
            Some(bytes) => Ok(Value::Binary(bytes)),
            None => Value::from_text(edm_type, trimmed),
        },
        EdmType::Double => match trimmed {
            "nan" => Ok(Value::Double(f64::NAN)),
            "inf" => Ok(Value::Double(f64::INFINITY)),
            "-inf" => Ok(Value::Double(f64::NEG_INFINITY)),
            _ => Value::from_text(edm_type, trimmed),
        },
        EdmType::Int32 | EdmType::Int64 => match Value::from_text(edm_type, trimmed) {
            Err(_) if trimmed.contains(['.', 'e', 'E']) => {
                let Ok(Value::Double(double)) = Value::from_text(EdmType::Double, trimmed) else {
                    return Err(unreadable("an integer is written in decimal digits"));
                };
                convert(ValueRef::Double(double), edm_type)
            }
            read => read,
        },
        EdmType::String => Ok(Value::String(text.to_owned())),
    }
}

/// The same for a type that the user names: it is to change nothing, so that an integer has to be
/// one that a Double holds. (One with a point or an exponent is rounded, as every reader of Doubles
/// does it.)
pub(super) fn wanted(edm_type: EdmType, text: &str) -> Result<Value, Rejected> {
    let read = from_text(edm_type, text)?;
    let Value::Double(double) = read else { return Ok(read) };
    let trimmed = text.trim();
    let digits = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
    let is_integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_integer && !is_digits_of(double, digits) {
        return Err(no_double(text, double));
    }
    Ok(read)
}

/// The Double that an integer is.
pub(super) fn exact_double(number: i64) -> Option<f64> {
    let double = number as f64;
    let is_small = number.unsigned_abs() <= EXACT_DOUBLE_MAX as u64;
    (is_small || is_digits_of(double, &number.unsigned_abs().to_string())).then_some(double)
}

/// True if decimal digits are those of a whole Double: exactly, or the least that tell it from all
/// others with zeros behind them, which is how JavaScript writes it (2^60 is 1152921504606847000).
fn is_digits_of(double: f64, digits: &str) -> bool {
    let digits = match digits.trim_start_matches('0') {
        "" => "0",
        significant => significant,
    };
    let double = double.abs();
    digits == format!("{double:.0}") || digits == double.to_string()
}

fn no_double(text: &str, nearest: f64) -> Rejected {
    let limit = match nearest.is_finite() {
        true => format!("this integer is no Double without loss; the nearest is {nearest:.0}"),
        false => "this integer is beyond the range of Double".to_owned(),
    };
    Rejected::new(EdmType::Double.name(), text, Rule::Unreadable, limit)
}

/// The value as one of another type, if it is one without loss.
pub(super) fn convert(value: ValueRef<'_>, wanted: EdmType) -> Result<Value, Rejected> {
    let from = value.edm_type();
    let refused = |limit: String| Rejected::new(wanted.name(), &value.to_value().to_string(), Rule::Unreadable, limit);
    let lossy = || refused(format!("this {from} is no {wanted} without loss"));
    match (value, wanted) {
        _ if from == wanted => Ok(value.to_value()),
        (ValueRef::String(text), edm_type) => self::wanted(edm_type, text),
        (_, EdmType::String) => Ok(Value::String(value.to_value().to_string())),
        (ValueRef::Int32(number), EdmType::Int64) => Ok(Value::Int64(i64::from(number))),
        (ValueRef::Int32(number), EdmType::Double) => Ok(Value::Double(f64::from(number))),
        (ValueRef::Int64(number), EdmType::Int32) => i32::try_from(number).map(Value::Int32).map_err(|_| lossy()),
        (ValueRef::Int64(number), EdmType::Double) => match exact_double(number) {
            Some(double) => Ok(Value::Double(double)),
            None => Err(no_double(&number.to_string(), number as f64)),
        },
        (ValueRef::Double(number), EdmType::Int32 | EdmType::Int64)
            if number.fract() == 0.0 && number.abs() <= EXACT_DOUBLE_MAX =>
        {
            convert(ValueRef::Int64(number as i64), wanted)
        }
        (ValueRef::Double(_), EdmType::Int32 | EdmType::Int64) => Err(lossy()),
        (ValueRef::Int32(0 | 1) | ValueRef::Int64(0 | 1), EdmType::Boolean) => {
            Ok(Value::Boolean(!matches!(value, ValueRef::Int32(0) | ValueRef::Int64(0))))
        }
        (ValueRef::Binary(bytes), EdmType::Guid) if bytes.len() == 16 => {
            uuid::Uuid::from_slice(bytes).map(Value::Guid).map_err(|_| lossy())
        }
        _ => Err(refused(format!("a value of type {from} is no {wanted}"))),
    }
}

/// Refuses a text of no named type that is over the limit of Strings, and tells of the type that it
/// can have if it is a Binary: more than two thirds of the longest one are too long as text.
pub(super) fn validate_untyped_text(property: &str, text: &str) -> Result<(), Rejected> {
    if text.len() <= STRING_UTF16_UNITS_MAX {
        return Ok(());
    }
    let Err(rejected) = Value::String(text.to_owned()).validate(property) else { return Ok(()) };
    match Value::from_text(EdmType::Binary, text) {
        Ok(Value::Binary(bytes)) if bytes.len() <= BINARY_BYTES_MAX => {
            let limit = format!(
                "{}; as base64 it is a Binary of {} bytes, which --types {property}=Edm.Binary makes of it",
                rejected.limit,
                bytes.len()
            );
            Err(Rejected { limit, ..rejected })
        }
        _ => Err(rejected),
    }
}

/// A time: with a blank before its zone as spreadsheets leave it, or a date alone.
pub(super) fn date_time(text: &str) -> Result<DateTime, Rejected> {
    let text = match text.strip_suffix(" Z") {
        Some(civil) => Cow::Owned(format!("{civil}Z")),
        None if text.len() == 10 => Cow::Owned(format!("{text}T00:00:00Z")),
        None => Cow::Borrowed(text),
    };
    DateTime::parse(&text)
}

/// What Python's `repr` makes of bytes: `b'\x00a'`, or with double quotes.
pub(super) fn python_bytes(text: &str) -> Option<Vec<u8>> {
    let written = text.strip_prefix('b')?;
    let quote = written.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    let inner = written.strip_prefix(quote)?.strip_suffix(quote)?;
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'\\' => bytes.push(match rest.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'x' => {
                    let digits = [rest.next()?, rest.next()?];
                    u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
                }
                escaped @ (b'\\' | b'\'' | b'"') => escaped,
                _ => return None,
            }),
            // Everything else is escaped.
            b' '..=b'~' if char::from(byte) != quote => bytes.push(byte),
            _ => return None,
        }
    }
    Some(bytes)
}

/// The type of a name, whatever its case and with or without `Edm.`.
pub(super) fn type_named(name: &str) -> Option<EdmType> {
    let name = name.strip_prefix("Edm.").unwrap_or(name);
    EdmType::ALL.into_iter().find(|edm_type| edm_type.name().eq_ignore_ascii_case(name))
}

/// What pandas writes of a value with a type of its own: `EntityProperty(value=5,
/// edm_type=<EdmType.INT64: 'Edm.Int64'>)`.
pub(super) fn entity_property(text: &str) -> Option<(EdmType, &str)> {
    let rest = text.strip_prefix("EntityProperty(value=")?.strip_suffix("'>)")?;
    let (value, edm_type) = rest.rsplit_once(", edm_type=<EdmType.")?;
    let (_, name) = edm_type.split_once(": '")?;
    let value = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')).unwrap_or(value);
    Some((EdmType::parse(name)?, value))
}

#[cfg(test)]
mod tests;
