//! Booleans, integers, floats, numerics and oids.

use arrow::datatypes::i256;

use super::is_space;
use crate::types::postgres_type::oid;
use crate::types::{Error, PostgresType, SqlState, SqlValue};

/// Digits of the largest numeric that Arrow holds.
const MAX_NUMERIC_DIGITS: usize = 76;
/// Most digits before the point of a numeric of PostgreSQL.
const POSTGRES_WHOLE_DIGITS_MAX: i64 = 131_072;

/// Any prefix of true, false, yes, no that is not ambiguous; on, off, 1, 0.
pub(super) fn parse_bool(text: &str) -> Result<bool, Error> {
    let word = text.trim_matches(is_space).to_ascii_lowercase();
    let prefix_of = |whole: &str| !word.is_empty() && whole.starts_with(&word);
    if prefix_of("true") || prefix_of("yes") || word == "on" || word == "1" {
        Ok(true)
    } else if prefix_of("false") || prefix_of("no") || word == "of" || word == "off" || word == "0" {
        Ok(false)
    } else {
        Err(Error::invalid_text("boolean", text))
    }
}

/// Decimal digits with an optional sign, between blanks.
pub(super) fn parse_integer<I: TryFrom<i64>>(ty: &PostgresType, text: &str) -> Result<I, Error> {
    let trimmed = text.trim_matches(is_space);
    let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::invalid_text(ty.sql_name, text));
    }
    let wide: Option<i64> = trimmed.parse().ok();
    wide.and_then(|wide| I::try_from(wide).ok()).ok_or_else(|| Error::value_out_of_range(ty.sql_name, text))
}

/// As C's strtoul reads it: negative numbers wrap around.
pub(super) fn parse_oid(ty: &PostgresType, text: &str) -> Result<u32, Error> {
    // Types of names (regclass, ...) take numbers here, and a dash for none.
    if ty.oid != oid::OID && text == "-" {
        return Ok(0);
    }
    let wide: i64 = parse_integer(ty, text)?;
    let wrapped = u32::try_from(wide).ok().or_else(|| i32::try_from(wide).ok().map(i32::cast_unsigned));
    wrapped.ok_or_else(|| Error::value_out_of_range(ty.sql_name, text))
}

pub(super) fn parse_float8(text: &str) -> Result<f64, Error> {
    let name = "double precision";
    let word = float_word(name, text)?;
    let value: f64 = word.parse().map_err(|_| Error::invalid_text(name, text))?;
    if is_beyond(value, word) { Err(float_out_of_range(name, text)) } else { Ok(value) }
}

pub(super) fn parse_float4(text: &str) -> Result<f32, Error> {
    let name = "real";
    let word = float_word(name, text)?;
    let value: f32 = word.parse().map_err(|_| Error::invalid_text(name, text))?;
    if is_beyond(value.into(), word) { Err(float_out_of_range(name, text)) } else { Ok(value) }
}

/// Rust reads the same words as PostgreSQL, `inf`, `infinity`, `nan` in any case, with a sign.
fn float_word<'a>(name: &str, text: &'a str) -> Result<&'a str, Error> {
    let word = text.trim_matches(is_space);
    if word.is_empty() { Err(Error::invalid_text(name, text)) } else { Ok(word) }
}

/// Whether a number was too large or too small and became infinite or zero.
fn is_beyond(value: f64, word: &str) -> bool {
    let mantissa = word.split(['e', 'E']).next().unwrap_or_default();
    (value.is_infinite() && word.contains(|c: char| c.is_ascii_digit()))
        || (value == 0.0 && mantissa.contains(|c: char| matches!(c, '1'..='9')))
}

fn float_out_of_range(name: &str, text: &str) -> Error {
    let word = text.trim_matches(is_space);
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("\"{word}\" is out of range for type {name}"))
}

/// Digits with an optional sign, point and exponent. The scale is that of the text, never negative.
pub(super) fn parse_numeric(text: &str) -> Result<SqlValue, Error> {
    let invalid = || Error::invalid_text("numeric", text);
    let overflow = |message: String| Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message);
    let long = || overflow(format!("numeric \"{text}\" has more than {MAX_NUMERIC_DIGITS} digits"));
    let word = text.trim_matches(is_space);
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    if ["nan", "inf", "infinity"].iter().any(|special| unsigned.eq_ignore_ascii_case(special)) {
        return Err(Error::unsupported(format!("numeric value \"{text}\" is not supported")));
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent_of(exponent).ok_or_else(invalid)?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !is_digits(whole) || !is_digits(fraction) {
        return Err(invalid());
    }
    let joined = format!("{whole}{fraction}");
    let digits = joined.trim_start_matches('0');
    let fraction_digits = i64::try_from(fraction.len()).map_err(|_| long())?;
    let mut scale = fraction_digits.saturating_sub(exponent);
    if !digits.is_empty() && exponent > POSTGRES_WHOLE_DIGITS_MAX {
        return Err(overflow("value overflows numeric format".into()));
    }
    let mut unscaled = digits.to_owned();
    if scale < 0 {
        if !digits.is_empty() {
            let zeros = usize::try_from(-scale).ok().filter(|zeros| *zeros <= MAX_NUMERIC_DIGITS);
            unscaled.extend(std::iter::repeat_n('0', zeros.ok_or_else(long)?));
        }
        scale = 0;
    }
    let scale = i8::try_from(scale).ok().filter(|scale| usize::from(scale.unsigned_abs()) <= MAX_NUMERIC_DIGITS);
    if unscaled.len() > MAX_NUMERIC_DIGITS {
        return Err(long());
    }
    if unscaled.is_empty() {
        unscaled.push('0');
    }
    if word.starts_with('-') {
        unscaled.insert(0, '-');
    }
    let unscaled = i256::from_string(&unscaled).ok_or_else(long)?;
    Ok(SqlValue::Numeric { unscaled, scale: scale.ok_or_else(long)? })
}

fn exponent_of(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // More digits than these overflow in any case.
    let size: i64 = digits.parse().unwrap_or(i64::from(u32::MAX));
    Some(if text.starts_with('-') { -size } else { size })
}
