//! `+ - * / % #` and the negative, with PostgreSQL's types and errors.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::compute::kernels::arity::{binary, try_binary, try_unary};
use arrow::datatypes::{DataType, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type};
use arrow::error::ArrowError;
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, Operator};

use super::abbreviated::in_full;
use super::decimal::{self, Decimal};
use super::error::{SqlState, division_by_zero, fail, out_of_range};
use super::interval_math;
use super::kind::Kind;
use super::scalar::{Arguments, Call, Function, Scalar, immutable_of};

/// The functions behind the operators, named as they are shown.
pub(super) static FUNCTIONS: [Function; 7] = [
    immutable_of("+", 2, returns_add, run_add),
    immutable_of("-", 2, returns_subtract, run_subtract),
    immutable_of("*", 2, returns_multiply, run_multiply),
    immutable_of("/", 2, returns_divide, run_divide),
    immutable_of("%", 2, returns_modulo, run_modulo),
    // DataFusion takes `x # x` for 0, also where x is NULL.
    immutable_of("#", 2, returns_exclusive_or, run_exclusive_or),
    immutable_of(
        "negative",
        1,
        |arguments| Ok(arguments.types.first().map_or(DataType::Null, |data_type| (*data_type).clone())),
        run_negative,
    ),
];

/// `/` of operands that are no literals as yet. Its type stays when they become some.
static QUOTIENT: Function = immutable_of("/", 2, |arguments| returns_quotient(arguments, None), run_divide);

/// The function of an operator of arithmetic.
pub(super) fn of_operator(op: Operator, left: &Expr, right: &Expr) -> Option<&'static Function> {
    let is_literal = |operand: &Expr| matches!(operand, Expr::Literal(..));
    if op == Operator::Divide && !(is_literal(left) && is_literal(right)) {
        return Some(&QUOTIENT);
    }
    let name = match op {
        Operator::Plus => "+",
        Operator::Minus => "-",
        Operator::Multiply => "*",
        Operator::Divide => "/",
        Operator::Modulo => "%",
        Operator::BitwiseXor => "#",
        _ => return None,
    };
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// Whether an expression is a call of one of the operators with two operands. Its type is that of
/// a number or a time, or it has none.
pub(crate) fn is_operator(expr: &Expr) -> bool {
    let Expr::ScalarFunction(call) = in_full(expr) else { return false };
    call.func.inner().is::<Scalar>() && matches!(call.func.name(), "+" | "-" | "*" | "/" | "%" | "#")
}

fn no_operator<T>(arguments: &Arguments) -> Result<T> {
    let message = format!(
        "operator does not exist: {} {} {}",
        arguments.kind(0).name(),
        arguments.function,
        arguments.kind(1).name()
    );
    fail(SqlState::UNDEFINED_FUNCTION, message)
}

/// The type of numbers brought together, numeric as yet without digits. A text takes the other's
/// type.
fn number(arguments: &Arguments) -> Option<Kind> {
    let (mut left, mut right) = (arguments.kind(0), arguments.kind(1));
    if left == Kind::Oid {
        left = Kind::Int8;
    }
    if right == Kind::Oid {
        right = Kind::Int8;
    }
    if matches!(left, Kind::Null | Kind::Text) {
        left = right;
    }
    if matches!(right, Kind::Null | Kind::Text) {
        right = left;
    }
    match (left, right) {
        (Kind::Numeric, other) | (other, Kind::Numeric) if other.is_float() => Some(Kind::Float8),
        (Kind::Float4, other) | (other, Kind::Float4) if other != Kind::Float4 && other.is_number() => {
            Some(Kind::Float8)
        }
        (left, right) if left.is_number() && right.is_number() => left.common(right),
        _ => None,
    }
}

/// A text that is no literal: it is never read as a number or a time.
fn has_text(arguments: &Arguments) -> bool {
    (0..arguments.types.len()).any(|place| arguments.kind(place) == Kind::Text && !arguments.is_unknown(place))
}

/// The digits of both sides; a literal in quotes has those that it is written with.
fn digits(arguments: &Arguments) -> ((u8, i8), (u8, i8)) {
    let of = |place: usize| match arguments.text(place).and_then(Decimal::parse) {
        Some(literal) => Some((literal.precision(), literal.scale())),
        None => arguments.types.get(place).and_then(|data_type| super::kind::decimal_of(data_type)),
    };
    let fallback = of(0).or(of(1)).unwrap_or((super::kind::NUMERIC_DIGITS_MAX, 0));
    (of(0).unwrap_or(fallback), of(1).unwrap_or(fallback))
}

fn both_null(arguments: &Arguments) -> bool {
    arguments.kind(0) == Kind::Null && arguments.kind(1) == Kind::Null
}

fn returns_add(arguments: &Arguments) -> Result<DataType> {
    if has_text(arguments) {
        return no_operator(arguments);
    }
    if both_null(arguments) {
        return Ok(DataType::Null);
    }
    // It may be days, a time or an interval.
    let untyped = |place: usize| arguments.is_unknown(place) || arguments.kind(place) == Kind::Null;
    match (arguments.kind(0), arguments.kind(1)) {
        (Kind::Date, _) if untyped(1) => {
            return fail(SqlState::AMBIGUOUS_FUNCTION, "operator is not unique: date + unknown");
        }
        (_, Kind::Date) if untyped(0) => {
            return fail(SqlState::AMBIGUOUS_FUNCTION, "operator is not unique: unknown + date");
        }
        _ => {}
    }
    match number(arguments) {
        Some(Kind::Numeric) => {
            let (left, right) = digits(arguments);
            decimal::sum_type(left, right)
        }
        Some(kind) => kind.arrow().map_or_else(|| no_operator(arguments), Ok),
        None => match interval_math::add_type(arguments.kind(0), arguments.kind(1)) {
            Some(data_type) => Ok(data_type),
            None => no_operator(arguments),
        },
    }
}

fn returns_subtract(arguments: &Arguments) -> Result<DataType> {
    if has_text(arguments) {
        return no_operator(arguments);
    }
    if both_null(arguments) || number(arguments).is_some() {
        return returns_add(arguments);
    }
    match interval_math::subtract_type(arguments.kind(0), arguments.kind(1)) {
        Some(data_type) => Ok(data_type),
        None => no_operator(arguments),
    }
}

fn returns_multiply(arguments: &Arguments) -> Result<DataType> {
    let scales = scales_interval(arguments, 0, 1) || scales_interval(arguments, 1, 0);
    returns_scaled(arguments, scales, decimal::product_type)
}

fn returns_divide(arguments: &Arguments) -> Result<DataType> {
    let constant = |place: usize| arguments.constants.get(place).copied().flatten().and_then(Decimal::of_scalar);
    returns_quotient(arguments, constant(0).zip(constant(1)))
}

fn returns_quotient(arguments: &Arguments, constants: Option<(Decimal, Decimal)>) -> Result<DataType> {
    returns_scaled(arguments, scales_interval(arguments, 0, 1), |left, right| {
        Ok(decimal::quotient_type(left, right, constants))
    })
}

fn scales_interval(arguments: &Arguments, span: usize, factor: usize) -> bool {
    let factor = arguments.kind(factor);
    arguments.kind(span) == Kind::Interval && (factor.is_number() || matches!(factor, Kind::Text | Kind::Null))
}

/// Of two numbers, or of an interval if one of them `scales` it.
fn returns_scaled(
    arguments: &Arguments,
    scales: bool,
    of_digits: impl Fn((u8, i8), (u8, i8)) -> Result<DataType>,
) -> Result<DataType> {
    if has_text(arguments) {
        return no_operator(arguments);
    }
    if both_null(arguments) {
        return Ok(DataType::Null);
    }
    match number(arguments) {
        Some(Kind::Numeric) => {
            let (left, right) = digits(arguments);
            of_digits(left, right)
        }
        Some(kind) => kind.arrow().map_or_else(|| no_operator(arguments), Ok),
        None if scales => Ok(super::kind::interval()),
        None => no_operator(arguments),
    }
}

fn returns_modulo(arguments: &Arguments) -> Result<DataType> {
    match number(arguments) {
        Some(kind) if kind.is_float() || has_text(arguments) => no_operator(arguments),
        Some(_) => returns_add(arguments),
        None if both_null(arguments) => Ok(DataType::Null),
        None => no_operator(arguments),
    }
}

fn arithmetic(error: ArrowError) -> DataFusionError {
    match error {
        ArrowError::ExternalError(inner) => DataFusionError::External(inner),
        other => other.into(),
    }
}

fn external(error: DataFusionError) -> ArrowError {
    match error {
        DataFusionError::External(inner) => ArrowError::ExternalError(inner),
        other => ArrowError::ExternalError(Box::new(other)),
    }
}

/// Both sides in one type of Arrow, combined row by row.
fn combine<T: ArrowPrimitiveType>(
    call: &Call,
    op: impl Fn(T::Native, T::Native) -> Result<T::Native>,
) -> Result<ArrayRef> {
    let (left, right) = (call.as_type(0, &T::DATA_TYPE)?, call.as_type(1, &T::DATA_TYPE)?);
    let (left, right) = (left.as_primitive::<T>(), right.as_primitive::<T>());
    let combined: PrimitiveArray<T> =
        try_binary(left, right, |left, right| op(left, right).map_err(external)).map_err(arithmetic)?;
    Ok(Arc::new(combined))
}

macro_rules! checked {
    ($call:expr, $type:ty, $method:ident, $name:expr) => {
        combine::<$type>($call, |left, right| left.$method(right).ok_or_else(|| out_of_range($name)))
    };
}

/// What a result that left the range of doubles is refused as: an infinity out of finite numbers, a
/// zero out of others.
fn in_range(value: f64, overflows: bool, underflows: bool) -> Result<f64> {
    if overflows && value.is_infinite() {
        return fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow");
    }
    if underflows && value == 0.0 {
        return fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow");
    }
    Ok(value)
}

macro_rules! float {
    ($call:expr, $type:ty, $op:tt) => {
        combine::<$type>($call, |left, right| {
            let value = left $op right;
            let underflows = stringify!($op) == "*" && left != 0.0 && right != 0.0;
            in_range(value.into(), left.is_finite() && right.is_finite(), underflows)?;
            Ok(value)
        })
    };
}

macro_rules! float_divided {
    ($call:expr, $type:ty) => {
        combine::<$type>($call, |left, right| {
            if right == 0.0 && !left.is_nan() {
                return Err(division_by_zero());
            }
            let value = left / right;
            in_range(value.into(), left.is_finite(), left != 0.0 && right.is_finite())?;
            Ok(value)
        })
    };
}

macro_rules! number_operator {
    ($call:expr, $method:ident, $op:tt, $decimal:expr, $temporal:expr) => {
        match Kind::of($call.returns) {
            Kind::Int2 => checked!($call, Int16Type, $method, "smallint"),
            Kind::Int4 if !$call.args.iter().any(|array| Kind::of(array.data_type()).is_temporal()) => {
                checked!($call, Int32Type, $method, "integer")
            }
            Kind::Int8 => checked!($call, Int64Type, $method, "bigint"),
            Kind::Float4 => float!($call, Float32Type, $op),
            Kind::Float8 => float!($call, Float64Type, $op),
            Kind::Numeric => decimals($call, $decimal),
            Kind::Null => Ok(arrow::array::new_null_array(&DataType::Null, $call.rows)),
            _ => $temporal($call),
        }
    };
}

fn run_add(call: &Call) -> Result<ArrayRef> {
    number_operator!(call, checked_add, +, Decimal::add, interval_math::add)
}

fn run_subtract(call: &Call) -> Result<ArrayRef> {
    number_operator!(call, checked_sub, -, Decimal::subtract, interval_math::subtract)
}

fn run_multiply(call: &Call) -> Result<ArrayRef> {
    number_operator!(call, checked_mul, *, Decimal::multiply, interval_math::multiply)
}

macro_rules! divided {
    ($call:expr, $type:ty, $method:ident, $name:expr) => {
        combine::<$type>($call, |left, right| {
            if right == 0 {
                return Err(division_by_zero());
            }
            left.$method(right).ok_or_else(|| out_of_range($name))
        })
    };
}

fn run_divide(call: &Call) -> Result<ArrayRef> {
    match Kind::of(call.returns) {
        Kind::Int2 => divided!(call, Int16Type, checked_div, "smallint"),
        Kind::Int4 => divided!(call, Int32Type, checked_div, "integer"),
        Kind::Int8 => divided!(call, Int64Type, checked_div, "bigint"),
        Kind::Float4 => float_divided!(call, Float32Type),
        Kind::Float8 => float_divided!(call, Float64Type),
        Kind::Numeric => decimals(call, Decimal::divide),
        Kind::Null => Ok(arrow::array::new_null_array(&DataType::Null, call.rows)),
        _ => interval_math::divide(call),
    }
}

fn run_modulo(call: &Call) -> Result<ArrayRef> {
    macro_rules! modulo {
        ($type:ty) => {
            combine::<$type>(
                call,
                |left, right| {
                    if right == 0 { Err(division_by_zero()) } else { Ok(left.wrapping_rem(right)) }
                },
            )
        };
    }
    match Kind::of(call.returns) {
        Kind::Int2 => modulo!(Int16Type),
        Kind::Int4 => modulo!(Int32Type),
        Kind::Int8 => modulo!(Int64Type),
        Kind::Numeric => decimals(call, Decimal::modulo),
        _ => Ok(arrow::array::new_null_array(call.returns, call.rows)),
    }
}

fn returns_exclusive_or(arguments: &Arguments) -> Result<DataType> {
    if both_null(arguments) {
        return Ok(DataType::Null);
    }
    match number(arguments).filter(|kind| kind.is_integer() && !has_text(arguments)) {
        Some(kind) => kind.arrow().map_or_else(|| no_operator(arguments), Ok),
        None => no_operator(arguments),
    }
}

fn run_exclusive_or(call: &Call) -> Result<ArrayRef> {
    if call.returns.is_null() {
        return Ok(arrow::array::new_null_array(call.returns, call.rows));
    }
    let (left, right) = (call.as_type(0, call.returns)?, call.as_type(1, call.returns)?);
    macro_rules! combined {
        ($type:ty) => {{
            let (left, right) = (left.as_primitive::<$type>(), right.as_primitive::<$type>());
            let bits: PrimitiveArray<$type> = binary(left, right, |left, right| left ^ right)?;
            Ok(Arc::new(bits))
        }};
    }
    match call.returns {
        DataType::Int16 => combined!(Int16Type),
        DataType::Int32 => combined!(Int32Type),
        _ => combined!(Int64Type),
    }
}

fn run_negative(call: &Call) -> Result<ArrayRef> {
    let array = call.arg(0)?;
    macro_rules! negative {
        ($type:ty, $name:expr) => {{
            let negated: PrimitiveArray<$type> = try_unary(array.as_primitive::<$type>(), |value| {
                value.checked_neg().ok_or_else(|| external(out_of_range($name)))
            })
            .map_err(arithmetic)?;
            Ok(Arc::new(negated))
        }};
    }
    match array.data_type() {
        DataType::Int16 => negative!(Int16Type, "smallint"),
        DataType::Int32 => negative!(Int32Type, "integer"),
        DataType::Int64 => negative!(Int64Type, "bigint"),
        DataType::Null => Ok(Arc::clone(array)),
        _ => Ok(arrow::compute::kernels::numeric::neg(array)?),
    }
}

/// Exact arithmetic: operands with their own scales, the result in the announced one.
fn decimals(call: &Call, op: fn(Decimal, Decimal, i8) -> Result<Decimal>) -> Result<ArrayRef> {
    let (left, right) = (decimal::decimals(call, 0)?, decimal::decimals(call, 1)?);
    let DataType::Decimal128(precision, scale) = *call.returns else {
        return fail(SqlState::FEATURE_NOT_SUPPORTED, format!("numeric as {} is not supported", call.returns));
    };
    let (left_scale, right_scale) = (left.scale(), right.scale());
    let combined: PrimitiveArray<Decimal128Type> = try_binary(&left, &right, |left, right| {
        let result = op(Decimal::new(left, left_scale), Decimal::new(right, right_scale), scale).map_err(external)?;
        result.unscaled(precision, scale).map_err(external)
    })
    .map_err(arithmetic)?;
    Ok(Arc::new(combined.with_precision_and_scale(precision, scale)?))
}
