//! Calls that differ in a cast of their arguments only: `sum(a), sum(a::numeric)`.
//!
//! DataFusion names a result by its expression without casts, and refuses two of one name.
//! An argument of such calls with a cast in it goes through `coalesce` of itself alone, once or
//! more often, which is part of the name and changes nothing.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Statement, Value,
};

use super::ast::{call, last_word};
use crate::functions::is_aggregate;
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
                    && take_casts_off(&mut argument.clone())
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

/// An aggregate or a window function as DataFusion names it, and whether there is a cast in an
/// argument. `None` where there are no plain arguments.
fn name_without_casts(function: &Function) -> Option<(String, bool)> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let called = last_word(&function.name);
    if function.over.is_none() && !is_aggregate(&called) {
        return None;
    }
    let (mut name, mut cast) = (collected_by(&called).to_owned(), false);
    for argument in &list.args {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument else { return None };
        let mut plain = argument.clone();
        cast |= take_casts_off(&mut plain);
        name.push('\0');
        name.push_str(&plain.to_string());
    }
    Some((name, cast))
}

/// What a document is collected by, several by the same, and one of the names of an aggregate that
/// has two.
fn collected_by(name: &str) -> &str {
    match name {
        "variance" => "var_samp",
        "stddev" => "stddev_samp",
        "every" => "bool_and",
        "json_agg" | "jsonb_agg" => "array_agg",
        "json_object_agg" => "jsonb_object_agg",
        _ => name,
    }
}

/// Takes off casts, and parentheses, which names do not have either; whether there was a cast.
pub(super) fn take_casts_off(expr: &mut Expr) -> bool {
    let mut found = false;
    let _: ControlFlow<()> = visit_expressions_mut(expr, |expr| {
        let is_cast = matches!(expr, Expr::Cast { .. });
        if let Expr::Cast { expr: inner, .. } | Expr::Nested(inner) = expr {
            found |= is_cast;
            *expr = std::mem::replace(inner, Expr::value(Value::Null));
        }
        ControlFlow::Continue(())
    });
    found
}
