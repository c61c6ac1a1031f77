//! Functions of numbers, but for powers and logarithms.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Float64Array, Int64Array};
use arrow::datatypes::{DataType, Decimal128Type, i256};
use datafusion::common::{Result, ScalarValue};

use super::decimal::{Decimal, decimals, pow10};
use super::error::{SqlState, fail, out_of_range};
use super::kind::{Kind, NUMERIC_DIGITS_MAX, decimal_of};
use super::scalar::{Arguments, Call, Function, immutable};
use super::significant_digits;

pub(super) static FUNCTIONS: [Function; 14] = [
    immutable("round", 1..=2, returns_rounded, |call| rounded(call, f64::round_ties_even, Rounding::Nearest)),
    immutable("trunc", 1..=2, returns_rounded, |call| rounded(call, f64::trunc, Rounding::TowardsZero)),
    immutable("ceil", 1..=1, returns_rounded, |call| rounded(call, f64::ceil, Rounding::Up)),
    immutable("ceiling", 1..=1, returns_rounded, |call| rounded(call, f64::ceil, Rounding::Up)),
    immutable("floor", 1..=1, returns_rounded, |call| rounded(call, f64::floor, Rounding::Down)),
    immutable("abs", 1..=1, returns_same, run_abs),
    immutable("sign", 1..=1, returns_rounded, run_sign),
    immutable("mod", 2..=2, |arguments| operator(arguments, "%"), |call| run_operator(call, "%")),
    immutable("div", 2..=2, returns_div, run_div),
    immutable("sqrt", 1..=1, returns_root, run_sqrt),
    immutable("cbrt", 1..=1, returns_double, |call| doubles(call, |value| Ok(value.cbrt()))),
    immutable("asin", 1..=1, returns_double, |call| doubles(call, |value| Ok(within_one(value)?.asin()))),
    immutable("acos", 1..=1, returns_double, |call| doubles(call, |value| Ok(within_one(value)?.acos()))),
    immutable("width_bucket", 2..=4, returns_bucket, run_width_bucket),
];

#[derive(Clone, Copy)]
enum Rounding {
    Nearest,
    TowardsZero,
    Up,
    Down,
}

pub(super) fn is_exact(kind: Kind) -> bool {
    kind.is_integer() || kind == Kind::Numeric
}

/// Integers are rounded as doubles by one argument, as numerics by two, as PostgreSQL finds its
/// functions.
fn returns_rounded(arguments: &Arguments) -> Result<DataType> {
    let kind = arguments.kind(0);
    if !are_numbers(arguments) {
        return arguments.undefined();
    }
    if arguments.types.len() == 2 {
        // There is none for doubles. Averages are still doubles while a statement is planned, so
        // that the call itself is refused.
        if kind.is_float() {
            return Ok(DataType::Float64);
        }
        let (precision, scale) =
            arguments.types.first().and_then(|data_type| decimal_of(data_type)).unwrap_or((38, 16));
        let digits = match arguments.constants.get(1).copied().flatten().and_then(Decimal::of_scalar) {
            Some(digits) => i8::try_from(digits.value().clamp(0, i128::from(NUMERIC_DIGITS_MAX) - 1)).unwrap_or(0),
            None => scale,
        };
        let whole = i16::from(precision) - i16::from(scale) + 1;
        let precision = (whole + i16::from(digits)).clamp(1, i16::from(NUMERIC_DIGITS_MAX)) as u8;
        return Ok(DataType::Decimal128(precision.max(digits as u8), digits));
    }
    match kind {
        Kind::Numeric => {
            let (precision, scale) =
                arguments.types.first().and_then(|data_type| decimal_of(data_type)).unwrap_or((38, 0));
            let precision = (i16::from(precision) - i16::from(scale) + 1).clamp(1, i16::from(NUMERIC_DIGITS_MAX));
            Ok(DataType::Decimal128(precision as u8, 0))
        }
        _ => Ok(DataType::Float64),
    }
}

fn are_numbers(arguments: &Arguments) -> bool {
    (0..arguments.types.len()).all(|place| arguments.may_be(place, Kind::is_number))
}

fn returns_double(arguments: &Arguments) -> Result<DataType> {
    if are_numbers(arguments) { Ok(DataType::Float64) } else { arguments.undefined() }
}

fn returns_same(arguments: &Arguments) -> Result<DataType> {
    match arguments.kind(0) {
        kind if kind.is_number() => {
            Ok(arguments.types.first().map_or(DataType::Null, |data_type| (*data_type).clone()))
        }
        _ => returns_double(arguments),
    }
}

pub(super) fn returns_float(arguments: &Arguments) -> Result<DataType> {
    if !are_numbers(arguments) {
        return arguments.undefined();
    }
    // A numeric among them makes the result one.
    let exact = (0..arguments.types.len()).any(|place| arguments.kind(place) == Kind::Numeric)
        && !(0..arguments.types.len()).any(|place| arguments.kind(place).is_float());
    Ok(if exact { DataType::Decimal128(NUMERIC_DIGITS_MAX, 16) } else { DataType::Float64 })
}

/// The root of a constant has the digits behind the point that PostgreSQL gives it.
fn returns_root(arguments: &Arguments) -> Result<DataType> {
    let returns = returns_float(arguments)?;
    match (&returns, arguments.constants.first()) {
        (DataType::Decimal128(precision, _), Some(Some(ScalarValue::Decimal128(Some(value @ 1..), _, scale)))) => {
            let digits = significant_digits::of_root(Decimal::new(*value, *scale));
            Ok(DataType::Decimal128(*precision, i8::try_from(digits).unwrap_or(*scale)))
        }
        _ => Ok(returns),
    }
}

fn returns_bucket(arguments: &Arguments) -> Result<DataType> {
    match arguments.types.len() {
        3 => arguments.undefined(),
        // A literal in quotes becomes an array of the value's type.
        2 if !matches!(arguments.kind(1), Kind::Array | Kind::Text | Kind::Null) => arguments.undefined(),
        _ => Ok(DataType::Int32),
    }
}

fn rounded(call: &Call, float: fn(f64) -> f64, rounding: Rounding) -> Result<ArrayRef> {
    if let DataType::Float64 = call.returns {
        if call.len() == 2 {
            return call.undefined();
        }
        let values = call.float8(0)?;
        let rounded: Float64Array = values.iter().map(|value| value.map(float)).collect();
        return Ok(Arc::new(rounded));
    }
    let DataType::Decimal128(precision, scale) = *call.returns else { return call.done(Arc::clone(call.arg(0)?)) };
    let values = decimals(call, 0)?;
    let digits = if call.len() == 2 { call.int8(1)? } else { Int64Array::from(vec![0; call.rows]) };
    let built: Decimal128Array = call.each([values.nulls(), digits.nulls()], |row| {
        let places = digits.value(row).clamp(-38, i64::from(scale)) as i8;
        round_at(values.value(row), values.scale(), places, rounding)?.unscaled(precision, scale)
    })?;
    Ok(Arc::new(built.with_precision_and_scale(precision, scale)?))
}

/// At `places` digits behind the point, or before it if negative.
fn round_at(value: i128, scale: i8, places: i8, rounding: Rounding) -> Result<Decimal> {
    if places >= scale {
        return Ok(Decimal::new(value, scale));
    }
    let drop = u32::try_from(i32::from(scale) - i32::from(places)).unwrap_or(0);
    let Some(unit) = 10_i128.checked_pow(drop) else { return Ok(Decimal::new(0, 0)) };
    let floor = value.div_euclid(unit);
    let rest = value.rem_euclid(unit);
    let kept = match rounding {
        Rounding::Down => floor,
        Rounding::Up => floor + i128::from(rest > 0),
        Rounding::TowardsZero => value / unit,
        // Half away from zero.
        Rounding::Nearest if value < 0 => floor + i128::from(rest > unit - rest),
        Rounding::Nearest => floor + i128::from(rest >= unit - rest),
    };
    if places >= 0 {
        return Ok(Decimal::new(kept, places));
    }
    let up = 10_i128.checked_pow(u32::from(places.unsigned_abs())).and_then(|up| kept.checked_mul(up));
    up.map(|value| Decimal::new(value, 0)).ok_or_else(|| out_of_range("numeric"))
}

fn run_abs(call: &Call) -> Result<ArrayRef> {
    let array = call.arg(0)?;
    macro_rules! absolute {
        ($type:ty) => {{
            let values = array.as_primitive::<$type>().iter().map(|value| match value {
                Some(value) => value.checked_abs().map(Some).ok_or_else(|| out_of_range(call.kind(0).name())),
                None => Ok(None),
            });
            Ok(Arc::new(values.collect::<Result<arrow::array::PrimitiveArray<$type>>>()?))
        }};
    }
    match array.data_type() {
        DataType::Int16 => absolute!(arrow::datatypes::Int16Type),
        DataType::Int32 => absolute!(arrow::datatypes::Int32Type),
        DataType::Int64 => absolute!(arrow::datatypes::Int64Type),
        DataType::Decimal128(precision, scale) => {
            let values: Decimal128Array =
                array.as_primitive::<Decimal128Type>().iter().map(|value| value.map(i128::abs)).collect();
            Ok(Arc::new(values.with_precision_and_scale(*precision, *scale)?))
        }
        _ => {
            let values: Float64Array = call.float8(0)?.iter().map(|value| value.map(f64::abs)).collect();
            call.done(Arc::new(values))
        }
    }
}

fn run_sign(call: &Call) -> Result<ArrayRef> {
    let values = call.float8(0)?;
    let signs: Float64Array = values
        .iter()
        .map(|value| value.map(|value| if value == 0.0 || value.is_nan() { 0.0 } else { value.signum() }))
        .collect();
    super::cast::cast_array(&(Arc::new(signs) as ArrayRef), call.returns, &call.zone)
}

fn operator(arguments: &Arguments, name: &'static str) -> Result<DataType> {
    match super::arithmetic::FUNCTIONS.iter().find(|function| function.name == name) {
        Some(function) => (function.returns)(arguments),
        None => arguments.undefined(),
    }
}

fn run_operator(call: &Call, name: &'static str) -> Result<ArrayRef> {
    match super::arithmetic::FUNCTIONS.iter().find(|function| function.name == name) {
        Some(function) => (function.run)(call),
        None => fail(SqlState::UNDEFINED_FUNCTION, format!("operator {name} does not exist")),
    }
}

fn returns_div(arguments: &Arguments) -> Result<DataType> {
    if (0..2).any(|place| !is_exact(arguments.kind(place)) && !arguments.is_unknown(place)) {
        return arguments.undefined();
    }
    Ok(DataType::Decimal128(NUMERIC_DIGITS_MAX, 0))
}

fn run_div(call: &Call) -> Result<ArrayRef> {
    let (left, right) = (decimals(call, 0)?, decimals(call, 1)?);
    let built: Decimal128Array = call.each([left.nulls(), right.nulls()], |row| {
        let (left, right) =
            (Decimal::new(left.value(row), left.scale()), Decimal::new(right.value(row), right.scale()));
        let widest = left.scale().max(right.scale());
        let rest = left.modulo(right, widest)?;
        Ok(left.subtract(rest, widest)?.divide(right, 0)?.value())
    })?;
    Ok(Arc::new(built.with_precision_and_scale(NUMERIC_DIGITS_MAX, 0)?))
}

/// A function of doubles, brought to the type of the result.
fn doubles(call: &Call, of: fn(f64) -> Result<f64>) -> Result<ArrayRef> {
    let values = call.float8(0)?;
    let values = values.iter().map(|value| value.map(of).transpose());
    let values: ArrayRef = Arc::new(values.collect::<Result<Float64Array>>()?);
    super::cast::cast_array(&values, call.returns, &call.zone)
}

fn within_one(value: f64) -> Result<f64> {
    if value.abs() > 1.0 {
        return fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range");
    }
    Ok(value)
}

fn run_sqrt(call: &Call) -> Result<ArrayRef> {
    if let DataType::Decimal128(precision, scale) = *call.returns {
        let values = decimals(call, 0)?;
        let roots = values.iter().map(|value| match value {
            Some(..0) => {
                fail(SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION, "cannot take square root of a negative number")
            }
            Some(value) => {
                let square = Decimal::new(value, values.scale());
                let root = |scale: u32| Ok(square.square_root(scale as i8)?.value());
                significant_digits::rounded(u32::from(scale.unsigned_abs()), significant_digits::of_root(square), root)
                    .map(Some)
            }
            None => Ok(None),
        });
        let roots = roots.collect::<Result<Decimal128Array>>()?;
        return Ok(Arc::new(roots.with_precision_and_scale(precision, scale)?));
    }
    let values = call.float8(0)?;
    let roots = values.iter().map(|value| match value {
        Some(value) if value < 0.0 => {
            fail(SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION, "cannot take square root of a negative number")
        }
        value => Ok(value.map(f64::sqrt)),
    });
    let roots: ArrayRef = Arc::new(roots.collect::<Result<Float64Array>>()?);
    super::cast::cast_array(&roots, call.returns, &call.zone)
}

fn run_width_bucket(call: &Call) -> Result<ArrayRef> {
    if call.len() == 2 {
        return super::integers::bucket_of_thresholds(call);
    }
    let counts = call.int8(3)?;
    let kinds = [0, 1, 2].map(|place| call.kind(place));
    let buckets: Int64Array = if kinds.contains(&Kind::Numeric) && !kinds.iter().any(|kind| kind.is_float()) {
        let [values, lows, highs] = [decimals(call, 0)?, decimals(call, 1)?, decimals(call, 2)?];
        let scales = [values.scale(), lows.scale(), highs.scale()];
        let widest = scales.into_iter().max().unwrap_or(0);
        call.each([values.nulls(), lows.nulls(), highs.nulls(), counts.nulls()], |row| {
            let digits = |column: &Decimal128Array| {
                let places = u32::from((widest - column.scale()).unsigned_abs());
                i256::from_i128(column.value(row)).wrapping_mul(pow10(places))
            };
            let count = buckets_of(counts.value(row))?;
            bucket(digits(&values), digits(&lows), digits(&highs), count, |above, width| {
                let share = above.wrapping_mul(i256::from_i128(i128::from(count))).wrapping_div(width);
                share.to_i128().and_then(|share| i64::try_from(share).ok()).unwrap_or(count)
            })
        })?
    } else {
        let [values, lows, highs] = [call.float8(0)?, call.float8(1)?, call.float8(2)?];
        call.each([values.nulls(), lows.nulls(), highs.nulls(), counts.nulls()], |row| {
            let (value, low, high) = (values.value(row), lows.value(row), highs.value(row));
            let count = buckets_of(counts.value(row))?;
            if value.is_nan() || low.is_nan() || high.is_nan() {
                return no_buckets("operand, lower bound, and upper bound cannot be NaN");
            }
            if low.is_infinite() || high.is_infinite() {
                return no_buckets("lower and upper bounds must be finite");
            }
            // The width of all may be more than a double holds.
            let share = |above: f64, width: f64| (count as f64 * (above / width)) as i64;
            bucket(value / 2.0, low / 2.0, high / 2.0, count, share)
        })?
    };
    let buckets: ArrayRef = Arc::new(buckets);
    super::cast::cast_array(&buckets, call.returns, &call.zone)
}

fn no_buckets<T>(message: &str) -> Result<T> {
    fail(SqlState::INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION, message)
}

fn buckets_of(count: i64) -> Result<i64> {
    if count <= 0 { no_buckets("count must be greater than zero") } else { Ok(count) }
}

/// The bucket of a value among `count` of equal width between two bounds, which may descend;
/// `share` is how many lie between the first bound and the value.
fn bucket<T: Copy + PartialOrd + std::ops::Sub<Output = T>>(
    value: T,
    low: T,
    high: T,
    count: i64,
    share: impl Fn(T, T) -> i64,
) -> Result<i64> {
    // A share of all of them would be rounded.
    let inside = |above: T, width: T| share(above, width).min(count - 1) + 1;
    Ok(match low.partial_cmp(&high) {
        Some(Ordering::Less) if value < low => 0,
        Some(Ordering::Less) if value >= high => count + 1,
        Some(Ordering::Less) => inside(value - low, high - low),
        Some(Ordering::Greater) if value > low => 0,
        Some(Ordering::Greater) if value <= high => count + 1,
        Some(Ordering::Greater) => inside(low - value, low - high),
        _ => return no_buckets("lower bound cannot equal upper bound"),
    })
}
