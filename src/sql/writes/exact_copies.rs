//! Values that a query copies as they are: with all digits of a DateTime, where SQL has
//! microseconds, and in their own types, where a column shows properties of several in one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

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

/// Assignments of ON CONFLICT DO UPDATE that copy a column which SQL may show otherwise.
pub(super) struct ConflictCopies<'a> {
    assigned: usize,
    copied: Vec<ConflictCopy<'a>>,
}

struct ConflictCopy<'a> {
    /// Its place among the assignments.
    place: usize,
    of_proposed: bool,
    property: &'a Arc<str>,
    times_only: bool,
}

impl<'a> ConflictCopies<'a> {
    pub(super) fn of(target: &'a Target, assignments: &[(usize, Expr)]) -> Self {
        let copy = |(place, (at, expr)): (usize, &(usize, Expr))| {
            let (alias, name) = copied_name(expr)?;
            let shown = &target.read(name).ok()?.takes;
            let times_only = match (shown, &target.columns[*at].takes) {
                (Takes::Widened { .. }, Takes::Widened { .. }) => false,
                (Takes::Typed { .. } | Takes::Widened { .. }, Takes::Typed { edm: EdmType::DateTime, .. }) => true,
                _ => return None,
            };
            Some(ConflictCopy { place, of_proposed: alias == EXCLUDED, property: shown.property()?, times_only })
        };
        Self { assigned: assignments.len(), copied: assignments.iter().enumerate().filter_map(copy).collect() }
    }

    /// By assignment, the value that a row has exactly; nothing if no assignment copies one.
    pub(super) fn values(&self, existing: &Entity, proposed: &Entity) -> Vec<Option<Value>> {
        if self.copied.is_empty() {
            return Vec::new();
        }
        let mut values = vec![None; self.assigned];
        for copy in &self.copied {
            let entity = if copy.of_proposed { proposed } else { existing };
            let value = entity.get(copy.property);
            values[copy.place] = value.filter(|value| !copy.times_only || matches!(value, Value::DateTime(_))).cloned();
        }
        values
    }
}

/// The columns that a query writes, of which those are ignored that stand beside a property for
/// each of its types, if there are as many others as are written: those of `SELECT *` have its
/// values as well. `ignored` is the place of a column whose values are.
pub(super) fn without_types(
    query: &Query,
    planner: &StatementPlanner,
    columns: Vec<usize>,
    ignored: Option<usize>,
) -> Vec<usize> {
    let (SetExpr::Select(select), Some(ignored)) = (query.body.as_ref(), ignored) else { return columns };
    if select.projection.len() <= columns.len() || !has_rows_of_input(select) {
        return columns;
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
    if beside.iter().filter(|beside| !**beside).count() != columns.len() {
        return columns;
    }
    let mut columns = columns.into_iter();
    let written = |beside: bool| if beside { Some(ignored) } else { columns.next() };
    beside.into_iter().filter_map(written).collect()
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
    if !alias.columns.is_empty() {
        return None;
    }
    let [ObjectNamePart::Identifier(schema), ObjectNamePart::Identifier(table)] = name.0.as_slice() else {
        return None;
    };
    let table = TableName::parse(&table.value).ok().filter(|_| schema.value == PUBLIC)?;
    let table = planner.snapshot().catalog.table(planner.account(), &table)?;
    Some((alias.name.value.clone(), planner.columns_of(table)))
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
