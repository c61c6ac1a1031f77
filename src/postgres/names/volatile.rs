//! Calls of volatile functions in aggregates and in conditions: each gets a number, since the
//! planner takes two aggregates, or two conditions of nested queries, for one where they are
//! written alike. PostgreSQL computes each.

use datafusion::sql::sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value};

use crate::functions::NUMBERED_CALL;
use crate::syntax::{call_named, is_volatile, visit_own_expressions_mut};

/// Numbers the volatile calls in the arguments of an aggregate.
pub(super) fn number_in_arguments(function: &mut Function, numbers: &mut usize) {
    let FunctionArguments::List(list) = &mut function.args else { return };
    for argument in &mut list.args {
        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument {
            number(expr, numbers);
        }
    }
}

/// Numbers the volatile calls of an expression, outside of its subqueries.
pub(super) fn number(expr: &mut Expr, numbers: &mut usize) {
    visit_own_expressions_mut(expr, |expr| {
        if matches!(expr, Expr::Function(function) if is_volatile(function)) {
            *numbers += 1;
            let call = std::mem::replace(expr, Expr::value(Value::Null));
            let number = Expr::value(Value::Number(numbers.to_string(), false));
            *expr = call_named(NUMBERED_CALL, vec![call, number]);
        }
    });
}
