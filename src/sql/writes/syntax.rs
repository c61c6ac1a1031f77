//! Queries made from the parts of statements that write.
//!
//! DataFusion is never given INSERT, UPDATE, DELETE or MERGE: its plans lose their filters in some
//! shapes. What they read is a SELECT made here, planned like any other; its rows become
//! operations.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    self, CastKind, Expr, Ident, ObjectName, Query, SelectItem, SetExpr, Statement, TableAlias, TableFactor,
    TableWithJoins, Value, With,
};

use super::target::TargetColumn;
use super::values::{is_default, is_untyped};
use crate::planner::MEMORY_ROWS;
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::parameters::data_type;
use rowkey_postgres::syntax::{
    is_aggregate, plain_case, plain_table, select_of, visit_expressions, visit_expressions_mut,
};

/// The name of the row proposed for insertion, in ON CONFLICT DO UPDATE.
pub(super) const EXCLUDED: &str = "excluded";

/// `WITH with SELECT items FROM from WHERE selection`.
pub(crate) fn select(
    with: Option<&With>,
    items: Vec<SelectItem>,
    from: Vec<TableWithJoins>,
    selection: Option<Expr>,
) -> Result<Statement> {
    let mut statement = select_of(null())?;
    if let Statement::Query(query) = &mut statement {
        query.with = with.cloned();
        if let SetExpr::Select(select) = query.body.as_mut() {
            select.projection = items;
            select.from = from;
            select.selection = selection;
        }
    }
    Ok(statement)
}

/// A query as a statement of its own, with a WITH in front.
pub(crate) fn statement_of(with: Option<&With>, query: &Query) -> Statement {
    let mut query = query.clone();
    if let Some(outer) = with {
        match &mut query.with {
            // Names in the plan are unique, so neither hides one of the other.
            Some(own) => {
                own.recursive |= outer.recursive;
                own.cte_tables.splice(0..0, outer.cte_tables.iter().cloned());
            }
            none => *none = Some(outer.clone()),
        }
    }
    Statement::Query(Box::new(query))
}

pub(crate) fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

/// `"alias"."column"`
pub(crate) fn column(alias: &str, name: &str) -> Expr {
    Expr::CompoundIdentifier(vec![quoted(alias), quoted(name)])
}

pub(crate) fn item(expr: Expr, label: &str) -> SelectItem {
    SelectItem::ExprWithAlias { expr, alias: quoted(label) }
}

pub(crate) fn null() -> Expr {
    Expr::value(Value::Null)
}

pub(crate) fn number(value: usize) -> Expr {
    Expr::value(Value::Number(value.to_string(), false))
}

/// `FROM "name" AS "alias"`
pub(crate) fn from_table(parts: &[&str], alias: &str) -> TableWithJoins {
    let name = ObjectName::from(parts.iter().map(|part| quoted(part)).collect::<Vec<_>>());
    plain_table(name, None, Some(TableAlias { explicit: true, name: quoted(alias), columns: Vec::new(), at: None }))
}

/// `CASE WHEN condition THEN result ... END`
pub(crate) fn case(branches: Vec<(Expr, Expr)>) -> Expr {
    if branches.is_empty() {
        return null();
    }
    plain_case(branches, None)
}

pub(crate) fn and(left: Expr, right: Expr) -> Expr {
    let nested = |expr| Box::new(Expr::Nested(Box::new(expr)));
    Expr::BinaryOp { left: nested(left), op: ast::BinaryOperator::And, right: nested(right) }
}

/// An expression as it is assigned to a column: a text or parameter of no type yet is read as the
/// column's.
pub(crate) fn assigned(expr: &Expr, column: &TargetColumn) -> Expr {
    if is_default(expr) {
        return null();
    }
    if !is_untyped(expr) {
        return expr.clone();
    }
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(expr.clone()),
        data_type: data_type(column.ty),
        array: false,
        format: None,
    }
}

/// The assignments of SET one by one; `(a, b) = (1, 2)` is two.
pub(crate) fn flattened(assignments: &[ast::Assignment]) -> Result<Vec<(String, Expr)>> {
    let mut flat = Vec::with_capacity(assignments.len());
    for assignment in assignments {
        match &assignment.target {
            ast::AssignmentTarget::ColumnName(name) => flat.push((last_part(name)?, assignment.value.clone())),
            ast::AssignmentTarget::Tuple(names) => {
                for (name, value) in names.iter().zip(several(&assignment.value, names.len())?) {
                    flat.push((last_part(name)?, value));
                }
            }
        }
    }
    Ok(flat)
}

fn several(value: &Expr, count: usize) -> Result<Vec<Expr>> {
    let same = |found: usize| match found == count {
        true => Ok(()),
        false => Err(Error::new(SqlState::SYNTAX_ERROR, "number of columns does not match number of values")),
    };
    match value {
        Expr::Tuple(values) => {
            same(values.len())?;
            Ok(values.clone())
        }
        Expr::Nested(inner) if count == 1 => Ok(vec![(**inner).clone()]),
        Expr::Subquery(query) => {
            if let SetExpr::Select(select) = query.body.as_ref()
                && matches!(&select.group_by, ast::GroupByExpr::Expressions(terms, _) if terms.is_empty())
                && select.projection.iter().any(aggregates)
                && !select.projection.iter().all(aggregates)
            {
                return Err(Error::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "(a, b) = (SELECT ...) of aggregates beside other values is not supported",
                )
                .with_hint("put the query into FROM and assign its columns"));
            }
            let of_one = |place: usize| {
                let mut query = query.clone();
                match query.body.as_mut() {
                    SetExpr::Select(select)
                        if select.distinct.is_none() && query.order_by.is_none() && !grouped_by_place(select) =>
                    {
                        same(select.projection.len())?;
                        select.projection = vec![select.projection.swap_remove(place)];
                        Ok(Expr::Subquery(query))
                    }
                    _ => Err(Error::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        "(a, b) = (SELECT ...) with DISTINCT, ORDER BY, GROUP BY positions or UNION is not supported",
                    )
                    .with_hint("put the query into FROM and assign its columns")),
                }
            };
            (0..count).map(of_one).collect()
        }
        _ => Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression",
        )),
    }
}

/// Whether there is an aggregate in an item, or in a query in it.
fn aggregates(item: &ast::SelectItem) -> bool {
    let (ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. }) = item else { return false };
    let found = visit_expressions(expr, |expr| match expr {
        Expr::Function(function) if is_aggregate(&function.name.to_string()) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

fn grouped_by_place(select: &ast::Select) -> bool {
    match &select.group_by {
        ast::GroupByExpr::All(_) => true,
        ast::GroupByExpr::Expressions(exprs, _) => {
            exprs.iter().any(|expr| matches!(expr, Expr::Value(value) if matches!(value.value, Value::Number(..))))
        }
    }
}

pub(crate) fn last_part(name: &ObjectName) -> Result<String> {
    let part = name.0.last().and_then(|part| part.as_ident());
    part.map(|ident| ident.value.clone())
        .ok_or_else(|| Error::new(SqlState::SYNTAX_ERROR, format!("{name} is no name of a column")))
}

/// Schema and name of a table after names are resolved.
pub(crate) fn relation_of(name: &ObjectName) -> Result<(String, String)> {
    match name.0.as_slice() {
        [schema, table] => match (schema.as_ident(), table.as_ident()) {
            (Some(schema), Some(table)) => Ok((schema.value.clone(), table.value.clone())),
            _ => Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{name} is no table"))),
        },
        _ => Err(Error::new(SqlState::INTERNAL_ERROR, format!("the table {name} was not resolved"))),
    }
}

/// The alias and the name of a table in FROM after names are resolved.
pub(crate) fn table_of(factor: &TableFactor) -> Result<(String, String, String)> {
    if let TableFactor::Table { name, alias: Some(alias), .. } = factor
        && let [schema, table] = name.0.as_slice()
        && let (Some(schema), Some(table)) = (schema.as_ident(), table.as_ident())
    {
        return Ok((schema.value.clone(), table.value.clone(), alias.name.value.clone()));
    }
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{factor} cannot be changed: it is no table")))
}

/// Aliases of everything in FROM.
pub(crate) fn aliases(from: &[TableWithJoins]) -> Vec<String> {
    fn of_factor(factor: &TableFactor, found: &mut Vec<String>) {
        match factor {
            TableFactor::Table { alias: Some(alias), .. }
            | TableFactor::Derived { alias: Some(alias), .. }
            | TableFactor::Function { alias: Some(alias), .. }
            | TableFactor::TableFunction { alias: Some(alias), .. }
            | TableFactor::UNNEST { alias: Some(alias), .. } => found.push(alias.name.value.clone()),
            TableFactor::NestedJoin { table_with_joins, .. } => of_joins(table_with_joins, found),
            _ => {}
        }
    }
    fn of_joins(table: &TableWithJoins, found: &mut Vec<String>) {
        of_factor(&table.relation, found);
        table.joins.iter().for_each(|join| of_factor(&join.relation, found));
    }
    let mut found = Vec::new();
    from.iter().for_each(|table| of_joins(table, &mut found));
    found
}

/// The columns of some aliases that expressions name, each once.
pub(crate) fn columns_named<V: ast::Visit>(node: &V, aliases: &[String]) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let _: ControlFlow<()> = visit_expressions(node, |expr| {
        if let Some((alias, name)) = qualified(expr)
            && aliases.iter().any(|known| known == alias)
            && !found.iter().any(|(other, column)| other == alias && column == name)
        {
            found.push((alias.to_owned(), name.to_owned()));
        }
        ControlFlow::Continue(())
    });
    found
}

/// Makes columns of some aliases those of the rows in memory.
pub(crate) fn from_memory<V: ast::VisitMut>(node: &mut V, aliases: &[String]) {
    let _: ControlFlow<()> = visit_expressions_mut(node, |expr| {
        if let Some((alias, name)) = qualified(expr)
            && aliases.iter().any(|known| known == alias)
        {
            *expr = column(MEMORY_ROWS, &memory_name(alias, name));
        }
        ControlFlow::Continue(())
    });
}

/// The name of a column of the rows in memory.
pub(crate) fn memory_name(alias: &str, column: &str) -> String {
    format!("{alias}.{column}")
}

fn qualified(expr: &Expr) -> Option<(&str, &str)> {
    match expr {
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [alias, name] => Some((&alias.value, &name.value)),
            _ => None,
        },
        _ => None,
    }
}
