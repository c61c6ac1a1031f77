//! `lag` and `lead` with a default: one of any expression, in a type that goes with that of the
//! value. DataFusion takes constants, and casts them to the value's type.

use datafusion::sql::sqlparser::ast::{
    CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value,
    helpers::attached_token::AttachedToken,
};

use super::ast::last_word;

/// `lag(x, n, d) OVER w` as `CASE WHEN lag(true, n) OVER w THEN lag(x, n) OVER w ELSE d END`.
pub(super) fn with_default(mut function: Function) -> Result<Expr, Function> {
    if function.over.is_none() || !["lag", "lead"].contains(&last_word(&function.name).as_str()) {
        return Err(function);
    }
    let FunctionArguments::List(list) = &mut function.args else { return Err(function) };
    let [_, offset, default] = list.args.as_slice() else { return Err(function) };
    let (FunctionArg::Unnamed(FunctionArgExpr::Expr(offset)), FunctionArg::Unnamed(FunctionArgExpr::Expr(default))) =
        (offset, default)
    else {
        return Err(function);
    };
    // Of no offset there is no value, and no default either.
    if is_null(offset) || is_null(default) {
        return Err(function);
    }
    let default = default.clone();
    list.args.truncate(2);
    let mut exists = function.clone();
    if let FunctionArguments::List(list) = &mut exists.args
        && let Some(value) = list.args.first_mut()
    {
        *value = FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::value(Value::Boolean(true))));
    }
    Ok(Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen { condition: Expr::Function(exists), result: Expr::Function(function) }],
        else_result: Some(Box::new(default)),
    })
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if value.value == Value::Null)
}
