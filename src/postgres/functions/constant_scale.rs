//! Digits behind the point of roots, exponentials, logarithms and powers of constants, as
//! PostgreSQL chooses them for each value (numeric.c: sixteen significant digits by an estimate of
//! the result). Those of a column have one scale.

use super::decimal::Decimal;
use super::scalar::Arguments;

/// Significant digits that a result has at least (NUMERIC_MIN_SIG_DIGITS).
const SIGNIFICANT_DIGITS_MIN: i32 = 16;
/// Decimal digits of one of PostgreSQL's digits (DEC_DIGITS).
const DIGITS_OF_WEIGHT: i32 = 4;

/// `None`: an argument is no constant, or has no result.
pub(super) fn scale_of_constants(arguments: &Arguments) -> Option<i8> {
    let constants: Option<Vec<Decimal>> =
        arguments.constants.iter().map(|constant| constant.and_then(Decimal::of_scalar)).collect();
    let constants = constants?;
    let scale = match (arguments.function, constants.as_slice()) {
        ("sqrt", [value]) => of_root(*value),
        ("exp", [value]) => of_exponential(value.to_f64()),
        ("ln", [value]) => SIGNIFICANT_DIGITS_MIN - weight_of_logarithm(*value)?,
        ("log" | "log10", [value]) => of_logarithm(Decimal::new(10, 0), *value)?,
        ("log", [base, value]) => of_logarithm(*base, *value)?,
        ("power" | "pow", [base, exponent]) => of_power(*base, *exponent)?,
        _ => return None,
    };
    let least = constants.iter().map(|constant| i32::from(constant.scale())).max()?;
    i8::try_from(scale.max(least).max(0)).ok()
}

fn of_root(value: Decimal) -> i32 {
    let (weight, _) = value.weight_and_first();
    SIGNIFICANT_DIGITS_MIN - ((weight + 1) * DIGITS_OF_WEIGHT / 2 - 1)
}

fn of_exponential(exponent: f64) -> i32 {
    SIGNIFICANT_DIGITS_MIN - (exponent * std::f64::consts::LOG10_E) as i32
}

fn of_logarithm(base: Decimal, value: Decimal) -> Option<i32> {
    Some(SIGNIFICANT_DIGITS_MIN - (weight_of_logarithm(value)? - weight_of_logarithm(base)?))
}

/// Where the first digit of the natural logarithm is (estimate_ln_dweight).
fn weight_of_logarithm(value: Decimal) -> Option<i32> {
    if value.value() <= 0 {
        return None;
    }
    let number = value.to_f64();
    if (0.9..=1.1).contains(&number) {
        // ln(1 + x) is about x.
        let above = value.subtract(Decimal::new(1, 0), value.scale()).ok()?;
        if above.value() == 0 {
            return Some(0);
        }
        let (weight, first) = above.weight_and_first();
        return Some(weight * DIGITS_OF_WEIGHT + first.unsigned_abs().ilog10() as i32);
    }
    Some(number.ln().abs().log10() as i32)
}

fn of_power(base: Decimal, exponent: Decimal) -> Option<i32> {
    if base.value() == 0 || exponent.is_whole() {
        return Some(SIGNIFICANT_DIGITS_MIN);
    }
    (base.value() > 0).then(|| of_exponential(base.to_f64().ln() * exponent.to_f64()))
}
