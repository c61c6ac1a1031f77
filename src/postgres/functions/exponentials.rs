//! exp, ln, log and power: of doubles as the machine has them, of numerics with all their digits.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Decimal128Array, Float64Array};
use arrow::datatypes::{DataType, i256};
use datafusion::common::Result;

use super::cast::cast_array;
use super::decimal::{Decimal, decimals, too_large, too_small, within_digits};
use super::error::{SqlState, division_by_zero, fail};
use super::fixed_point::{Beyond, Fixed};
use super::kind::NUMERIC_DIGITS_MAX;
use super::math::{is_exact, returns_float};
use super::scalar::{Arguments, Call, Function, immutable};
use super::significant_digits::{self, rounded};

pub(super) static FUNCTIONS: [Function; 6] = [
    immutable("power", 2..=2, returns_float, run_power),
    immutable("pow", 2..=2, returns_float, run_power),
    immutable("exp", 1..=1, returns_float, run_exp),
    immutable("ln", 1..=1, returns_float, run_ln),
    immutable("log", 1..=2, returns_log, run_log),
    immutable("log10", 1..=1, returns_float, run_log),
];

/// With a base it is one of numerics, as PostgreSQL finds it for integers.
fn returns_log(arguments: &Arguments) -> Result<DataType> {
    let found = returns_float(arguments)?;
    let exact = (0..arguments.types.len()).all(|place| is_exact(arguments.kind(place)));
    if arguments.types.len() == 2 && exact { Ok(DataType::Decimal128(NUMERIC_DIGITS_MAX, 16)) } else { Ok(found) }
}

fn run_exp(call: &Call) -> Result<ArrayRef> {
    numbers(call, exponential, |value, scale| match Fixed::of_decimal(value) {
        Some(exponent) => rounded(scale, significant_digits::of_exponential(value), |scale| {
            of_exponential(exponent.exponential(scale))
        }),
        None if value.value() > 0 => Err(too_large()),
        None => Err(too_small()),
    })
}

fn run_ln(call: &Call) -> Result<ArrayRef> {
    numbers(
        call,
        |value| Ok(above_zero(value)?.ln()),
        |value, scale| {
            let found = logarithm(value)?;
            rounded(scale, significant_digits::of_logarithm(value), |scale| {
                of_logarithm(Some(found), scale, is_one(value))
            })
        },
    )
}

/// To base 10, or to the base that comes first.
fn run_log(call: &Call) -> Result<ArrayRef> {
    if call.len() == 1 {
        let ten = Decimal::new(10, 0);
        let of_ten = Fixed::logarithm(ten);
        return numbers(
            call,
            |value| Ok(above_zero(value)?.log10()),
            |value, scale| {
                let found = logarithm(value)?.divide(of_ten);
                rounded(scale, significant_digits::of_logarithm_to(ten, value), |scale| {
                    of_logarithm(found, scale, is_one(value))
                })
            },
        );
    }
    pairs(
        call,
        // There is none for doubles.
        |_, _| call.undefined(),
        |base, value, scale| {
            let (of_base, of_value) = (logarithm(base)?, logarithm(value)?);
            if is_one(base) {
                return Err(division_by_zero());
            }
            let found = of_value.divide(of_base);
            rounded(scale, significant_digits::of_logarithm_to(base, value), |scale| {
                of_logarithm(found, scale, is_one(value))
            })
        },
    )
}

fn run_power(call: &Call) -> Result<ArrayRef> {
    pairs(call, power_of_doubles, |base, exponent, scale| {
        rounded(scale, significant_digits::of_power(base, exponent), |scale| power_of_decimals(base, exponent, scale))
    })
}

/// A function of one number, of doubles or of decimals as the result is; a decimal is given the
/// scale of the result.
fn numbers(
    call: &Call,
    of_double: impl Fn(f64) -> Result<f64>,
    of_decimal: impl Fn(Decimal, u32) -> Result<i128>,
) -> Result<ArrayRef> {
    if let DataType::Decimal128(precision, scale) = *call.returns {
        let values = decimals(call, 0)?;
        let built: Decimal128Array = call.each([values.nulls()], |row| {
            of_decimal(Decimal::new(values.value(row), values.scale()), u32::from(scale.unsigned_abs()))
        })?;
        return Ok(Arc::new(built.with_precision_and_scale(precision, scale)?));
    }
    let values = call.float8(0)?;
    let built: Float64Array = call.each([values.nulls()], |row| of_double(values.value(row)))?;
    cast_array(&(Arc::new(built) as ArrayRef), call.returns, &call.zone)
}

/// The same of two.
fn pairs(
    call: &Call,
    of_doubles: impl Fn(f64, f64) -> Result<f64>,
    of_decimals: impl Fn(Decimal, Decimal, u32) -> Result<i128>,
) -> Result<ArrayRef> {
    if let DataType::Decimal128(precision, scale) = *call.returns {
        let (left, right) = (decimals(call, 0)?, decimals(call, 1)?);
        let built: Decimal128Array = call.each([left.nulls(), right.nulls()], |row| {
            let left = Decimal::new(left.value(row), left.scale());
            of_decimals(left, Decimal::new(right.value(row), right.scale()), u32::from(scale.unsigned_abs()))
        })?;
        return Ok(Arc::new(built.with_precision_and_scale(precision, scale)?));
    }
    let (left, right) = (call.float8(0)?, call.float8(1)?);
    let built: Float64Array =
        call.each([left.nulls(), right.nulls()], |row| of_doubles(left.value(row), right.value(row)))?;
    cast_array(&(Arc::new(built) as ArrayRef), call.returns, &call.zone)
}

fn exponential(value: f64) -> Result<f64> {
    let power = value.exp();
    if power.is_infinite() && value.is_finite() {
        return fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow");
    }
    if power == 0.0 && value.is_finite() {
        return fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow");
    }
    Ok(power)
}

fn above_zero(value: f64) -> Result<f64> {
    if value == 0.0 {
        return fail(SqlState::INVALID_ARGUMENT_FOR_LOGARITHM, "cannot take logarithm of zero");
    }
    if value < 0.0 {
        return fail(SqlState::INVALID_ARGUMENT_FOR_LOGARITHM, "cannot take logarithm of a negative number");
    }
    Ok(value)
}

fn logarithm(value: Decimal) -> Result<Fixed> {
    above_zero(value.value().signum() as f64)?;
    Ok(Fixed::logarithm(value))
}

fn is_one(value: Decimal) -> bool {
    value.is_whole() && value.to_f64() == 1.0
}

/// The digits of a logarithm; only that of one is zero.
fn of_logarithm(value: Option<Fixed>, scale: u32, is_zero: bool) -> Result<i128> {
    match value.and_then(|value| value.to_decimal(scale)) {
        Some(0) if !is_zero => Err(too_small()),
        Some(digits) => within_digits(i256::from_i128(digits)),
        None => Err(too_large()),
    }
}

fn of_exponential(found: std::result::Result<u128, Beyond>) -> Result<i128> {
    match found {
        Ok(digits) => within_digits(i256::from_parts(digits, 0)),
        Err(Beyond::TooLarge) => Err(too_large()),
        Err(Beyond::TooSmall) => Err(too_small()),
    }
}

/// PostgreSQL's rules of what has no power (numeric_power, dpow).
fn has_power(base_sign: i128, exponent_sign: i128, is_whole: bool) -> Result<()> {
    if base_sign == 0 && exponent_sign < 0 {
        return fail(SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION, "zero raised to a negative power is undefined");
    }
    if base_sign < 0 && !is_whole {
        let message = "a negative number raised to a non-integer power yields a complex result";
        return fail(SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION, message);
    }
    Ok(())
}

fn power_of_doubles(base: f64, exponent: f64) -> Result<f64> {
    if base.is_nan() || exponent.is_nan() {
        return Ok(base.powf(exponent));
    }
    let sign = |value: f64| i128::from(value > 0.0) - i128::from(value < 0.0);
    has_power(sign(base), sign(exponent), exponent.floor() == exponent)?;
    let power = base.powf(exponent);
    if power.is_infinite() && base.is_finite() && exponent.is_finite() {
        return fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow");
    }
    if power == 0.0 && base != 0.0 && base.is_finite() && exponent.is_finite() {
        return fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow");
    }
    Ok(power)
}

/// Of whole exponents it is a product, or one divided by it, as long as that has few digits.
fn power_of_decimals(base: Decimal, exponent: Decimal, scale: u32) -> Result<i128> {
    has_power(base.value().signum(), exponent.value().signum(), exponent.is_whole())?;
    let places = i8::try_from(scale).unwrap_or(i8::MAX);
    let mut is_negative = false;
    if exponent.is_whole() {
        let whole = exponent.round(0)?.value();
        let product = |times: u32, scale: i8| base.power(times, scale);
        if let Some(power) = u32::try_from(whole).ok().and_then(|times| product(times, places)) {
            return Ok(power?.value());
        }
        // Of a negative one with all its digits, before it divides.
        let times = u32::try_from(-whole).ok();
        let all_places =
            times.and_then(|times| i8::try_from(times.checked_mul(base.scale().unsigned_abs().into())?).ok());
        if let Some(Ok(power)) = times.zip(all_places).and_then(|(times, scale)| product(times, scale)) {
            return Ok(Decimal::new(1, 0).divide(power, places)?.value());
        }
        is_negative = base.value() < 0 && whole % 2 != 0;
    }
    if base.value() == 0 {
        return Ok(0);
    }
    let magnitude = Decimal::new(base.value().abs(), base.scale());
    let logarithm = Fixed::logarithm(magnitude);
    let Some(product) = Fixed::of_decimal(exponent).and_then(|exponent| exponent.multiply(logarithm)) else {
        let grows = (magnitude.to_f64() > 1.0) == (exponent.value() > 0);
        return Err(if grows { too_large() } else { too_small() });
    };
    let power = of_exponential(product.exponential(scale))?;
    Ok(if is_negative { -power } else { power })
}
