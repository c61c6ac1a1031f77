//! Divisors, multiples, factorials, the digits of numerics, and buckets.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Int32Array, ListArray, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::Result;

use super::cast::cast_array;
use super::decimal::{decimals, too_large};
use super::error::{SqlState, fail, out_of_range};
use super::kind::{Kind, NUMERIC_DIGITS_MAX, decimal_of};
use super::scalar::{Arguments, Call, Function, immutable_of};

/// The largest whose factorial has no more digits than a numeric, here and in PostgreSQL.
const FACTORIAL_MAX: i64 = 33;
const POSTGRES_FACTORIAL_MAX: i64 = 32_177;

pub(super) static FUNCTIONS: [Function; 5] = [
    immutable_of("gcd", 2, returns_common, |call| whole(call, divisor)),
    immutable_of("lcm", 2, returns_common, |call| whole(call, multiple)),
    immutable_of("factorial", 1, returns_factorial, run_factorial),
    immutable_of("scale", 1, returns_digits, |call| digits(call, false)),
    immutable_of("min_scale", 1, returns_digits, |call| digits(call, true)),
];

fn returns_common(arguments: &Arguments) -> Result<DataType> {
    let kind = |place: usize| match arguments.kind(place) {
        Kind::Text if arguments.is_unknown(place) => Kind::Null,
        kind => kind,
    };
    match kind(0).common(kind(1)) {
        Some(Kind::Numeric) => {
            let scale = |place: usize| arguments.types.get(place).and_then(|data_type| decimal_of(data_type));
            let scale = scale(0).into_iter().chain(scale(1)).map(|(_, scale)| scale).max().unwrap_or(0);
            Ok(DataType::Decimal128(NUMERIC_DIGITS_MAX, scale))
        }
        Some(Kind::Int2) => Ok(DataType::Int32),
        Some(kind) if kind.is_integer() => Ok(kind.arrow().unwrap_or(DataType::Int64)),
        Some(Kind::Null) => Ok(DataType::Int32),
        _ => arguments.undefined(),
    }
}

/// Of whole numbers; numerics as the whole numbers of their last digit.
fn whole(call: &Call, of: fn(i128, i128) -> Option<i128>) -> Result<ArrayRef> {
    let scale = match call.returns {
        DataType::Decimal128(_, scale) => *scale,
        _ => 0,
    };
    let wide = DataType::Decimal128(NUMERIC_DIGITS_MAX, scale);
    let (left, right) = (call.as_type(0, &wide)?, call.as_type(1, &wide)?);
    let (left, right) = (
        left.as_primitive::<arrow::datatypes::Decimal128Type>(),
        right.as_primitive::<arrow::datatypes::Decimal128Type>(),
    );
    let name = Kind::of(call.returns).name();
    let results = left.iter().zip(right.iter()).map(|(left, right)| match left.zip(right) {
        Some((left, right)) => of(left, right).map(Some).ok_or_else(|| out_of_range(name)),
        None => Ok(None),
    });
    let results = results.collect::<Result<Decimal128Array>>()?.with_precision_and_scale(NUMERIC_DIGITS_MAX, scale)?;
    cast_array(&(Arc::new(results) as ArrayRef), call.returns, &call.zone)
}

fn divisor(left: i128, right: i128) -> Option<i128> {
    let (mut a, mut b) = (left.checked_abs()?, right.checked_abs()?);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    Some(a)
}

fn multiple(left: i128, right: i128) -> Option<i128> {
    match divisor(left, right)? {
        0 => Some(0),
        divisor => (left / divisor).checked_mul(right)?.checked_abs(),
    }
}

fn returns_factorial(arguments: &Arguments) -> Result<DataType> {
    match arguments.kind(0) {
        kind if kind.is_integer() || kind == Kind::Null => Ok(DataType::Decimal128(NUMERIC_DIGITS_MAX, 0)),
        Kind::Text if arguments.is_unknown(0) => Ok(DataType::Decimal128(NUMERIC_DIGITS_MAX, 0)),
        _ => arguments.undefined(),
    }
}

fn run_factorial(call: &Call) -> Result<ArrayRef> {
    let factorials = call.int8(0)?;
    let factorials = factorials.iter().map(|number| match number {
        Some(..0) => fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "factorial of a negative number is undefined"),
        Some(number) if number > POSTGRES_FACTORIAL_MAX => {
            fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format")
        }
        Some(number) if number > FACTORIAL_MAX => Err(too_large()),
        Some(number) => Ok(Some((1..=i128::from(number)).product())),
        None => Ok(None),
    });
    let factorials = factorials.collect::<Result<Decimal128Array>>()?;
    Ok(Arc::new(factorials.with_precision_and_scale(NUMERIC_DIGITS_MAX, 0)?))
}

fn returns_digits(arguments: &Arguments) -> Result<DataType> {
    match arguments.kind(0) {
        kind if kind.is_integer() || matches!(kind, Kind::Numeric | Kind::Null) => Ok(DataType::Int32),
        Kind::Text if arguments.is_unknown(0) => Ok(DataType::Int32),
        _ => arguments.undefined(),
    }
}

/// Digits behind the point: those of the column, or those that the number needs.
fn digits(call: &Call, needed: bool) -> Result<ArrayRef> {
    let numbers = decimals(call, 0)?;
    let scale = numbers.scale();
    let least = |number: i128| {
        let (mut number, mut scale) = (number, scale);
        while scale > 0 && number % 10 == 0 {
            (number, scale) = (number / 10, scale - 1);
        }
        scale
    };
    let digits =
        numbers.iter().map(|number| number.map(|number| i32::from(if needed { least(number) } else { scale })));
    Ok(Arc::new(digits.collect::<Int32Array>()))
}

/// Of values whose order is Arrow's.
fn bucket_of_ordered(call: &Call, lists: &ListArray) -> Result<ArrayRef> {
    let values = cast_array(call.arg(0)?, &lists.value_type(), &call.zone)?;
    let buckets: Int32Array = call.each([values.nulls(), lists.nulls()], |row| {
        let thresholds = lists.value(row);
        if thresholds.null_count() > 0 {
            return fail(SqlState::NULL_VALUE_NOT_ALLOWED, "thresholds array must not contain NULLs");
        }
        let order = make_comparator(&thresholds, &values, SortOptions::default())?;
        let (mut below, mut above) = (0, thresholds.len());
        while below < above {
            let middle = below.midpoint(above);
            if order(middle, row).is_le() { below = middle + 1 } else { above = middle }
        }
        Ok(i32::try_from(below).unwrap_or(i32::MAX))
    })?;
    Ok(Arc::new(buckets))
}

/// `width_bucket(value, thresholds)`: how many of the thresholds, which ascend, are not above the
/// value.
pub(super) fn bucket_of_thresholds(call: &Call) -> Result<ArrayRef> {
    let undefined = || super::scalar::undefined(call.function, call.args.iter().map(|array| array.data_type()));
    let Some(lists) = call.arg(1)?.as_list_opt::<i32>() else { return undefined() };
    let (of_values, of_items) = (call.kind(0), Kind::of(&lists.value_type()));
    if !of_values.is_number() || !of_items.is_number() {
        let one_order = matches!(of_items, Kind::Text | Kind::Date | Kind::Time | Kind::Timestamp | Kind::TimestampTz);
        let comparable = of_values == of_items && one_order;
        return if comparable { bucket_of_ordered(call, lists) } else { undefined() };
    }
    let values = call.float8(0)?;
    let buckets: Int32Array = call.each([values.nulls(), lists.nulls()], |row| {
        let thresholds = cast_array(&lists.value(row), &DataType::Float64, &call.zone)?;
        let thresholds = thresholds.as_primitive::<Float64Type>();
        if thresholds.null_count() > 0 {
            return fail(SqlState::NULL_VALUE_NOT_ALLOWED, "thresholds array must not contain NULLs");
        }
        let below = thresholds.values().partition_point(|threshold| {
            values.value(row).is_nan() || (!threshold.is_nan() && *threshold <= values.value(row))
        });
        Ok(i32::try_from(below).unwrap_or(i32::MAX))
    })?;
    Ok(Arc::new(buckets))
}
