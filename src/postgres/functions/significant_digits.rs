//! Digits behind the point of roots, exponentials, logarithms and powers.
//!
//! PostgreSQL chooses them for each value (numeric.c: sixteen significant ones by an estimate of
//! the result). A column has one scale here: a result that has fewer digits is rounded to them all
//! the same, so that it is the same number.

use arrow::datatypes::i256;
use datafusion::common::Result;

use super::decimal::{Decimal, pow10, within_digits};

/// Significant digits that a result has at least (NUMERIC_MIN_SIG_DIGITS).
const SIGNIFICANT_DIGITS_MIN: i32 = 16;
/// Decimal digits of one of PostgreSQL's digits (DEC_DIGITS).
const DIGITS_OF_WEIGHT: i32 = 4;

/// A result of `scale` digits behind the point, rounded to `digits` of them with zeros behind;
/// `of` computes it with as many as it is given.
pub(super) fn rounded(scale: u32, digits: i32, of: impl FnOnce(u32) -> Result<i128>) -> Result<i128> {
    let kept = digits.max(0).unsigned_abs().min(scale);
    within_digits(i256::from_i128(of(kept)?).wrapping_mul(pow10(scale - kept)))
}

pub(super) fn of_root(value: Decimal) -> i32 {
    let (weight, _) = value.weight_and_first();
    (SIGNIFICANT_DIGITS_MIN - ((weight + 1) * DIGITS_OF_WEIGHT / 2 - 1)).max(i32::from(value.scale()))
}

pub(super) fn of_exponential(exponent: Decimal) -> i32 {
    by_estimate(exponent.to_f64()).max(i32::from(exponent.scale()))
}

pub(super) fn of_logarithm(value: Decimal) -> i32 {
    (SIGNIFICANT_DIGITS_MIN - weight_of_logarithm(value)).max(i32::from(value.scale()))
}

/// Of the logarithm to a base.
pub(super) fn of_logarithm_to(base: Decimal, value: Decimal) -> i32 {
    let weight = weight_of_logarithm(value) - weight_of_logarithm(base);
    (SIGNIFICANT_DIGITS_MIN - weight).max(i32::from(base.scale().max(value.scale())))
}

pub(super) fn of_power(base: Decimal, exponent: Decimal) -> i32 {
    let least = i32::from(base.scale());
    if base.value() <= 0 || exponent.is_whole() {
        return SIGNIFICANT_DIGITS_MIN.max(least);
    }
    by_estimate(base.to_f64().ln() * exponent.to_f64()).max(least).max(i32::from(exponent.scale()))
}

/// Of e to such an exponent.
fn by_estimate(exponent: f64) -> i32 {
    SIGNIFICANT_DIGITS_MIN - (exponent * std::f64::consts::LOG10_E) as i32
}

/// The decimal place of the first digit of the natural logarithm (estimate_ln_dweight).
fn weight_of_logarithm(value: Decimal) -> i32 {
    let number = value.to_f64();
    if (0.9..=1.1).contains(&number) {
        // ln(1 + x) is about x.
        let above = value.subtract(Decimal::new(1, 0), value.scale());
        return match above {
            Ok(above) if above.value() != 0 => {
                let (weight, first) = above.weight_and_first();
                weight * DIGITS_OF_WEIGHT + first.unsigned_abs().ilog10() as i32
            }
            _ => 0,
        };
    }
    number.ln().abs().log10() as i32
}
