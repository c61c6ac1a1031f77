//! Which relations there are, for the pass over names.

use std::collections::HashMap;
use std::sync::Arc;

use super::own_functions;
use super::snapshot_catalog::PUBLIC;
use crate::export_files::{EXPORTS, StatementExports};
use crate::provider::ColumnsCache;
use crate::system_catalog::{ROWKEY_SCHEMA, RowkeySchema, SystemCatalog};
use rowkey_model::{AccountName, TableName};
use rowkey_postgres::functions::system::table_function_columns;
use rowkey_postgres::names::{Lookup, Relation, Relations};
use rowkey_storage::run::{PARTITION_KEY, ROW_KEY};
use rowkey_storage::{Snapshot, Table};

/// Looked through first, unless the search path names it elsewhere.
const PG_CATALOG: &str = "pg_catalog";

/// The key of the tables of `pg_catalog` that have it.
const OID: &str = "oid";

/// The relations of a snapshot.
#[derive(Debug, Clone)]
pub(crate) struct SnapshotRelations {
    snapshot: Snapshot,
    account: AccountName,
    system: SystemCatalog,
    search_path: Arc<[String]>,
    columns: Arc<ColumnsCache>,
    exports: Option<StatementExports>,
}

impl SnapshotRelations {
    pub(crate) fn new(
        snapshot: &Snapshot,
        account: &AccountName,
        system: SystemCatalog,
        search_path: Vec<String>,
        columns: Arc<ColumnsCache>,
    ) -> Self {
        let mut search_path = search_path;
        if !search_path.iter().any(|schema| schema == PG_CATALOG) {
            search_path.insert(0, PG_CATALOG.to_owned());
        }
        let search_path = search_path.into();
        Self { snapshot: snapshot.clone(), account: account.clone(), system, search_path, columns, exports: None }
    }

    /// The same with the exports that a statement may read.
    pub(crate) fn with_exports(self, exports: Option<StatementExports>) -> Self {
        Self { exports, ..self }
    }

    /// The same relations along another search path.
    pub(crate) fn along(&self, search_path: Vec<String>) -> Self {
        Self::new(&self.snapshot, &self.account, self.system.clone(), search_path, Arc::clone(&self.columns))
    }

    /// The relations of another snapshot.
    pub(crate) fn of(&self, snapshot: &Snapshot) -> Self {
        Self { snapshot: snapshot.clone(), ..self.clone() }
    }

    fn table(&self, name: &str) -> Option<&Arc<Table>> {
        let name = TableName::parse(name).ok()?;
        self.snapshot.catalog.table(&self.account, &name)
    }

    /// Oid of a relation, and the numbers of its columns by name.
    pub(crate) fn column_numbers(&self, schema: &str, relation: &str) -> Option<(u32, HashMap<String, i16>)> {
        let oids = self.system.oids();
        let oid = oids.relation_oid(schema, relation)?;
        Some((oid, oids.column_numbers(oid)))
    }

    fn in_schema(&self, schema: &str, (name, quoted): (&str, bool)) -> Option<Relation> {
        if schema == PUBLIC {
            let Some(table) = self.table(name) else {
                let view = self.snapshot.catalog.view(&self.account, name)?;
                return Some(Relation {
                    schema: PUBLIC.to_owned(),
                    name: view.name.clone(),
                    columns: view.columns.iter().map(|column| column.name.clone()).collect(),
                    system_columns: 0,
                    key: Vec::new(),
                });
            };
            let columns = self.columns.of(table);
            return Some(Relation {
                schema: PUBLIC.to_owned(),
                name: table.name.clone(),
                columns: columns.schema().fields().iter().map(|field| field.name().clone()).collect(),
                system_columns: columns.hidden_count(),
                key: vec![PARTITION_KEY.to_owned(), ROW_KEY.to_owned()],
            });
        }
        if schema == EXPORTS {
            let columns = self.exports.as_ref()?.find(name)?.columns();
            let (schema, name) = (schema.to_owned(), name.to_owned());
            return Some(Relation { schema, name, columns, system_columns: 0, key: Vec::new() });
        }
        let name = if quoted { name.to_owned() } else { name.to_ascii_lowercase() };
        if schema == ROWKEY_SCHEMA {
            let columns = RowkeySchema::relation_columns(&name)?.into();
            return Some(Relation { schema: schema.to_owned(), name, columns, system_columns: 0, key: Vec::new() });
        }
        let mut columns = self.system.relation_columns(schema, &name)?;
        let hidden = self.system.hidden_columns(schema, &name);
        columns.extend(hidden.iter().map(|column| (*column).to_owned()));
        let has_oid = schema == PG_CATALOG && columns.first().is_some_and(|first| first == OID);
        Some(Relation {
            schema: schema.to_owned(),
            name,
            columns: columns.into(),
            system_columns: hidden.len(),
            key: if has_oid { vec![OID.to_owned()] } else { Vec::new() },
        })
    }
}

impl Relations for SnapshotRelations {
    fn relation(&self, schema: Option<(&str, bool)>, name: (&str, bool)) -> Lookup {
        match schema {
            Some((schema, quoted)) => {
                let schema = if quoted { schema.to_owned() } else { schema.to_ascii_lowercase() };
                let exists =
                    [PUBLIC, ROWKEY_SCHEMA].contains(&schema.as_str()) || self.system.schema_names().contains(&schema);
                match self.in_schema(&schema, name) {
                    Some(relation) => Lookup::Found(relation),
                    None if exists => Lookup::NoSuchRelation { suggestion: self.suggestion(name.0) },
                    None => Lookup::NoSuchSchema,
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
        own_functions::columns(name)
            .or_else(|| table_function_columns(name))
            .or_else(|| rowkey_postgres::desugar::function_columns(name))
    }

    fn returns_rows(&self, function: &str) -> bool {
        self.function_columns(function).is_some() || rowkey_postgres::desugar::returns_rows(function)
    }

    fn is_aggregate(&self, function: &str) -> bool {
        rowkey_postgres::syntax::is_aggregate(function)
    }

    fn is_scalar(&self, function: &str) -> bool {
        self.system.oids().is_scalar_function(function)
    }

    fn function_in(&self, schema: &str, name: &str) -> Option<String> {
        own_functions::scalar(schema, name).map(str::to_owned)
    }

    fn takes_row_of_table(&self, function: &str) -> bool {
        function == own_functions::ENTITY_JSON
    }

    fn database(&self) -> &str {
        self.account.as_str()
    }
}

impl SnapshotRelations {
    fn suggestion(&self, name: &str) -> Option<String> {
        let (catalog, account) = (&self.snapshot.catalog, self.account.as_str());
        let tables = catalog.tables().filter(|table| table.account == account).map(|table| table.name.as_str());
        let views = catalog.views().filter(|view| view.account == account).map(|view| view.name.as_str());
        let names: Vec<&str> = tables.chain(views).collect();
        rowkey_postgres::suggestion::suggestion(name, &names).map(str::to_owned)
    }
}
