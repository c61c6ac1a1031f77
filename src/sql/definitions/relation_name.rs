//! Names of tables and views in statements.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{Ident, ObjectName};

use crate::planner::PUBLIC;
use crate::planner::StatementPlanner;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::{AccountName, TableName};
use rowkey_storage::{Catalog, Table, View};

/// Schemas that nobody makes anything in.
const SYSTEM_SCHEMAS: [&str; 3] = ["pg_catalog", "information_schema", "rowkey"];

/// A table or a view.
#[derive(Debug, Clone)]
pub(super) enum Relation {
    Table(Arc<Table>),
    View(Arc<View>),
}

impl Relation {
    pub(super) fn named(catalog: &Catalog, account: &AccountName, name: &str) -> Option<Self> {
        let table = TableName::parse(name).ok().and_then(|name| catalog.table(account, &name));
        match table {
            Some(table) => Some(Relation::Table(Arc::clone(table))),
            None => catalog.view(account, name).map(|view| Relation::View(Arc::clone(view))),
        }
    }

    pub(super) fn id(&self) -> u64 {
        match self {
            Relation::Table(table) => table.id,
            Relation::View(view) => view.id,
        }
    }

    /// The name it was made with.
    pub(super) fn name(&self) -> &str {
        match self {
            Relation::Table(table) => &table.name,
            Relation::View(view) => &view.name,
        }
    }

    /// `table` or `view`.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Relation::Table(_) => "table",
            Relation::View(_) => "view",
        }
    }
}

/// The parts of a name that are plain identifiers.
pub(super) fn identifiers(name: &ObjectName) -> Result<Vec<&Ident>> {
    let parts: Option<Vec<&Ident>> = name.0.iter().map(|part| part.as_ident()).collect();
    parts.ok_or_else(|| Error::new(SqlState::INVALID_STATEMENT, format!("{name} is not a name")))
}

/// The last part of a name whose schema is `public`, if it says one, and whose database is this
/// one.
pub(super) fn name_in_public<'a>(parts: &[&'a Ident], planner: &StatementPlanner) -> Result<&'a Ident> {
    let (database, schema, name) = match parts {
        [name] => (None, None, *name),
        [schema, name] => (None, Some(*schema), *name),
        [database, schema, name] => (Some(*database), Some(*schema), *name),
        _ => {
            let written = parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".");
            let message = format!("improper qualified name (too many dotted names): {written}");
            return Err(Error::new(SqlState::INVALID_STATEMENT, message));
        }
    };
    if database.is_some_and(|database| database.value != planner.account().as_str()) {
        let written = parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".");
        let message = format!("cross-database references are not implemented: \"{written}\"");
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    match schema {
        Some(schema) if SYSTEM_SCHEMAS.contains(&schema.value.to_ascii_lowercase().as_str()) => Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("permission denied: \"{}.{}\" is a system catalog", schema.value, name.value),
        )),
        Some(schema) if schema.value.to_ascii_lowercase() != PUBLIC => {
            Err(Error::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{}\" does not exist", schema.value)))
        }
        _ => Ok(name),
    }
}

/// The table or view of a name, or PostgreSQL's error.
pub(super) fn existing(parts: &[&Ident], planner: &StatementPlanner) -> Result<Relation> {
    let name = name_in_public(parts, planner)?;
    Relation::named(planner.catalog(), planner.account(), &name.value)
        .ok_or_else(|| Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{}\" does not exist", name.value)))
}
