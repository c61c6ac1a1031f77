//! Calls that differ in a cast of their arguments only, `sum(a), sum(a::numeric)`, or of the keys
//! of their windows.
//!
//! DataFusion names a result by its expression without casts, and refuses two of one name.
//! An argument of such calls with a cast in it goes through `coalesce` of itself alone, once or
//! more often, which is part of the name and changes nothing; a key as well.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Statement, Value, WindowSpec, WindowType,
};

use super::ast::{in_coalesce, last_word};
use crate::functions::type_called;
use crate::syntax::{is_aggregate, visit_expressions, visit_expressions_mut};

/// What calls of one name are written with, in the order in which they come.
#[derive(Default)]
struct Written {
    arguments: Vec<String>,
    windows: Vec<String>,
}

/// Makes the names of such calls unique.
pub(super) fn make_names_unique(statement: &mut Statement) {
    let mut cast = false;
    let mut calls: HashMap<String, Written> = HashMap::new();
    let _: ControlFlow<()> = visit_expressions(statement, |expr| {
        if let Expr::Function(function) = expr
            && let Some((name, has_cast)) = name_without_casts(function)
        {
            cast |= has_cast;
            let written = calls.entry(name).or_default();
            let keys = window(function).map(written_keys).unwrap_or_default();
            for (all, this) in [(&mut written.arguments, function.args.to_string()), (&mut written.windows, keys)] {
                if !all.contains(&this) {
                    all.push(this);
                }
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
        let Some(written) = calls.get(&name) else { return ControlFlow::Continue(()) };
        if let Some(times) = place(&written.arguments, &function.args.to_string())
            && let FunctionArguments::List(list) = &mut function.args
        {
            for argument in &mut list.args {
                if let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument {
                    wrap_cast(argument, times);
                }
            }
        }
        if let Some(WindowType::WindowSpec(window)) = &mut function.over
            && let Some(times) = place(&written.windows, &written_keys(window))
        {
            window.partition_by.iter_mut().for_each(|key| wrap_cast(key, times));
            window.order_by.iter_mut().for_each(|key| wrap_cast(&mut key.expr, times));
        }
        ControlFlow::Continue(())
    });
}

/// From 1, if there are others.
fn place(all: &[String], this: &str) -> Option<usize> {
    let place = all.iter().position(|other| other == this)?;
    (all.len() > 1).then_some(place + 1)
}

fn wrap_cast(expr: &mut Expr, times: usize) {
    if take_casts_off(&mut expr.clone()) {
        in_coalesce(expr, times);
    }
}

fn window(function: &Function) -> Option<&WindowSpec> {
    match &function.over {
        Some(WindowType::WindowSpec(window)) => Some(window),
        _ => None,
    }
}

fn written_keys(window: &WindowSpec) -> String {
    let keys = window.partition_by.iter().map(Expr::to_string);
    keys.chain(window.order_by.iter().map(|key| key.to_string())).collect::<Vec<_>>().join("\0")
}

/// An aggregate or a window function as DataFusion names it, and whether there is a cast in an
/// argument or in a key of its window. `None` where there are no plain arguments.
fn name_without_casts(function: &Function) -> Option<(String, bool)> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let called = last_word(&function.name);
    if function.over.is_none() && !is_aggregate(&called) {
        return None;
    }
    let (mut name, mut cast) = (collected_by(&called).to_owned(), false);
    let mut add = |expr: &Expr| {
        let mut plain = expr.clone();
        cast |= take_casts_off(&mut plain);
        name.push('\0');
        name.push_str(&plain.to_string());
    };
    for argument in &list.args {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => add(argument),
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => {}
            _ => return None,
        }
    }
    if let Some(window) = window(function) {
        window.partition_by.iter().for_each(&mut add);
        window.order_by.iter().for_each(|key| add(&key.expr));
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
        let is_cast = !matches!(expr, Expr::Nested(_));
        let inner = match expr {
            Expr::Cast { expr: inner, .. } | Expr::Nested(inner) => Some(inner.as_mut()),
            Expr::Function(function) => cast_value(function),
            _ => None,
        };
        if let Some(inner) = inner {
            found |= is_cast;
            *expr = std::mem::replace(inner, Expr::value(Value::Null));
        }
        ControlFlow::Continue(())
    });
    found
}

/// What is cast by a call of a type's name.
fn cast_value(function: &mut Function) -> Option<&mut Expr> {
    type_called(&last_word(&function.name))?;
    match &mut function.args {
        FunctionArguments::List(list) => match list.args.as_mut_slice() {
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(value))] => Some(value),
            _ => None,
        },
        _ => None,
    }
}
