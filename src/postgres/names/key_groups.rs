//! GROUP BY the key of a table: its other columns have one value in each group, and may be named
//! like those that are grouped by.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, GroupByExpr, OrderBy, Value};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::Lookup;
use super::column::{Place, quoted};
use super::order::Item;
use super::scope::{Resolver, Source, unwrapped};
use crate::syntax::visit_expressions;

/// A column by its alias in the plan and its name.
type ColumnName = (String, String);

/// Columns that clauses beside the select list name.
pub(super) fn named_columns(having: Option<&Expr>, order_by: Option<&OrderBy>) -> Vec<ColumnName> {
    let mut columns = Vec::new();
    having.into_iter().for_each(|expr| add_columns(expr, &mut columns));
    order_by.into_iter().for_each(|order_by| add_columns(order_by, &mut columns));
    columns
}

fn add_columns(node: &impl datafusion::sql::sqlparser::ast::Visit, columns: &mut Vec<ColumnName>) {
    let _: ControlFlow<()> = visit_expressions(node, |expr| {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [alias, name] = parts.as_slice()
        {
            columns.push((alias.value.clone(), name.value.clone()));
        }
        ControlFlow::Continue(())
    });
}

impl Resolver<'_> {
    /// Adds to a resolved GROUP BY what is named of tables that it has the keys of; `named` are
    /// the columns of other clauses.
    pub(super) fn group_by_rows(&self, group_by: &mut GroupByExpr, items: &[Item], mut named: Vec<ColumnName>) {
        let GroupByExpr::Expressions(terms, _) = group_by else { return };
        let is_set = |term: &Expr| matches!(term, Expr::GroupingSets(_) | Expr::Cube(_) | Expr::Rollup(_));
        if terms.is_empty() || terms.iter().any(is_set) {
            return;
        }
        let mut grouped: Vec<ColumnName> = Vec::new();
        for term in terms.iter() {
            let term = match unwrapped(term) {
                Expr::Value(value) => match &value.value {
                    Value::Number(position, _) => {
                        let place = position.parse::<usize>().ok().and_then(|position| position.checked_sub(1));
                        place.and_then(|place| items.get(place)).map(|item| unwrapped(&item.expr))
                    }
                    _ => None,
                },
                term => Some(term),
            };
            if let Some(column @ Expr::CompoundIdentifier(_)) = term {
                add_columns(column, &mut grouped);
            }
        }
        let sources = self.levels.last().map(|level| level.frame.sources.as_slice()).unwrap_or_default();
        let keyed: Vec<&str> = sources
            .iter()
            .filter(|source| {
                let key = self.key_of(source);
                let is_grouped =
                    |column: &String| grouped.iter().any(|(alias, name)| **alias == *source.alias && name == column);
                !key.is_empty() && key.iter().all(is_grouped)
            })
            .map(|source| &*source.alias)
            .collect();
        if keyed.is_empty() {
            return;
        }
        items.iter().for_each(|item| add_columns(&item.expr, &mut named));
        for (alias, name) in named {
            let column = (alias, name);
            if keyed.contains(&column.0.as_str()) && !grouped.contains(&column) {
                let parts = vec![quoted(&column.0, Span::empty()), quoted(&column.1, Span::empty())];
                terms.push(Expr::CompoundIdentifier(parts));
                grouped.push(column);
            }
        }
    }

    /// The key of the table that an item of FROM is, under the names that the item has for it.
    fn key_of(&self, source: &Source) -> Vec<String> {
        let Some((schema, name)) = &source.relation else { return Vec::new() };
        let Lookup::Found(relation) = self.relations.relation(Some((schema, true)), (name, true)) else {
            return Vec::new();
        };
        let named = relation.key.iter().map(|key| {
            let place = relation.columns.iter().position(|column| column == key)?;
            match &source.columns.get(place)?.place {
                Place::Source { name, .. } => Some(name.as_ref().to_owned()),
                Place::Computed(_) => None,
            }
        });
        named.collect::<Option<Vec<_>>>().unwrap_or_default()
    }
}
