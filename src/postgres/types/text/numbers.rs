//! Integers, floats and numerics.

use std::io::Write;

use arrow::datatypes::i256;
use bytes::BytesMut;

/// Decimal digits of a number, at least `width`.
pub(in crate::types) fn write_digits(mut value: u64, width: usize, out: &mut BytesMut) {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    while value != 0 {
        start -= 1;
        digits[start] = b'0' + (value % 10) as u8;
        value /= 10;
    }
    out.extend_from_slice(&digits[start.min(digits.len() - width)..]);
}

pub(in crate::types) fn write_integer(value: i64, out: &mut BytesMut) {
    if value < 0 {
        out.extend_from_slice(b"-");
    }
    write_digits(value.unsigned_abs(), 1, out);
}

/// `unscaled / 10^scale` with all digits of its scale.
pub(in crate::types) fn write_i128(unscaled: i128, scale: i8, out: &mut BytesMut) {
    // 39 digits of the largest size.
    let mut digits = [b'0'; 40];
    let mut start = digits.len();
    let mut size = unscaled.unsigned_abs();
    while let Some(high) = size.checked_div(10_u128.pow(18)).filter(|high| *high != 0) {
        let mut low = (size % 10_u128.pow(18)) as u64;
        for digit in digits[start - 18..start].iter_mut().rev() {
            *digit = b'0' + (low % 10) as u8;
            low /= 10;
        }
        start -= 18;
        size = high;
    }
    let mut low = size as u64;
    while low != 0 {
        start -= 1;
        digits[start] = b'0' + (low % 10) as u8;
        low /= 10;
    }
    place_point(unscaled < 0, &digits[start..], scale, out);
}

/// As [`write_i128`].
pub(in crate::types) fn write_i256(unscaled: i256, scale: i8, out: &mut BytesMut) {
    match unscaled.to_i128() {
        Some(small) => write_i128(small, scale, out),
        None => {
            let digits = unscaled.to_string();
            place_point(unscaled.is_negative(), digits.trim_start_matches('-').as_bytes(), scale, out);
        }
    }
}

/// `digits` have no leading zeros; none at all is zero.
fn place_point(negative: bool, digits: &[u8], scale: i8, out: &mut BytesMut) {
    if negative {
        out.extend_from_slice(b"-");
    }
    let fraction = usize::from(scale.max(0).unsigned_abs());
    if digits.len() > fraction {
        let (whole, rest) = digits.split_at(digits.len() - fraction);
        out.extend_from_slice(whole);
        if !rest.is_empty() {
            out.extend_from_slice(b".");
            out.extend_from_slice(rest);
        }
        out.extend(std::iter::repeat_n(b'0', usize::from(scale.min(0).unsigned_abs())));
    } else {
        out.extend_from_slice(b"0");
        if fraction > 0 {
            out.extend_from_slice(b".");
            out.extend(std::iter::repeat_n(b'0', fraction - digits.len()));
            out.extend_from_slice(digits);
        }
    }
}

pub(in crate::types) fn write_float8(value: f64, extra_float_digits: i32, out: &mut BytesMut) {
    if write_special(value, out) {
        return;
    }
    let mut decimal = Scientific::default();
    if extra_float_digits > 0 {
        decimal.set(format_args!("{value:e}"));
        let bits = value.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, exponent) = match (bits >> 52 & 0x7ff) as i32 {
            0 => (fraction, -1074),
            exponent => (fraction | 1 << 52, exponent - 1075),
        };
        decimal.refine(mantissa, exponent, 17, |decimal, digits| decimal.set(format_args!("{value:.digits$e}")));
        decimal.write(-4..15, out);
    } else {
        let digits = (15 + extra_float_digits).max(1);
        decimal.set(format_args!("{value:.*e}", digits as usize - 1));
        decimal.write(-4..digits, out);
    }
}

pub(in crate::types) fn write_float4(value: f32, extra_float_digits: i32, out: &mut BytesMut) {
    if write_special(value.into(), out) {
        return;
    }
    let mut decimal = Scientific::default();
    if extra_float_digits > 0 {
        decimal.set(format_args!("{value:e}"));
        let bits = value.to_bits();
        let fraction = u64::from(bits & ((1 << 23) - 1));
        let (mantissa, exponent) = match (bits >> 23 & 0xff) as i32 {
            0 => (fraction, -149),
            exponent => (fraction | 1 << 23, exponent - 150),
        };
        decimal.refine(mantissa, exponent, 9, |decimal, digits| decimal.set(format_args!("{value:.digits$e}")));
        decimal.write(-4..6, out);
    } else {
        let digits = (6 + extra_float_digits).max(1);
        decimal.set(format_args!("{value:.*e}", digits as usize - 1));
        decimal.write(-4..digits, out);
    }
}

fn write_special(value: f64, out: &mut BytesMut) -> bool {
    let text: &[u8] = match value {
        value if value.is_nan() => b"NaN",
        f64::INFINITY => b"Infinity",
        f64::NEG_INFINITY => b"-Infinity",
        0.0 if value.is_sign_negative() => b"-0",
        0.0 => b"0",
        _ => return false,
    };
    out.extend_from_slice(text);
    true
}

/// A float as Rust's `{:e}` writes it, `-1.25e-7`, on the stack.
#[derive(Default)]
struct Scientific {
    text: [u8; 32],
    len: usize,
}

impl Scientific {
    fn set(&mut self, value: std::fmt::Arguments<'_>) {
        let mut rest = &mut self.text[..];
        // At most 17 digits, a sign, a point and an exponent of five characters: this always fits.
        let written = rest.write_fmt(value);
        debug_assert!(written.is_ok());
        self.len = 32 - rest.len();
    }

    /// Makes the shortest text of `mantissa * 2^exponent` the one that PostgreSQL prints where
    /// there are two readings of shortest: of two equally near texts it takes the even one, and it
    /// takes none that lies half way to the neighbouring float, though that would read back.
    /// `round` sets the text with that many digits after the first.
    fn refine(&mut self, mantissa: u64, exponent: i32, max_digits: usize, round: impl Fn(&mut Self, usize)) {
        let fraction_bits = -(exponent + mantissa.trailing_zeros() as i32);
        // So many binary places make more than 18 digits: 5^26 > 10^18.
        if fraction_bits > 25 {
            return;
        }
        let (digits, count, last_exponent) = self.digits();
        if fraction_bits > 0 {
            // A number of so many binary places has as many decimal ones: one more than printed,
            // and the last is a five.
            if fraction_bits == 1 - last_exponent {
                round(self, count - 1);
            }
            return;
        }
        if exponent < 1 || !(0..=23).contains(&last_exponent) {
            return;
        }
        let (five, power) = (5_u128.pow(last_exponent as u32), exponent - 1 - last_exponent);
        let is_half_way = |odd: u64| {
            let odd = u128::from(odd);
            let scaled = if power >= 0 {
                u128::from(digits).checked_shr(power as u32).filter(|high| *high << power == u128::from(digits))
            } else {
                Some(u128::from(digits) << -power)
            };
            scaled.and_then(|scaled| scaled.checked_mul(five)) == Some(odd)
        };
        if is_half_way(2 * mantissa - 1) || is_half_way(2 * mantissa + 1) {
            for more in count..max_digits {
                round(self, more);
                let (new_digits, new_count, _) = self.digits();
                if u128::from(new_digits) != u128::from(digits) * 10_u128.pow((new_count - count) as u32) {
                    return;
                }
            }
        }
    }

    /// All digits as one number, how many they are, and the power of ten of the last.
    fn digits(&self) -> (u64, usize, i32) {
        let text = &self.text[..self.len];
        let end = text.iter().position(|byte| *byte == b'e').unwrap_or(text.len());
        let digits = text[..end].iter().filter(|byte| byte.is_ascii_digit());
        let (number, count) =
            digits.fold((0_u64, 0), |(sum, count), digit| (sum * 10 + u64::from(digit - b'0'), count + 1));
        (number, count, self.exponent() - count as i32 + 1)
    }

    fn exponent(&self) -> i32 {
        let text = &self.text[..self.len];
        let exponent = text.iter().position(|byte| *byte == b'e').map_or(&b"0"[..], |at| &text[at + 1..]);
        let size = exponent
            .iter()
            .filter(|byte| byte.is_ascii_digit())
            .fold(0, |sum, digit| sum * 10 + i32::from(digit - b'0'));
        if exponent.starts_with(b"-") { -size } else { size }
    }

    /// With an exponent of at least two digits unless that lies in `positional`.
    fn write(&self, positional: std::ops::Range<i32>, out: &mut BytesMut) {
        let mut text = &self.text[..self.len];
        if let Some(rest) = text.strip_prefix(b"-") {
            out.extend_from_slice(b"-");
            text = rest;
        }
        let exponent = self.exponent();
        let mantissa = &text[..text.iter().position(|byte| *byte == b'e').unwrap_or(text.len())];
        let first = &mantissa[..1];
        let mut rest = mantissa.get(2..).unwrap_or_default();
        while let Some(shorter) = rest.strip_suffix(b"0") {
            rest = shorter;
        }
        if !positional.contains(&exponent) {
            out.extend_from_slice(first);
            if !rest.is_empty() {
                out.extend_from_slice(b".");
                out.extend_from_slice(rest);
            }
            out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
            write_digits(exponent.unsigned_abs().into(), 2, out);
        } else if exponent < 0 {
            out.extend_from_slice(&b"0.000"[..1 + exponent.unsigned_abs() as usize]);
            out.extend_from_slice(first);
            out.extend_from_slice(rest);
        } else {
            let whole = exponent as usize;
            out.extend_from_slice(first);
            if rest.len() <= whole {
                out.extend_from_slice(rest);
                out.extend(std::iter::repeat_n(b'0', whole - rest.len()));
            } else {
                out.extend_from_slice(&rest[..whole]);
                out.extend_from_slice(b".");
                out.extend_from_slice(&rest[whole..]);
            }
        }
    }
}
