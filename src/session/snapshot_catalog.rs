//! The tables of one snapshot, as the planner looks them up.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, CatalogProviderList, SchemaProvider, TableProvider};
use datafusion::common::{DataFusionError, Result};

use super::error::Error;
use crate::functions;
use crate::model::{AccountName, TableName};
use crate::provider::{EntityTable, ScanOptions};
use crate::storage::Snapshot;
use crate::storage::run::RunFiles;

/// The table function that EXPLAINs in rows.
pub const ACCESS_PATHS: &str = "access_paths";
/// The schema that tables lie in.
pub const PUBLIC: &str = "public";

/// An account's tables in one snapshot, in schema `public` of the database named as the account. Every statement has one of its
/// own, so all tables of a statement are of one moment.
#[derive(Debug, Clone)]
pub struct SnapshotCatalog {
    pub snapshot: Snapshot,
    pub account: AccountName,
    pub files: Arc<RunFiles>,
    pub scan: ScanOptions,
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
        vec![PUBLIC.to_owned()]
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        (name == PUBLIC).then(|| Arc::new(self.clone()) as _)
    }
}

#[async_trait]
impl SchemaProvider for SnapshotCatalog {
    fn table_names(&self) -> Vec<String> {
        self.snapshot
            .catalog
            .tables()
            .filter(|table| table.account == self.account.as_str())
            .map(|table| table.name.clone())
            .collect()
    }

    /// Table names ignore case. An unknown one is an error here, where the names there are can be looked through.
    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        let table = TableName::parse(name).ok().and_then(|name| self.snapshot.catalog.table(&self.account, &name));
        let Some(table) = table else {
            // The planner asks for table functions here as well.
            if name == ACCESS_PATHS || name == functions::GENERATE_SERIES {
                return Ok(None);
            }
            let names = self.table_names();
            let candidates: Vec<&str> = names.iter().map(String::as_str).collect();
            return Err(DataFusionError::External(Box::new(Error::no_such_table(name, &candidates))));
        };
        Ok(Some(Arc::new(EntityTable::new(Arc::clone(table), Arc::clone(&self.files), self.scan))))
    }

    fn table_exist(&self, name: &str) -> bool {
        TableName::parse(name).is_ok_and(|name| self.snapshot.catalog.table(&self.account, &name).is_some())
    }
}
