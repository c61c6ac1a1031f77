//! Calls that differ in a cast of their arguments only: `sum(a), sum(a::numeric)`.
//!
//! DataFusion names a result by its expression without casts, and refuses two of one name.
//! The cast argument of such calls goes through `coalesce` of itself alone, once or more often,
//! which is part of the name and changes nothing.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Statement, Value,
};

use super::ast::{call, last_word};
use crate::syntax::{visit_expressions, visit_expressions_mut};

/// Makes the names of such calls unique.
pub(super) fn make_names_unique(statement: &mut Statement) {
    let mut cast = false;
    // The arguments of each name, in the order in which they come.
    let mut calls: HashMap<String, Vec<String>> = HashMap::new();
    let _: ControlFlow<()> = visit_expressions(statement, |expr| {
        if let Expr::Function(function) = expr
            && let Some((name, has_cast)) = name_without_casts(function)
        {
            cast |= has_cast;
            let (same, arguments) = (calls.entry(name).or_default(), function.args.to_string());
            if !same.contains(&arguments) {
                same.push(arguments);
            }
        }
        ControlFlow::Continue(())
    });
    if !cast {
        return;
    }
    let _: ControlFlow<()> = visit_expressions_mut(statement, |expr| {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        let Some((name, true)) = name_without_casts(function) else { return ControlFlow::Continue(()) };
        let place = calls.get(&name).filter(|same| same.len() > 1).and_then(|same| {
            let arguments = function.args.to_string();
            same.iter().position(|other| *other == arguments)
        });
        if let (Some(place), FunctionArguments::List(list)) = (place, &mut function.args) {
            for argument in &mut list.args {
                if let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument
                    && without_cast(argument).is_some()
                {
                    for _ in 0..=place {
                        let inner = std::mem::replace(argument, Expr::value(Value::Null));
                        *argument = call("coalesce", vec![inner]);
                    }
                }
            }
        }
        ControlFlow::Continue(())
    });
}

/// The call as DataFusion names it, and whether an argument is a cast. `None` where there are
/// no plain arguments.
fn name_without_casts(function: &Function) -> Option<(String, bool)> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let (mut name, mut cast) = (last_word(&function.name), false);
    for argument in &list.args {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument else { return None };
        let inner = without_cast(argument);
        cast |= inner.is_some();
        name.push('\0');
        name.push_str(&inner.unwrap_or(argument).to_string());
    }
    Some((name, cast))
}

fn without_cast(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Nested(inner) => without_cast(inner),
        Expr::Cast { expr, .. } => Some(without_cast(expr).unwrap_or(expr)),
        _ => None,
    }
}
