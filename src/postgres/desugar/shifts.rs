//! `lag` and `lead` with a default: one of any expression, in a type that goes with that of the
//! value. DataFusion takes constants, and casts them to the value's type.

use datafusion::sql::sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value};

use super::ast::last_word;
use crate::syntax::plain_case;

/// An offset in quotes is an integer. What is none is refused as it is.
pub(super) fn number_offset(function: &mut Function) {
    if !is_shift(function) {
        return;
    }
    let FunctionArguments::List(list) = &mut function.args else { return };
    if let [_, FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(offset))), ..] = list.args.as_mut_slice()
        && let Value::SingleQuotedString(digits) = &offset.value
        && let Ok(rows) = digits.trim().parse::<i32>()
    {
        offset.value = Value::Number(rows.to_string(), false);
    }
}

fn is_shift(function: &Function) -> bool {
    function.over.is_some() && ["lag", "lead"].contains(&last_word(&function.name).as_str())
}

/// `lag(x, n, d) OVER w` as `CASE WHEN lag(true, n) OVER w THEN lag(x, n) OVER w ELSE d END`, which
/// has one branch more where `n` may be NULL; None for another call.
pub(super) fn with_default(function: &Function) -> Option<Expr> {
    if !is_shift(function) {
        return None;
    }
    let FunctionArguments::List(list) = &function.args else { return None };
    let [_, FunctionArg::Unnamed(FunctionArgExpr::Expr(offset)), FunctionArg::Unnamed(FunctionArgExpr::Expr(default))] =
        list.args.as_slice()
    else {
        return None;
    };
    // Of no offset there is no value, and no default either.
    if is_null(offset) {
        return None;
    }
    let mut value = function.clone();
    if let FunctionArguments::List(list) = &mut value.args {
        list.args.truncate(2);
    }
    if is_null(default) {
        return Some(Expr::Function(value));
    }
    let mut exists = value.clone();
    if let FunctionArguments::List(list) = &mut exists.args
        && let Some(argument) = list.args.first_mut()
    {
        *argument = FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::value(Value::Boolean(true))));
    }
    let shifted = (Expr::Function(exists), Expr::Function(value));
    let branches = match offset {
        Expr::Value(_) => vec![shifted],
        _ => vec![(Expr::IsNull(Box::new(offset.clone())), Expr::value(Value::Null)), shifted],
    };
    Some(plain_case(branches, Some(default.clone())))
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if value.value == Value::Null)
}
