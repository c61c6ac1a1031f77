//! Calls whose arguments are literals in quotes and NULLs alone, which have no types.
//!
//! PostgreSQL prefers texts, and where a function takes none it is told which there are too many
//! of, or that the type of the result is that of an argument without one.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Spanned,
    UnaryOperator, Value,
};

use super::error::{NameError, Result, SqlState};
use super::scope::unwrapped;

/// Functions whose result has a type for each type of their first argument.
const POLYMORPHIC: [&str; 16] = [
    "array_dims",
    "array_fill",
    "array_length",
    "array_lower",
    "array_ndims",
    "array_to_json",
    "array_to_string",
    "array_upper",
    "cardinality",
    "generate_subscripts",
    "json_agg",
    "jsonb_agg",
    "mode",
    "to_json",
    "to_jsonb",
    "trim_array",
];

/// Functions of several types, none of which is preferred.
const SEVERAL: [&str; 17] = [
    "array_agg",
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "date_part",
    "date_trunc",
    "gcd",
    "generate_series",
    "isfinite",
    "lcm",
    "mod",
    "sum",
    "to_char",
    "to_hex",
    "unnest",
    "date_bin",
];

/// Aggregates of the rows in an order.
const ORDERED_SET: [&str; 3] = ["mode", "percentile_cont", "percentile_disc"];

/// Aggregates of one type, or of a preferred one.
const OF_BOOLEANS: [&str; 3] = ["bool_and", "bool_or", "every"];
const OF_DOUBLES: [&str; 6] = ["stddev", "stddev_pop", "stddev_samp", "var_pop", "var_samp", "variance"];

/// Types the arguments of a call that have no types.
///
/// # Errors
/// PostgreSQL's, where it finds none.
pub(super) fn settle(name: &str, function: &mut Function) -> Result<()> {
    let at = function.name.span();
    if ORDERED_SET.contains(&name) && function.within_group.is_empty() && function.over.is_none() {
        let message = format!("WITHIN GROUP is required for ordered-set aggregate {name}");
        return Err(NameError::new(SqlState::WRONG_OBJECT_TYPE, message).at_span(at));
    }
    if name == "mode" {
        let untyped = function.within_group.iter().any(|by| is_untyped(&by.expr));
        return if untyped { Err(polymorphic().at_span(at)) } else { Ok(()) };
    }
    if name == "percentile_disc" && function.within_group.iter().any(|by| is_untyped(&by.expr)) {
        return Err(polymorphic().at_span(at));
    }
    if name == "percentile_cont" {
        function.within_group.iter_mut().for_each(|by| cast(&mut by.expr, DataType::DoublePrecision));
        return Ok(());
    }
    let FunctionArguments::List(list) = &mut function.args else { return Ok(()) };
    let given = list.args.len();
    let mut arguments = list.args.iter_mut().map(plain);
    if POLYMORPHIC.contains(&name) {
        return match arguments.next().flatten() {
            Some(first) if is_untyped(first) => Err(polymorphic().at_span(at)),
            _ => Ok(()),
        };
    }
    if ["lag", "lead"].contains(&name) && given == 3 {
        // Of one type with their default, which is text if it has none either.
        let mut values = arguments.flatten().step_by(2);
        if let (Some(value), Some(default)) = (values.next(), values.next())
            && is_untyped(value)
            && is_untyped(default)
        {
            cast(value, DataType::Text);
        }
        return Ok(());
    }
    if OF_BOOLEANS.contains(&name) || OF_DOUBLES.contains(&name) {
        let wanted = || if OF_BOOLEANS.contains(&name) { DataType::Boolean } else { DataType::DoublePrecision };
        arguments.flatten().for_each(|argument| cast(argument, wanted()));
        return Ok(());
    }
    if !SEVERAL.contains(&name) && (name != "age" || list.args.len() != 1) || list.args.is_empty() {
        return Ok(());
    }
    if list.args.iter_mut().map(plain).all(|argument| argument.is_some_and(|argument| is_untyped(argument))) {
        let types = vec!["unknown"; list.args.len()].join(", ");
        let message = format!("function {name}({types}) is not unique");
        return Err(NameError::new(SqlState::AMBIGUOUS_FUNCTION, message)
            .with_hint("Could not choose a best candidate function. You might need to add explicit type casts.")
            .at_span(at));
    }
    Ok(())
}

/// Types the operands of an operator that have no types.
///
/// # Errors
/// PostgreSQL's, where several operators would do.
pub(super) fn settle_operands(expr: &mut Expr) -> Result<()> {
    match expr {
        Expr::BinaryOp { left, op, right } if is_untyped(left) && is_untyped(right) => match op {
            BinaryOperator::And | BinaryOperator::Or => {
                cast(left, DataType::Boolean);
                cast(right, DataType::Boolean);
            }
            BinaryOperator::StringConcat => cast(left, DataType::Text),
            op if is_several(op) => {
                let message = format!("operator is not unique: unknown {op} unknown");
                return Err(ambiguous_operator(message).at_node(left.as_ref()));
            }
            _ => {}
        },
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => cast(expr, DataType::Boolean),
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => cast(expr, DataType::DoublePrecision),
        Expr::UnaryOp { op: op @ (UnaryOperator::Minus | UnaryOperator::BitwiseNot), expr } if is_untyped(expr) => {
            let message = format!("operator is not unique: {op} unknown");
            return Err(ambiguous_operator(message).at_node(expr.as_ref()));
        }
        Expr::Extract { expr, .. } if is_untyped(expr) => {
            let message = "function pg_catalog.extract(unknown, unknown) is not unique";
            return Err(NameError::new(SqlState::AMBIGUOUS_FUNCTION, message)
                .with_hint("Could not choose a best candidate function. You might need to add explicit type casts."));
        }
        Expr::Overlay { overlay_from, overlay_for, .. } => {
            cast(overlay_from, DataType::Integer(None));
            if let Some(length) = overlay_for {
                cast(length, DataType::Integer(None));
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether there is an operator of several types, none of which is preferred.
fn is_several(op: &BinaryOperator) -> bool {
    use BinaryOperator as Op;
    matches!(
        op,
        Op::Plus
            | Op::Minus
            | Op::Multiply
            | Op::Divide
            | Op::Modulo
            | Op::BitwiseAnd
            | Op::BitwiseOr
            | Op::PGBitwiseXor
            | Op::PGBitwiseShiftLeft
            | Op::PGBitwiseShiftRight
            | Op::PGOverlap
            | Op::AtArrow
            | Op::ArrowAt
    )
}

fn ambiguous_operator(message: String) -> NameError {
    NameError::new(SqlState::AMBIGUOUS_FUNCTION, message)
        .with_hint("Could not choose a best candidate operator. You might need to add explicit type casts.")
}

fn plain(argument: &mut FunctionArg) -> Option<&mut Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}

fn polymorphic() -> NameError {
    let message = "could not determine polymorphic type because input has type unknown";
    NameError::new(SqlState::DATATYPE_MISMATCH, message)
}

/// A literal in quotes, or NULL.
pub(super) fn is_untyped(expr: &Expr) -> bool {
    match unwrapped(expr) {
        Expr::Value(value) => matches!(
            value.value,
            Value::SingleQuotedString(_)
                | Value::EscapedStringLiteral(_)
                | Value::UnicodeStringLiteral(_)
                | Value::DollarQuotedString(_)
                | Value::Null
        ),
        _ => false,
    }
}

fn cast(expr: &mut Expr, data_type: DataType) {
    if is_untyped(expr) {
        let inner = Box::new(std::mem::replace(expr, Expr::value(Value::Null)));
        *expr = Expr::Cast { kind: CastKind::DoubleColon, expr: inner, data_type, array: false, format: None };
    }
}
