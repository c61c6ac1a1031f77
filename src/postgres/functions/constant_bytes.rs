//! How large the values of constant expressions are, before they are computed. Plans hold what the
//! optimizer computes of constants, and are copied about: large ones are computed while rows are.

use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{BinaryExpr, Expr};

use super::cast::PostgresCast;
use super::scalar::Scalar;

/// Calls that hold whole expressions, and what such an expression has of constant texts at most.
pub(super) const FUSED: &str = "fused";
pub(super) const FUSED_CONSTANT_BYTES_MAX: usize = 1 << 10;

/// Of what is not known to be small.
const UNKNOWN_BYTES: usize = usize::MAX;

/// Whether an expression calls a function that is not computed before there are rows.
///
/// # Errors
/// None: nothing is asked that may fail.
pub(crate) fn is_deferred(expr: &Expr) -> Result<bool> {
    expr.exists(|expr| Ok(is_deferred_part(expr)))
}

/// The same of the outermost call.
pub(super) fn is_deferred_part(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if Scalar::is_deferred(&call.func))
}

/// The bytes that a constant text or array takes at most, as far as its length can be told; 0 for
/// what is no constant.
pub(super) fn constant_bytes(expr: &Expr) -> usize {
    match expr {
        Expr::Literal(value, _) => bytes_of(value),
        Expr::Cast(cast) => constant_bytes(&cast.expr),
        Expr::ScalarFunction(call) if Scalar::is_deferred(&call.func) => UNKNOWN_BYTES,
        Expr::ScalarFunction(call) => match (call.func.name(), call.args.as_slice()) {
            ("repeat", [text, count, ..]) => constant_bytes(text).saturating_mul(constant_number(count)),
            ("lpad" | "rpad", [_, count, ..]) => constant_number(count),
            ("array_fill", args) if args.iter().all(is_constant) => UNKNOWN_BYTES,
            ("replace", [text, _, replacement]) | ("regexp_replace", [text, _, replacement, ..]) => {
                constant_bytes(text).saturating_mul(constant_bytes(replacement).max(1))
            }
            ("array_to_string", [items, separator, ..]) => {
                constant_bytes(items).saturating_mul(constant_bytes(separator).max(1))
            }
            ("format", [format, arguments @ ..]) => constant_bytes(format).saturating_mul(sum_of(arguments).max(1)),
            (FUSED, _) => FUSED_CONSTANT_BYTES_MAX,
            _ => sum_of(&call.args),
        },
        Expr::BinaryExpr(binary) => constant_bytes(&binary.left).saturating_add(constant_bytes(&binary.right)),
        _ => 0,
    }
}

fn sum_of(exprs: &[Expr]) -> usize {
    exprs.iter().map(constant_bytes).fold(0, usize::saturating_add)
}

fn bytes_of(value: &ScalarValue) -> usize {
    match value {
        ScalarValue::List(_) => value.size(),
        value => value.try_as_str().flatten().map_or(0, str::len),
    }
}

/// A constant number, the largest if it is not known yet; 0 for what is no constant.
fn constant_number(expr: &Expr) -> usize {
    match constant_integer(expr) {
        Some(number) => usize::try_from(number.max(0)).unwrap_or(UNKNOWN_BYTES),
        None if is_constant(expr) && !is_null(expr) => UNKNOWN_BYTES,
        None => 0,
    }
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(value, _) if value.is_null())
}

/// What an expression of integer literals, and of lengths of literals, comes to: keys are padded by
/// those.
fn constant_integer(expr: &Expr) -> Option<i128> {
    match expr {
        Expr::Literal(ScalarValue::Int64(number), _) => number.map(i128::from),
        Expr::Literal(ScalarValue::Int32(number), _) => number.map(i128::from),
        Expr::Literal(ScalarValue::Int16(number), _) => number.map(i128::from),
        Expr::Cast(cast) => constant_integer(&cast.expr),
        Expr::Negative(inner) => constant_integer(inner)?.checked_neg(),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => computed(left, &op.to_string(), right),
        Expr::ScalarFunction(call) => match (call.func.name(), call.args.as_slice()) {
            (_, [inner]) if PostgresCast::target_of(call).is_some() => constant_integer(inner),
            ("negative", [inner]) => constant_integer(inner)?.checked_neg(),
            ("length" | "char_length" | "character_length", [Expr::Literal(text, _)]) => {
                text.try_as_str().flatten().map(|text| text.chars().count() as i128)
            }
            (op, [left, right]) => computed(left, op, right),
            _ => None,
        },
        _ => None,
    }
}

/// The same of two operands and an operator, as which a function is called that takes its place.
fn computed(left: &Expr, op: &str, right: &Expr) -> Option<i128> {
    let apply = match op {
        "+" => i128::checked_add,
        "-" => i128::checked_sub,
        "*" => i128::checked_mul,
        _ => return None,
    };
    apply(constant_integer(left)?, constant_integer(right)?)
}

fn is_constant(expr: &Expr) -> bool {
    let varies = |expr: &Expr| {
        matches!(
            expr,
            Expr::Column(_)
                | Expr::OuterReferenceColumn(..)
                | Expr::Placeholder(_)
                | Expr::ScalarSubquery(_)
                | Expr::Exists(_)
                | Expr::InSubquery(_)
                | Expr::SetComparison(_)
        )
    };
    expr.exists(|expr| Ok(varies(expr))).is_ok_and(|varies| !varies)
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::{col, lit};

    use super::*;

    #[test]
    fn numbers_of_constants_are_known_or_large() {
        for (expr, number) in [
            (lit(3), 3),
            (lit(2_i64) + lit(3_i16), 5),
            (lit(2) - lit(3), 0),
            (lit(4) * -lit(-3), 12),
            (lit(i64::MAX) * lit(i64::MAX), UNKNOWN_BYTES),
            (lit(ScalarValue::Int32(None)), 0),
            (lit(7) / lit(2), UNKNOWN_BYTES),
            (col("n"), 0),
            (col("n") + lit(2), 0),
        ] {
            assert_eq!(constant_number(&expr), number, "{expr}");
        }
    }
}
