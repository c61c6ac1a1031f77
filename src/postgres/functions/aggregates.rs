//! Types that aggregates and window functions are fed with, and those they give.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams, WindowFunction};
use datafusion::logical_expr::{Case, Expr, ExprSchemable};

use super::error::{SqlState, fail};
use super::keys;
use super::kind::{Kind, NUMERIC_DIGITS_MAX, decimal_of};
use super::resolution::Resolver;
use super::scalar::{type_of, undefined};

/// Digits behind the point of averages.
const AVERAGE_SCALE: i8 = 16;
/// Digits behind the point that DataFusion adds to an average.
const AVERAGE_SCALE_ADDED: i8 = 4;
/// Digits of the numbers averaged, from which on sums need more than 128 bits.
const AVERAGE_NARROW_DIGITS_MAX: i16 = 10;

/// Aggregates whose constants are values like others; those of all the rest are counts, offsets and
/// star.
const OF_VALUES: [&str; 13] = [
    "sum",
    "avg",
    "min",
    "max",
    "array_agg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "first_value",
    "last_value",
    "string_agg",
    "mode",
    "percentile_disc",
];

/// Aggregates of values that PostgreSQL compares, adds or joins as texts, none of which are JSON.
const OF_COMPARED: [&str; 7] = ["sum", "avg", "min", "max", "string_agg", "mode", "percentile_disc"];

/// Aggregates that give values of their argument, in a type that has no length.
const OF_ITEMS: [&str; 3] = ["array_agg", "mode", "percentile_disc"];

/// Window functions of a value, which keeps its type; their other arguments are offsets.
const OF_A_VALUE_AND_OFFSETS: [&str; 3] = ["lag", "lead", "nth_value"];

/// Arguments as DataFusion's aggregate `name` has to get them.
///
/// # Errors
/// `UNDEFINED_FUNCTION`: PostgreSQL has no such aggregate of these types.
pub(super) fn arguments(name: &str, args: Vec<Expr>, resolver: &Resolver) -> Result<Vec<Expr>> {
    if name == "count" && args.len() > 1 {
        let types = args.iter().map(|arg| type_of(arg, resolver.schema)).collect::<Result<Vec<_>>>()?;
        return undefined(name, types.iter());
    }
    if !OF_VALUES.contains(&name) {
        let values = usize::from(OF_A_VALUE_AND_OFFSETS.contains(&name));
        let args = args.into_iter().enumerate();
        return Ok(args.map(|(at, arg)| if at < values { arg } else { widened(arg) }).collect());
    }
    let Some((first, rest)) = args.split_first() else { return Ok(args) };
    let Ok(data_type) = first.get_type(resolver.schema) else { return Ok(args) };
    let kind = Kind::of(&data_type);
    if matches!(kind, Kind::Json | Kind::Jsonb) && OF_COMPARED.contains(&name) {
        return fail(SqlState::UNDEFINED_FUNCTION, format!("function {name}({}) does not exist", kind.name()));
    }
    if name == "string_agg" && kind == Kind::Bytea {
        return fail(SqlState::FEATURE_NOT_SUPPORTED, "string_agg of bytea is not supported");
    }
    if OF_ITEMS.contains(&name)
        && let Some(ty) = resolver.char_of_length(first)
    {
        return fail(SqlState::FEATURE_NOT_SUPPORTED, format!("{name} of type {ty} is not supported"));
    }
    let is_joined = matches!(kind, Kind::Text | Kind::Null | Kind::Bytea | Kind::Other);
    if name == "string_agg" && !is_joined {
        let message = format!("function string_agg({}, unknown) does not exist", kind.name());
        return fail(SqlState::UNDEFINED_FUNCTION, message);
    }
    let wanted = match name {
        // DataFusion's sum wraps around.
        "sum" if kind == Kind::Int8 => DataType::Decimal128(20, 0),
        // DataFusion compares bits, in which a NaN may be the least.
        "min" | "max" if kind.is_float() => {
            let first = keys::with_one_nan(first.clone());
            return Ok(std::iter::once(first).chain(rest.iter().cloned()).collect());
        }
        "avg" if kind == Kind::Float4 => DataType::Float64,
        "avg" if kind.is_integer() || kind == Kind::Numeric => averaged(&data_type),
        _ => return Ok(args),
    };
    let first = resolver.to(first.clone(), &data_type, &wanted)?;
    Ok(std::iter::once(first).chain(rest.iter().cloned()).collect())
}

/// Lets arguments that may fail be computed for the rows only that FILTER holds for: DataFusion
/// computes those of groups for all.
pub(super) fn evaluate_where_filtered(params: &mut AggregateFunctionParams, resolver: &Resolver) {
    // One that is volatile would be asked twice.
    let Some(filter) = params.filter.as_ref().filter(|filter| !filter.is_volatile()) else { return };
    let is_guarded = |expr: &Expr| match expr {
        Expr::Case(case) => case.when_then_expr.first().is_some_and(|(when, _)| when == filter),
        _ => false,
    };
    let may_fail = |expr: &Expr| matches!(expr, Expr::ScalarFunction(_) | Expr::Cast(_));
    let orders = params.order_by.iter_mut().map(|by| &mut by.expr);
    for expr in params.args.iter_mut().chain(orders) {
        let is_concerned = !is_guarded(expr)
            && expr.any_column_refs()
            && expr.exists(|expr| Ok(may_fail(expr))).unwrap_or(true)
            // CASE would lose the name of its type.
            && expr.to_field(resolver.schema).is_ok_and(|(_, field)| field.metadata().is_empty());
        if is_concerned {
            let guarded = std::mem::replace(expr, Expr::Literal(ScalarValue::Null, None));
            *expr = Expr::Case(Case::new(None, vec![(filter.clone(), Box::new(guarded))], None));
        }
    }
}

/// Wide enough for the digits of the average, and for the sum.
fn averaged(data_type: &DataType) -> DataType {
    let (precision, scale) = decimal_of(data_type).unwrap_or((NUMERIC_DIGITS_MAX, 0));
    let whole = i16::from(precision) - i16::from(scale);
    let scale = scale.max(AVERAGE_SCALE);
    if whole <= AVERAGE_NARROW_DIGITS_MAX && scale == AVERAGE_SCALE {
        DataType::Decimal128((whole + i16::from(scale)) as u8, scale)
    } else {
        DataType::Decimal256((whole + i16::from(scale)).clamp(1, 60) as u8, scale)
    }
}

/// Counts and offsets of window functions: constants, and counts are above zero.
///
/// # Errors
/// PostgreSQL's for a count that is not; DataFusion computes no others than constants.
pub(super) fn check_offset(name: &str, args: &[Expr]) -> Result<()> {
    let (at, count) = match name {
        "ntile" => (0, Some(SqlState::INVALID_ARGUMENT_FOR_NTILE)),
        "nth_value" => (1, Some(SqlState::INVALID_ARGUMENT_FOR_NTH_VALUE)),
        "lag" | "lead" => (1, None),
        _ => return Ok(()),
    };
    let Some(offset) = args.get(at) else { return Ok(()) };
    if is_of_rows(offset) && count.is_some() {
        let message = format!("{name} with an argument that is no constant is not supported");
        return fail(SqlState::FEATURE_NOT_SUPPORTED, message);
    }
    if count.is_none() && matches!(offset, Expr::Literal(value, _) if value.is_null()) {
        return fail(SqlState::FEATURE_NOT_SUPPORTED, format!("{name} with an offset of NULL is not supported"));
    }
    match (constant(offset), count) {
        (Some(..=0), Some(sqlstate)) => fail(sqlstate, format!("argument of {name} must be greater than zero")),
        _ => Ok(()),
    }
}

/// Whether an argument is one of each row.
pub(super) fn is_of_rows(expr: &Expr) -> bool {
    expr.any_column_refs() || expr.contains_outer()
}

fn constant(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Literal(ScalarValue::Int32(value), _) => value.map(i64::from),
        Expr::Literal(ScalarValue::Int64(value), _) => *value,
        Expr::Negative(inner) => constant(inner)?.checked_neg(),
        Expr::ScalarFunction(call) if call.func.name() == "negative" => constant(call.args.first()?)?.checked_neg(),
        _ => None,
    }
}

/// An integer literal as wide as it was read.
fn widened(expr: Expr) -> Expr {
    match expr {
        Expr::Literal(ScalarValue::Int32(Some(value)), metadata) => {
            Expr::Literal(ScalarValue::Int64(Some(i64::from(value))), metadata)
        }
        expr => expr,
    }
}

/// The type that PostgreSQL gives the result, where DataFusion's is another.
pub(super) fn output(expr: &Expr, inputs: &DFSchema) -> Result<Option<DataType>> {
    let (name, args) = match expr {
        Expr::Alias(alias) => return output(&alias.expr, inputs),
        Expr::AggregateFunction(AggregateFunction { func, params }) => (func.name(), &params.args),
        Expr::WindowFunction(window) => {
            let WindowFunction { fun, params } = window.as_ref();
            let name = fun.name();
            (name, &params.args)
        }
        _ => return Ok(None),
    };
    let argument = match args.first() {
        Some(first) => first.get_type(inputs)?,
        None => DataType::Null,
    };
    Ok(match (name, &argument) {
        ("avg", DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale)) => {
            Some(DataType::Decimal128(NUMERIC_DIGITS_MAX, (*scale).min(NUMERIC_DIGITS_MAX as i8 - AVERAGE_SCALE_ADDED)))
        }
        ("ntile", _) => Some(DataType::Int32),
        _ => match expr.get_type(inputs)? {
            DataType::UInt64 => Some(DataType::Int64),
            DataType::LargeUtf8 if name == "string_agg" => Some(DataType::Utf8View),
            _ => None,
        },
    })
}
