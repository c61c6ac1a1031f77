//! Trigonometry: in radians with PostgreSQL's errors, and in degrees with its exact values.

use std::f64::consts::PI;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array};
use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::error::{SqlState, fail};
use super::kind::Kind;
use super::scalar::{Arguments, Call, Function, immutable};

pub(super) static FUNCTIONS: [Function; 22] = [
    function("sin", 1, |call| each(call, |x| finite(x).map(f64::sin))),
    function("cos", 1, |call| each(call, |x| finite(x).map(f64::cos))),
    function("tan", 1, |call| each(call, |x| finite(x).map(f64::tan))),
    function("cot", 1, |call| each(call, |x| finite(x).map(|x| 1.0 / x.tan()))),
    function("atan", 1, |call| each(call, |x| Ok(x.atan()))),
    function("atan2", 2, |call| each_pair(call, f64::atan2)),
    function("sinh", 1, |call| each(call, |x| Ok(x.sinh()))),
    function("cosh", 1, |call| each(call, |x| Ok(x.cosh()))),
    function("tanh", 1, |call| each(call, |x| Ok(x.tanh()))),
    function("asinh", 1, |call| each(call, |x| Ok(x.asinh()))),
    function("acosh", 1, |call| each(call, |x| if x < 1.0 { beyond() } else { Ok(x.acosh()) })),
    function("atanh", 1, |call| each(call, |x| if x.abs() > 1.0 { beyond() } else { Ok(x.atanh()) })),
    function("sind", 1, |call| each(call, |x| finite(x).map(sine))),
    function("cosd", 1, |call| each(call, |x| finite(x).map(cosine))),
    function("tand", 1, |call| each(call, |x| finite(x).map(tangent))),
    function("cotd", 1, |call| each(call, |x| finite(x).map(cotangent))),
    function("asind", 1, |call| each(call, |x| within_one(x).map(arc_sine))),
    function("acosd", 1, |call| each(call, |x| within_one(x).map(arc_cosine))),
    function("atand", 1, |call| each(call, |x| Ok(x.atan() / 1_f64.atan() * 45.0))),
    function("atan2d", 2, |call| each_pair(call, |y, x| y.atan2(x) / 1_f64.atan() * 45.0)),
    function("degrees", 1, |call| each(call, |x| in_range(x, x / RADIANS_PER_DEGREE))),
    function("radians", 1, |call| each(call, |x| Ok(x * RADIANS_PER_DEGREE))),
];

const RADIANS_PER_DEGREE: f64 = 0.017_453_292_519_943_295;

const fn function(name: &'static str, arguments: usize, run: fn(&Call) -> Result<ArrayRef>) -> Function {
    immutable(name, arguments..=arguments, returns_double, run)
}

fn returns_double(arguments: &Arguments) -> Result<DataType> {
    let numbers = (0..arguments.types.len())
        .all(|place| arguments.kind(place).is_number() || matches!(arguments.kind(place), Kind::Null | Kind::Text));
    if numbers { Ok(DataType::Float64) } else { arguments.undefined() }
}

fn each(call: &Call, body: fn(f64) -> Result<f64>) -> Result<ArrayRef> {
    let values = call.float8(0)?;
    // There is one NaN, without a sign.
    let of = |value: f64| if value.is_nan() { Ok(f64::NAN) } else { body(value) };
    let results = values.iter().map(|value| value.map(of).transpose());
    Ok(Arc::new(results.collect::<Result<Float64Array>>()?))
}

fn each_pair(call: &Call, of: fn(f64, f64) -> f64) -> Result<ArrayRef> {
    let (ys, xs) = (call.float8(0)?, call.float8(1)?);
    let angles = ys.iter().zip(xs.iter()).map(|(y, x)| y.zip(x).map(|(y, x)| of(y, x)));
    Ok(Arc::new(angles.collect::<Float64Array>()))
}

fn beyond<T>() -> Result<T> {
    fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range")
}

/// A result, unless it is beyond all numbers and the argument is not.
fn in_range(x: f64, result: f64) -> Result<f64> {
    if result.is_infinite() && x.is_finite() {
        return fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow");
    }
    Ok(result)
}

fn finite(x: f64) -> Result<f64> {
    if x.is_infinite() { beyond() } else { Ok(x) }
}

fn within_one(x: f64) -> Result<f64> {
    if x.abs() > 1.0 { beyond() } else { Ok(x) }
}

/// In units of which the sine of 30 degrees and the cosine of 60 are exactly a half.
fn sine_to_30(x: f64) -> f64 {
    (x * (PI / 180.0)).sin() / (30.0 * (PI / 180.0)).sin() / 2.0
}

fn cosine_to_60(x: f64) -> f64 {
    1.0 - (1.0 - (x * (PI / 180.0)).cos()) / (1.0 - (60.0 * (PI / 180.0)).cos()) / 2.0
}

/// Of the first quadrant.
fn quadrant_sine(x: f64) -> f64 {
    if x <= 30.0 { sine_to_30(x) } else { cosine_to_60(90.0 - x) }
}

fn quadrant_cosine(x: f64) -> f64 {
    if x <= 60.0 { cosine_to_60(x) } else { sine_to_30(90.0 - x) }
}

fn quadrant_arc_sine(x: f64) -> f64 {
    if x <= 0.5 { x.asin() / 0.5_f64.asin() * 30.0 } else { 90.0 - x.acos() / 0.5_f64.acos() * 60.0 }
}

fn quadrant_arc_cosine(x: f64) -> f64 {
    if x <= 0.5 { 90.0 - x.asin() / 0.5_f64.asin() * 30.0 } else { x.acos() / 0.5_f64.acos() * 60.0 }
}

fn arc_sine(x: f64) -> f64 {
    if x < 0.0 { -quadrant_arc_sine(-x) } else { quadrant_arc_sine(x) }
}

fn arc_cosine(x: f64) -> f64 {
    if x < 0.0 { 90.0 + quadrant_arc_sine(-x) } else { quadrant_arc_cosine(x) }
}

/// The angle of the first quadrant with the same sine and cosine but for their signs, and whether
/// those are negative.
fn folded(x: f64) -> (f64, bool, bool) {
    let mut angle = x % 360.0;
    let (mut sine, mut cosine) = (false, false);
    if angle < 0.0 {
        (angle, sine) = (-angle, !sine);
    }
    if angle > 180.0 {
        (angle, sine) = (360.0 - angle, !sine);
    }
    if angle > 90.0 {
        (angle, cosine) = (180.0 - angle, !cosine);
    }
    (angle, sine, cosine)
}

fn signed(value: f64, negative: bool) -> f64 {
    if negative { -value } else { value }
}

fn sine(x: f64) -> f64 {
    let (angle, negative, _) = folded(x);
    signed(quadrant_sine(angle), negative)
}

fn cosine(x: f64) -> f64 {
    let (angle, _, negative) = folded(x);
    signed(quadrant_cosine(angle), negative)
}

/// Without a negative zero.
fn tangent(x: f64) -> f64 {
    let (angle, sine, cosine) = folded(x);
    let unit = quadrant_sine(45.0) / quadrant_cosine(45.0);
    signed(quadrant_sine(angle) / quadrant_cosine(angle) / unit, sine != cosine) + 0.0
}

fn cotangent(x: f64) -> f64 {
    let (angle, sine, cosine) = folded(x);
    let unit = quadrant_cosine(45.0) / quadrant_sine(45.0);
    signed(quadrant_cosine(angle) / quadrant_sine(angle) / unit, sine != cosine) + 0.0
}
