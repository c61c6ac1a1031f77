//! Numbers as a `numeric` shows them.

use std::borrow::Cow;

use super::{Result, too_large};
use crate::types::{Error, SqlState};

/// Digits before the point.
const WHOLE_DIGITS_MAX: i64 = 131_072;
/// Digits behind the point.
const SCALE_MAX: i64 = 16_383;

/// A number of JSON without its exponent, with the digits behind the point that it says. `spare` is
/// what exponents may still make longer, in bytes.
pub(super) fn plain<'a>(number: &'a str, spare: &mut usize) -> Result<Cow<'a, str>> {
    let (negative, digits) = match number.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, number),
    };
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (digits, None),
    };
    let exponent: i64 = match exponent {
        // Longer ones are beyond all limits.
        Some(exponent) => exponent.parse::<i32>().map_err(|_| overflow())?.into(),
        None => 0,
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let written = number.get(..usize::from(negative) + mantissa.len()).unwrap_or(number);
    let is_zero = mantissa.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
    // Most numbers: within all limits as they are written.
    if exponent == 0 && !(negative && is_zero) && length(fraction) <= SCALE_MAX && length(whole) <= WHOLE_DIGITS_MAX {
        return Ok(Cow::Borrowed(written));
    }
    let scale = length(fraction).saturating_sub(exponent).max(0);
    // Where the point is, counted from the first digit that is not zero.
    let all: String;
    let (significant, point) = {
        all = [whole, fraction].concat();
        let significant = all.trim_start_matches('0');
        let zeros = length(&all) - length(significant);
        (significant, length(whole) - zeros + exponent)
    };
    if scale > SCALE_MAX || (!is_zero && point > WHOLE_DIGITS_MAX) {
        return Err(overflow());
    }
    if exponent == 0 && !(negative && is_zero) {
        return Ok(Cow::Borrowed(written));
    }
    let size = usize::try_from(point.max(1) + scale).unwrap_or(usize::MAX);
    if !is_zero && size > number.len() {
        *spare = spare.checked_sub(size).ok_or_else(|| too_large("numbers of JSON are too long"))?;
    }
    let mut out = String::new();
    if negative && !is_zero {
        out.push('-');
    }
    let zeros = |count: i64| std::iter::repeat_n('0', usize::try_from(count).unwrap_or(0));
    let count = usize::try_from(point).unwrap_or(0);
    if is_zero || point <= 0 {
        out.push('0');
    } else if count >= significant.len() {
        out.push_str(significant);
        out.extend(zeros(point - length(significant)));
    } else {
        out.push_str(&significant[..count]);
    }
    if scale > 0 {
        out.push('.');
        let behind = if is_zero { "" } else { significant.get(count..).unwrap_or_default() };
        let leading = if is_zero { scale } else { (-point).max(0) };
        out.extend(zeros(leading));
        out.push_str(behind);
        out.extend(zeros(scale - leading - length(behind)));
    }
    Ok(Cow::Owned(out))
}

fn overflow() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format")
}

/// A number without exponent: its sign, the digits before the point without leading zeros, and
/// those behind it without trailing ones.
pub(super) fn canonical(number: &str) -> (bool, &str, &str) {
    let (negative, digits) = match number.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, number),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    (negative, whole.trim_start_matches('0'), fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_numerics_are() {
        let plain = |number| plain(number, &mut 1_000_000).map(Cow::into_owned);
        for (number, shown) in [
            ("-0", "0"),
            ("-0.00", "0.00"),
            ("1.0", "1.0"),
            ("1e5", "100000"),
            ("1.50e1", "15.0"),
            ("1e-2", "0.01"),
            ("-12e-1", "-1.2"),
            ("100e-2", "1.00"),
            ("0e5", "0"),
            ("0.0e1", "0"),
            ("0.00123e2", "0.123"),
            ("123.456e-5", "0.00123456"),
            ("0e-3", "0.000"),
            ("12.5e+1", "125"),
        ] {
            assert_eq!(plain(number).as_deref(), Ok(shown), "{number}");
        }
        for number in ["1e131072", "1e-16384", "0e-16384", "1e9999999999", "1e400000"] {
            assert!(plain(number).is_err(), "{number}");
        }
        assert_eq!(plain("1e131071").map(|text| text.len()), Ok(131_072));
        assert_eq!(plain("0e200000").as_deref(), Ok("0"));
    }

    #[test]
    fn what_exponents_make_is_limited() {
        let mut spare = 150_000;
        assert!(super::plain("1e100000", &mut spare).is_ok());
        assert!(super::plain("1e100000", &mut spare).is_err());
    }
}
