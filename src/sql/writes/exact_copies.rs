//! Values that a query copies as they are: with all digits of a DateTime, where SQL has
//! microseconds, and in their own types, where a column shows properties of several in one.

use std::collections::{HashMap, HashSet};

use arrow::array::RecordBatch;
use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, ObjectNamePart, Query, Select, SelectItem, SetExpr, Statement, TableFactor,
};

use super::exact_values::ExactValues;
use super::syntax::{EXCLUDED, column, item};
use super::target::{Takes, Target, TargetColumn};
use crate::planner::{PUBLIC, StatementPlanner};
use crate::provider::{ColumnSource, TableColumns, ticks_name};
use rowkey_model::columns::typed_name;
use rowkey_model::{EdmType, Entity, TableName, Value};

/// The columns that are added to a query for those that it copies.
#[derive(Debug, Default)]
pub(super) struct ExactCopies {
    copied: Vec<CopiedColumn>,
    added: usize,
}

/// A column that is copied, and where its values stand exactly.
#[derive(Debug)]
struct CopiedColumn {
    place: usize,
    exact: Vec<(EdmType, usize)>,
}

impl ExactCopies {
    /// Adds what is needed to a query whose names are resolved; `written` is the column that a
    /// place of its select list is assigned to.
    pub(super) fn add_to<'a>(
        query: &mut Statement,
        planner: &StatementPlanner,
        written: impl Fn(usize) -> Option<&'a TargetColumn>,
    ) -> Self {
        let mut copies = Self::default();
        let Statement::Query(query) = query else { return copies };
        let SetExpr::Select(select) = query.body.as_mut() else { return copies };
        if !has_rows_of_input(select) {
            return copies;
        }
        let tables = tables_of(select, planner);
        let width = select.projection.len();
        for place in 0..width {
            let (Some(target), Some((alias, name))) = (written(place), copied_column(&select.projection[place])) else {
                continue;
            };
            let Some(columns) = tables.get(alias) else { continue };
            let alias = alias.to_owned();
            let mut exact = Vec::new();
            for (edm, name) in exact_columns(columns, name, target) {
                exact.push((edm, select.projection.len()));
                let label = format!("(exact {})", select.projection.len());
                select.projection.push(item(column(&alias, &name), &label));
            }
            if !exact.is_empty() {
                copies.copied.push(CopiedColumn { place, exact });
            }
        }
        copies.added = select.projection.len() - width;
        copies
    }

    /// How many columns were added, behind all others.
    pub(super) fn added(&self) -> usize {
        self.added
    }

    /// The exact values of the column at a place.
    pub(super) fn of(&self, place: usize, batch: &RecordBatch) -> Option<ExactValues> {
        let copied = self.copied.iter().find(|copied| copied.place == place)?;
        let exact = copied.exact.iter().map(|(edm, place)| (*edm, batch.column(*place).clone()));
        Some(ExactValues(exact.collect()))
    }
}

/// For each assignment of ON CONFLICT DO UPDATE that copies a column, the value that the row has
/// there exactly, if SQL does not show it so.
pub(super) fn exact_values(
    target: &Target,
    assignments: &[(usize, Expr)],
    existing: &Entity,
    proposed: &Entity,
) -> Vec<Option<Value>> {
    let exact = |(at, expr): &(usize, Expr)| {
        let (alias, name) = copied_name(expr)?;
        let entity = if alias == EXCLUDED { proposed } else { existing };
        let (shown, written) = (&target.read(name).ok()?.takes, &target.columns[*at].takes);
        let (_, value) = entity.parts().iter().find(|(name, _)| Some(name) == shown.property())?;
        let is_exact = match (shown, written) {
            (Takes::Widened { .. }, Takes::Widened { .. }) => true,
            (Takes::Typed { .. } | Takes::Widened { .. }, Takes::Typed { edm: EdmType::DateTime, .. }) => {
                matches!(value, Value::DateTime(_))
            }
            _ => false,
        };
        is_exact.then(|| value.clone())
    };
    assignments.iter().map(exact).collect()
}

/// Leaves the columns out of a query that stand beside a property for each of its types, if there
/// are as many others as are written: those of `SELECT *` have its values as well.
pub(super) fn leave_types_out(query: &mut Query, planner: &StatementPlanner, written: usize) {
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    if select.projection.len() <= written || !has_rows_of_input(select) {
        return;
    }
    let tables = tables_of(select, planner);
    let copied: HashSet<(&str, &str)> = select.projection.iter().filter_map(copied_column).collect();
    let is_beside = |item: &SelectItem| {
        let Some((alias, name)) = copied_column(item) else { return false };
        let source = tables.get(alias).and_then(|columns| columns.source(name));
        matches!(source, Some(ColumnSource::Typed { property, .. })
            if **property != *name && copied.contains(&(alias, &**property)))
    };
    let beside: Vec<bool> = select.projection.iter().map(is_beside).collect();
    if beside.iter().filter(|beside| !**beside).count() == written {
        let mut beside = beside.into_iter();
        select.projection.retain(|_| !beside.next().unwrap_or_default());
    }
}

/// Whether a select has a row for each row of its input, or for some of them.
fn has_rows_of_input(select: &Select) -> bool {
    let is_grouped = !matches!(&select.group_by, GroupByExpr::Expressions(terms, _) if terms.is_empty());
    select.distinct.is_none() && !is_grouped && select.having.is_none()
}

/// The relation and the name of the column that an item is.
fn copied_column(item: &SelectItem) -> Option<(&str, &str)> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => copied_name(expr),
        _ => None,
    }
}

fn copied_name(expr: &Expr) -> Option<(&str, &str)> {
    match expr {
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [alias, name] => Some((&alias.value, &name.value)),
            _ => None,
        },
        _ => None,
    }
}

/// The columns of the tables in FROM, by alias.
fn tables_of(select: &Select, planner: &StatementPlanner) -> HashMap<String, TableColumns> {
    let relations = select.from.iter().flat_map(|from| {
        let joined = from.joins.iter().map(|join| &join.relation);
        std::iter::once(&from.relation).chain(joined)
    });
    relations.filter_map(|relation| table_columns(relation, planner)).collect()
}

/// The alias of a table, and its columns; `None` for any other relation.
fn table_columns(relation: &TableFactor, planner: &StatementPlanner) -> Option<(String, TableColumns)> {
    let TableFactor::Table { name, alias: Some(alias), args: None, .. } = relation else { return None };
    let [ObjectNamePart::Identifier(schema), ObjectNamePart::Identifier(table)] = name.0.as_slice() else {
        return None;
    };
    let table = TableName::parse(&table.value).ok().filter(|_| schema.value == PUBLIC)?;
    let table = planner.snapshot().catalog.table(planner.account(), &table)?;
    Some((alias.name.value.clone(), TableColumns::of(table)))
}

/// The types and names of the columns with the exact values of a column, as far as the one that
/// they are written to takes them.
fn exact_columns(columns: &TableColumns, name: &str, target: &TargetColumn) -> Vec<(EdmType, String)> {
    let takes_time = matches!(target.takes, Takes::Typed { edm: EdmType::DateTime, .. } | Takes::Widened { .. });
    match columns.source(name) {
        Some(ColumnSource::Typed { property, edm: EdmType::DateTime }) if takes_time => {
            vec![(EdmType::DateTime, ticks_name(property))]
        }
        Some(ColumnSource::Widened { property, types, .. }) if matches!(target.takes, Takes::Widened { .. }) => {
            let exact = |edm: EdmType| match edm {
                EdmType::DateTime => (edm, ticks_name(property)),
                edm => (edm, typed_name(property, edm)),
            };
            types.iter().map(|edm| exact(*edm)).collect()
        }
        _ => Vec::new(),
    }
}
