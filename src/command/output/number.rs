//! Floating point numbers as PostgreSQL writes them.

use std::fmt::{Display, LowerExp};

/// Decimal exponents from which on numbers are written with an exponent.
const EXPONENT_MAX_FLOAT8: i32 = 15;
const EXPONENT_MAX_FLOAT4: i32 = 6;
const EXPONENT_MIN: i32 = -4;

/// The shortest text that reads back as the same number; `NaN`, `Infinity`, `-Infinity`.
pub(super) fn write_float8(value: f64, out: &mut String) {
    write_float(value.is_finite(), value.is_nan(), value < 0.0, EXPONENT_MAX_FLOAT8, &value, out);
}

/// The same for single precision.
pub(super) fn write_float4(value: f32, out: &mut String) {
    write_float(value.is_finite(), value.is_nan(), value < 0.0, EXPONENT_MAX_FLOAT4, &value, out);
}

fn write_float<T: Display + LowerExp>(
    finite: bool,
    nan: bool,
    negative: bool,
    exponent_max: i32,
    value: &T,
    out: &mut String,
) {
    if !finite {
        out.push_str(match (nan, negative) {
            (true, _) => "NaN",
            (false, true) => "-Infinity",
            (false, false) => "Infinity",
        });
        return;
    }
    let scientific = format!("{value:e}");
    match scientific.split_once('e').and_then(|(digits, exponent)| Some((digits, exponent.parse::<i32>().ok()?))) {
        Some((digits, exponent)) if !(EXPONENT_MIN..exponent_max).contains(&exponent) => {
            out.push_str(&format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs()));
        }
        _ => out.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn double_precision() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (-2.5, "-2.5"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
            (5e-324, "5e-324"),
            (0.1 + 0.2, "0.30000000000000004"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (value, expected) in cases {
            let mut text = String::new();
            write_float8(value, &mut text);
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn single_precision() {
        for (value, expected) in [(0.1_f32, "0.1"), (123456.0, "123456"), (1e6, "1e+06"), (f32::NAN, "NaN")] {
            let mut text = String::new();
            write_float4(value, &mut text);
            assert_eq!(text, expected);
        }
    }
}
