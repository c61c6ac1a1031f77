//! Functions that may give another value at each call.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Function, Visit};

use super::visit::visit_expressions;

const VOLATILE: [&str; 3] = ["clock_timestamp", "gen_random_uuid", "random"];

pub(crate) fn is_volatile(function: &Function) -> bool {
    let name = function.name.0.last().and_then(|part| part.as_ident());
    name.is_some_and(|name| VOLATILE.iter().any(|known| name.value.eq_ignore_ascii_case(known)))
}

/// Whether a part of a statement calls one.
pub(crate) fn has_volatile(node: &impl Visit) -> bool {
    let found = visit_expressions(node, |expr| match expr {
        Expr::Function(function) if is_volatile(function) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}
