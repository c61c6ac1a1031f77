//! Aliases of outer queries that the planner would take for columns of an inner one.

use std::ops::ControlFlow;
use std::rc::Rc;

use datafusion::sql::sqlparser::ast::{Expr, Ident, Statement, TableFactor, VisitorMut};

use crate::syntax::visit_mut;

/// Gives other names to aliases, which are unique among those that see each other: where `s` has a
/// column and is the alias of an outer table too, the planner would look for a field in the column.
pub(super) fn rename_clashing(statement: &mut Statement, clashing: &[Rc<str>]) {
    if !clashing.is_empty() {
        let _walked = visit_mut(statement, &mut Renamed { clashing });
    }
}

struct Renamed<'a> {
    clashing: &'a [Rc<str>],
}

impl Renamed<'_> {
    fn rename(&self, name: &mut Ident) {
        if self.clashing.iter().any(|clashing| **clashing == *name.value) {
            name.value = format!("__{}", name.value);
        }
    }
}

impl VisitorMut for Renamed<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. }
        | TableFactor::Function { alias: Some(alias), .. }
        | TableFactor::UNNEST { alias: Some(alias), .. }
        | TableFactor::NestedJoin { alias: Some(alias), .. } = factor
        {
            self.rename(&mut alias.name);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [alias, _, ..] = parts.as_mut_slice()
        {
            self.rename(alias);
        }
        ControlFlow::Continue(())
    }
}
