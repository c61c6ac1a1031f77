//! The tables and views of one snapshot, as the planner looks them up.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, CatalogProviderList, SchemaProvider, TableProvider};
use datafusion::common::{DataFusionError, Result};

use super::own_functions::{ACCESS_PATHS, ENTITY_TYPES};
use crate::export_files::{EXPORTS, StatementExports};
use crate::provider::{ColumnsCache, EntityTable, ScanOptions};
use crate::system_catalog::{ROWKEY_SCHEMA, RowkeySchema, Setting, SystemCatalog};
use rowkey_base::Error;
use rowkey_model::{AccountName, TableName};
use rowkey_postgres::error::external;
use rowkey_postgres::functions;
use rowkey_postgres::types::TextStyle;
use rowkey_storage::run::RunFiles;
use rowkey_storage::{Snapshot, Store, Table, View};

/// The schema that tables lie in.
pub(crate) const PUBLIC: &str = "public";

/// Plans the views that a statement reads.
#[async_trait]
pub(crate) trait Views: std::fmt::Debug + Send + Sync {
    /// A view as a table, which the planner puts into the plan of what reads it. `tables` are those
    /// of the statement.
    async fn expand(&self, view: &Arc<View>, tables: &SnapshotCatalog) -> rowkey_base::Result<Arc<dyn TableProvider>>;

    /// The tables of a statement as the text of one of its views sees them, one level deeper.
    fn nested(&self, tables: &SnapshotCatalog) -> SnapshotCatalog;

    /// The tables of a statement as a text sees them whose literals have a style of their own.
    fn with_literal_style(&self, style: &TextStyle, tables: &SnapshotCatalog) -> SnapshotCatalog;

    /// How statements of this session run, for `rowkey.settings`.
    fn settings(&self) -> [Setting; 2];
}

/// The relation of rows that a statement has in memory. No table or view has such a name.
pub(crate) const MEMORY_ROWS: &str = "(rows)";

/// An account's tables and views in one snapshot, in schema `public` of the database named as the
/// account. Every statement has one of its own, so all tables of a statement are of one moment.
#[derive(Debug, Clone)]
pub(crate) struct SnapshotCatalog {
    pub snapshot: Snapshot,
    pub account: AccountName,
    pub files: Arc<RunFiles>,
    /// For what is under way in it; what is stored comes from the snapshot.
    pub store: Arc<Store>,
    pub scan: ScanOptions,
    pub columns: Arc<ColumnsCache>,
    pub system: SystemCatalog,
    /// What plans the views.
    pub views: Arc<dyn Views>,
    /// Rows that a statement has in memory.
    pub rows: Option<Arc<dyn TableProvider>>,
    /// Exports that the statement may read as tables.
    pub exports: Option<StatementExports>,
}

impl SnapshotCatalog {
    /// The table of a name; `of_view` is the error for a view.
    pub(super) fn table_called(&self, name: &str, of_view: impl FnOnce() -> Error) -> rowkey_base::Result<&Arc<Table>> {
        let catalog = &self.snapshot.catalog;
        let table = TableName::parse(name).ok().and_then(|name| catalog.table(&self.account, &name));
        table.ok_or_else(|| match catalog.view(&self.account, name) {
            Some(_) => of_view(),
            None => self.no_such_table(name),
        })
    }

    /// That there is no table or view of a name, with the most similar one.
    pub(super) fn no_such_table(&self, name: &str) -> rowkey_base::Error {
        let names = self.table_names();
        let candidates: Vec<&str> = names.iter().map(String::as_str).collect();
        rowkey_postgres::error::no_such_table(name, &candidates)
    }
}

impl CatalogProviderList for SnapshotCatalog {
    fn register_catalog(&self, _name: String, _catalog: Arc<dyn CatalogProvider>) -> Option<Arc<dyn CatalogProvider>> {
        None
    }

    fn catalog_names(&self) -> Vec<String> {
        vec![self.account.as_str().to_owned()]
    }

    fn catalog(&self, name: &str) -> Option<Arc<dyn CatalogProvider>> {
        (name == self.account.as_str()).then(|| Arc::new(self.clone()) as _)
    }
}

impl CatalogProvider for SnapshotCatalog {
    fn schema_names(&self) -> Vec<String> {
        let mut names = self.system.schema_names();
        names.extend([PUBLIC.to_owned(), ROWKEY_SCHEMA.to_owned()]);
        names
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        match name {
            PUBLIC => Some(Arc::new(self.clone())),
            ROWKEY_SCHEMA => {
                let (snapshot, account) = (self.snapshot.clone(), self.account.clone());
                let status = self.store.maintenance_status();
                let session = Arc::clone(self.system.session());
                let schema = RowkeySchema::new(snapshot, account, Arc::clone(&self.files), status, session);
                Some(schema.with_settings(self.views.settings()).schema())
            }
            EXPORTS => self.exports.clone().map(|exports| Arc::new(exports) as _),
            name => self.system.schema(name),
        }
    }
}

#[async_trait]
impl SchemaProvider for SnapshotCatalog {
    fn table_names(&self) -> Vec<String> {
        let (catalog, account) = (&self.snapshot.catalog, self.account.as_str());
        let tables = catalog.tables().filter(|table| table.account == account).map(|table| table.name.clone());
        tables.chain(catalog.views().filter(|view| view.account == account).map(|view| view.name.clone())).collect()
    }

    /// Table names ignore case. An unknown one is an error here, where the names there are can be
    /// looked through.
    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        if name == MEMORY_ROWS {
            return Ok(self.rows.clone());
        }
        let table = TableName::parse(name).ok().and_then(|name| self.snapshot.catalog.table(&self.account, &name));
        let Some(table) = table else {
            if let Some(view) = self.snapshot.catalog.view(&self.account, name) {
                let expanded = self.views.expand(view, self).await;
                return expanded.map(Some).map_err(external);
            }
            // The planner asks for table functions here as well.
            if [ACCESS_PATHS, ENTITY_TYPES, functions::GENERATE_SERIES].contains(&name)
                || functions::system::table_function_columns(name).is_some()
            {
                return Ok(None);
            }
            return Err(external(self.no_such_table(name)));
        };
        let (snapshot, columns) = (self.snapshot.table_snapshot(table), self.columns.of(table));
        Ok(Some(Arc::new(EntityTable::new(snapshot, columns, Arc::clone(&self.files), self.scan))))
    }

    fn table_exist(&self, name: &str) -> bool {
        let catalog = &self.snapshot.catalog;
        TableName::parse(name).is_ok_and(|name| catalog.table(&self.account, &name).is_some())
            || catalog.view(&self.account, name).is_some()
    }
}
