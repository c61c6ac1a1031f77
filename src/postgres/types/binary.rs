//! Binary forms of numerics and times.

use arrow::datatypes::i256;
use bytes::{BufMut, BytesMut};

use super::calendar::{POSTGRES_EPOCH_DAYS, POSTGRES_EPOCH_MICROS};
use super::{Error, SqlState};

pub(super) fn put_timestamp(micros: i64, out: &mut BytesMut) -> Result<(), Error> {
    let since_2000 = micros.checked_sub(POSTGRES_EPOCH_MICROS);
    out.put_i64(since_2000.ok_or_else(|| Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp out of range"))?);
    Ok(())
}

pub(super) fn put_date(days: i32, out: &mut BytesMut) -> Result<(), Error> {
    let since_2000 = days.checked_sub(POSTGRES_EPOCH_DAYS);
    out.put_i32(since_2000.ok_or_else(|| Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "date out of range"))?);
    Ok(())
}

pub(super) const NUMERIC_NEGATIVE: u16 = 0x4000;

/// Header (digits, weight, sign, scale), then digits of base 10000 without zeros at either end.
pub(super) fn put_numeric(unscaled: i256, scale: i8, out: &mut BytesMut) {
    let text = unscaled.to_string();
    put_digits(unscaled.is_negative(), text.trim_start_matches('-').as_bytes(), scale, out);
}

/// As [`put_numeric`].
pub(super) fn put_numeric_i128(unscaled: i128, scale: i8, out: &mut BytesMut) {
    let mut digits = [0; 40];
    let mut start = digits.len();
    let mut rest = unscaled.unsigned_abs();
    while rest > u128::from(u64::MAX) {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let mut rest = rest as u64;
    while rest != 0 {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    put_digits(unscaled < 0, &digits[start..], scale, out);
}

fn put_digits(negative: bool, digits: &[u8], scale: i8, out: &mut BytesMut) {
    // The digits around the point, filled up with zeros to whole groups of four on both sides. At
    // most 77 digits and 128 zeros.
    let mut text = [b'0'; 256];
    let fraction = usize::from(scale.max(0).unsigned_abs());
    let zeros = usize::from(scale.min(0).unsigned_abs());
    let whole = digits.len().saturating_sub(fraction) + zeros;
    let lead = whole.next_multiple_of(4) - whole;
    let start = lead + fraction.saturating_sub(digits.len());
    text[start..start + digits.len()].copy_from_slice(digits);
    let whole_groups = (lead + whole) / 4;
    let mut groups = &text[..4 * (whole_groups + fraction.div_ceil(4))];
    let mut weight = whole_groups as i16 - 1;
    while let Some(rest) = groups.strip_prefix(b"0000") {
        groups = rest;
        weight -= 1;
    }
    while let Some(rest) = groups.strip_suffix(b"0000") {
        groups = rest;
    }
    let zero = groups.is_empty();
    out.put_u16((groups.len() / 4) as u16);
    out.put_i16(if zero { 0 } else { weight });
    out.put_u16(if negative && !zero { NUMERIC_NEGATIVE } else { 0 });
    out.put_u16(fraction as u16);
    for group in groups.chunks_exact(4) {
        out.put_u16(group.iter().fold(0, |value, digit| value * 10 + u16::from(digit - b'0')));
    }
}
