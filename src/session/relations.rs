//! Which relations there are, for the pass over names.

use std::sync::Arc;

use super::names::{Lookup, Relation, Relations};
use super::snapshot_catalog::{ACCESS_PATHS, PUBLIC};
use crate::model::{AccountName, TableName};
use crate::provider::TableColumns;
use crate::storage::{Snapshot, Table};

/// The relations of a snapshot.
#[derive(Debug, Clone)]
pub struct SnapshotRelations {
    snapshot: Snapshot,
    account: AccountName,
    search_path: Arc<[String]>,
}

impl SnapshotRelations {
    pub fn new(snapshot: &Snapshot, account: &AccountName, search_path: Vec<String>) -> Self {
        Self { snapshot: snapshot.clone(), account: account.clone(), search_path: search_path.into() }
    }

    fn table(&self, name: &str) -> Option<&Arc<Table>> {
        let name = TableName::parse(name).ok()?;
        self.snapshot.catalog.table(&self.account, &name)
    }

    /// Oid of a relation, and the number of its column.
    pub fn column_number(&self, schema: &str, relation: &str, column: &str) -> Option<(u32, i16)> {
        let table = (schema == PUBLIC).then(|| self.table(relation)).flatten()?;
        let columns = TableColumns::of(table);
        let at = columns.schema().index_of(column).ok()?;
        Some((crate::system_catalog::table_oid(table.id), i16::try_from(at + 1).ok()?))
    }

    fn in_schema(&self, schema: &str, name: (&str, bool)) -> Option<Relation> {
        let _ = name.1;
        match schema {
            PUBLIC => {
                let table = self.table(name.0)?;
                let columns = TableColumns::of(table);
                Some(Relation {
                    schema: PUBLIC.to_owned(),
                    name: table.name.clone(),
                    columns: columns.schema().fields().iter().map(|field| field.name().clone()).collect(),
                    system_columns: 0,
                })
            }
            _ => None,
        }
    }
}

impl Relations for SnapshotRelations {
    fn relation(&self, schema: Option<(&str, bool)>, name: (&str, bool)) -> Lookup {
        match schema {
            Some((schema, quoted)) => {
                let schema = if quoted { schema.to_owned() } else { schema.to_ascii_lowercase() };
                match self.in_schema(&schema, name) {
                    Some(relation) => Lookup::Found(relation),
                    None => Lookup::NoSuchRelation { suggestion: None },
                }
            }
            None => {
                let found = self.search_path.iter().find_map(|schema| self.in_schema(schema, name));
                match found {
                    Some(relation) => Lookup::Found(relation),
                    None => Lookup::NoSuchRelation { suggestion: self.suggestion(name.0) },
                }
            }
        }
    }

    fn function_columns(&self, name: &str) -> Option<Vec<String>> {
        (name == ACCESS_PATHS).then(super::explain::access_paths_columns)
    }

    fn database(&self) -> &str {
        self.account.as_str()
    }
}

impl SnapshotRelations {
    fn suggestion(&self, name: &str) -> Option<String> {
        let tables: Vec<&str> = self
            .snapshot
            .catalog
            .tables()
            .filter(|table| table.account == self.account.as_str())
            .map(|table| table.name.as_str())
            .collect();
        super::error::suggestion(name, &tables).map(str::to_owned)
    }
}
