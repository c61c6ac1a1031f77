//! VALUES whose items have types of their own: `VALUES (1::numeric), (2)`.
//!
//! The planner takes types of different names for a mistake, and a text in quotes for text.
//! Wrapped, items have no name of a type and texts no type, until the types of the whole column are
//! settled.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectName, Query, SetExpr, Statement, UnaryOperator, Value, Values, VisitorMut,
};

use super::deferred::VALUES_ITEM;
use crate::syntax::{plain_call, visit_mut};

/// Wraps the items of all VALUES of a statement that are more than literals of one kind.
pub(super) fn wrap_items(statement: &mut Statement) {
    // It never breaks.
    let _walked = visit_mut(statement, &mut Wrapping);
}

struct Wrapping;

impl VisitorMut for Wrapping {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let mut operations = vec![query.body.as_mut()];
        while let Some(operation) = operations.pop() {
            match operation {
                SetExpr::SetOperation { left, right, .. } => operations.extend([left.as_mut(), right.as_mut()]),
                SetExpr::Values(values) => wrap(values),
                _ => {}
            }
        }
        ControlFlow::Continue(())
    }
}

fn wrap(values: &mut Values) {
    let width = values.rows.first().map_or(0, |row| row.content.len());
    for place in 0..width {
        let items = || values.rows.iter().filter_map(|row| row.content.get(place));
        let beside_parameters = items().any(is_parameter) && !items().all(is_parameter);
        let is_text_beside_others = || items().any(is_text) && items().any(is_of_other_kind);
        if !beside_parameters && !items().any(has_type) && !is_text_beside_others() {
            continue;
        }
        for item in values.rows.iter_mut().filter_map(|row| row.content.get_mut(place)) {
            if !matches!(item, Expr::Value(value) if matches!(value.value, Value::Null)) {
                let inner = std::mem::replace(item, Expr::value(Value::Null));
                *item = wrapped(inner);
            }
        }
    }
}

fn is_parameter(item: &Expr) -> bool {
    matches!(item, Expr::Value(value) if matches!(value.value, Value::Placeholder(_)))
}

fn is_text(item: &Expr) -> bool {
    matches!(item, Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_)))
}

fn is_of_other_kind(item: &Expr) -> bool {
    match item {
        Expr::Value(value) => !matches!(value.value, Value::SingleQuotedString(_) | Value::Null),
        _ => true,
    }
}

/// Whether an item is more than a literal.
fn has_type(item: &Expr) -> bool {
    match item {
        Expr::Value(_) => false,
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => has_type(expr),
        Expr::Nested(inner) => has_type(inner),
        _ => true,
    }
}

/// An item of VALUES without the name of its type.
pub(crate) fn wrapped(item: Expr) -> Expr {
    plain_call(ObjectName::from(vec![Ident::with_quote('"', VALUES_ITEM)]), vec![item])
}
