//! Table functions of schema `rowkey`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Statement, visit_relations_mut};

use crate::system_catalog::ROWKEY_SCHEMA;

/// `access_paths(sql)`: how a statement would find its rows.
pub(super) const ACCESS_PATHS: &str = "access_paths";

/// `entity_types(table, property)`: the kinds of entities that a table holds.
pub(super) const ENTITY_TYPES: &str = "entity_types";

/// Table functions of schema `rowkey` are known to the planner by their bare names.
pub(super) fn unqualify(statement: &mut Statement) {
    let _walked: ControlFlow<()> = visit_relations_mut(statement, |name| {
        let named = |place: usize, wanted: &[&str]| {
            let part = name.0.get(place).and_then(|part| part.as_ident());
            part.is_some_and(|part| wanted.iter().any(|wanted| part.value.eq_ignore_ascii_case(wanted)))
        };
        if name.0.len() == 2 && named(0, &[ROWKEY_SCHEMA]) && named(1, &[ACCESS_PATHS, ENTITY_TYPES]) {
            name.0.remove(0);
        }
        ControlFlow::Continue(())
    });
}
