//! Which parameters a statement has.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{self, Value, Visit};

use super::visit::visit_expressions;
use rowkey_base::{Error, Result, SqlState};

/// The highest number of a parameter.
pub fn count(query: &ast::Statement) -> Result<usize> {
    Ok(used(query)?.last().copied().unwrap_or(0))
}

/// The numbers of the parameters in a query.
pub fn used(query: &ast::Statement) -> Result<BTreeSet<usize>> {
    used_in(query)
}

/// The numbers of the parameters in a part of a query.
pub fn used_in<V: Visit>(query: &V) -> Result<BTreeSet<usize>> {
    let mut numbers = BTreeSet::new();
    let found = visit_expressions(query, |expr| {
        if let ast::Expr::Value(value) = expr
            && let Value::Placeholder(name) = &value.value
        {
            match name.strip_prefix('$').and_then(|number| number.parse::<u16>().ok()) {
                Some(number) if number > 0 => {
                    numbers.insert(usize::from(number));
                }
                _ => return ControlFlow::Break(name.clone()),
            }
        }
        ControlFlow::Continue(())
    });
    match found {
        ControlFlow::Continue(()) => Ok(numbers),
        ControlFlow::Break(name) => {
            Err(Error::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter {name}")))
        }
    }
}

/// The number of the parameter that an expression is.
pub(crate) fn number_of(expr: &ast::Expr) -> Option<usize> {
    match expr {
        ast::Expr::Value(value) => match &value.value {
            Value::Placeholder(name) => name.strip_prefix('$')?.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}
