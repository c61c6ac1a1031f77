//! Schema `rowkey`: what is stored, and how it lies, as tables.
//!
//! `rowkey.tables`, `rowkey.partitions` (range partitions), `rowkey.files`, `rowkey.properties`,
//! `rowkey.settings`, `rowkey.maintenance` and `rowkey.access_statistics`. Their rows are made
//! while a query reads them, most from the manifest of its snapshot; only properties without a
//! column of their own are looked up in files, and keys where recent writes are counted.

mod access_statistics;
mod bounds;
mod cells;
mod files;
mod maintenance;
mod other_properties;
mod partitions;
mod properties;
mod relation;
mod scan;
mod settings;
mod tables;

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::Result;

use rowkey_model::AccountName;
use rowkey_storage::run::RunFiles;
use rowkey_storage::{MaintenanceStatus, Snapshot};

use super::session_info::SessionInfo;
use relation::Relation;
use scan::RelationTable;
pub(crate) use settings::Setting;

/// Name of the schema.
pub(crate) const ROWKEY_SCHEMA: &str = "rowkey";

/// The schema for one account in one snapshot.
#[derive(Debug, Clone)]
pub(crate) struct RowkeySchema {
    source: Arc<Source>,
}

/// What the relations are made of.
#[derive(Debug, Clone)]
pub(super) struct Source {
    snapshot: Snapshot,
    account: AccountName,
    files: Arc<RunFiles>,
    settings: Vec<Setting>,
    maintenance: MaintenanceStatus,
    session: Arc<dyn SessionInfo>,
}

impl RowkeySchema {
    /// `rowkey.settings` says where and what the data is; [`RowkeySchema::with_settings`] adds what
    /// a session knows.
    pub(crate) fn new(
        snapshot: Snapshot,
        account: AccountName,
        files: Arc<RunFiles>,
        maintenance: MaintenanceStatus,
        session: Arc<dyn SessionInfo>,
    ) -> Self {
        let settings = settings::of_data(&snapshot, &account, &files, &maintenance);
        Self { source: Arc::new(Source { snapshot, account, files, settings, maintenance, session }) }
    }

    /// The same with further rows in `rowkey.settings`.
    pub(crate) fn with_settings(self, more: impl IntoIterator<Item = Setting>) -> Self {
        let mut source = Source::clone(&self.source);
        source.settings.extend(more);
        Self { source: Arc::new(source) }
    }

    /// The schema, for a catalog of DataFusion's.
    pub(crate) fn schema(&self) -> Arc<dyn SchemaProvider> {
        Arc::new(self.clone())
    }

    /// Names of the columns of a relation of this schema, in their order; `None` if there is no
    /// such relation. Names are lower case here.
    #[allow(dead_code, reason = "for resolving names before anything is planned")]
    pub(crate) fn relation_columns(relation: &str) -> Option<Vec<String>> {
        let columns = Relation::named(relation)?.columns();
        Some(columns.iter().map(|column| column.name.to_owned()).collect())
    }
}

#[async_trait]
impl SchemaProvider for RowkeySchema {
    fn table_names(&self) -> Vec<String> {
        Relation::ALL.iter().map(|relation| relation.name().to_owned()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let table = Relation::named(name).map(|relation| RelationTable::new(relation, Arc::clone(&self.source)));
        Ok(table.map(|table| Arc::new(table) as _))
    }

    fn table_exist(&self, name: &str) -> bool {
        Relation::named(name).is_some()
    }
}

impl Source {
    /// The recent writes of a table that are not in its files.
    fn delta(&self, table: &Arc<rowkey_storage::Table>) -> DeltaSize {
        let table = self.snapshot.table_snapshot(table);
        table.delta().filter(|_| !table.is_settled()).map_or(DeltaSize::default(), |delta| DeltaSize {
            versions: delta.len() as u64,
            bytes: delta.memory_bytes(),
            generations: delta.generations().filter(|generation| !generation.is_empty()).count() as u64,
        })
    }

    /// The account's tables, in the order of their creation; with a name, only the one of exactly
    /// that name.
    fn tables(&self, only: Option<&str>) -> Vec<Arc<rowkey_storage::Table>> {
        let wanted = |table: &&Arc<rowkey_storage::Table>| {
            table.account == self.account.as_str() && only.is_none_or(|only| table.name == only)
        };
        self.snapshot.catalog.tables().filter(wanted).cloned().collect()
    }
}

/// How much of a table is not in its files.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DeltaSize {
    pub versions: u64,
    /// In memory.
    pub bytes: u64,
    pub generations: u64,
}

/// Every relation with its columns, as name, name of the type and whether it is NOT NULL: the
/// catalog lists them.
pub(super) fn relations() -> impl Iterator<Item = (&'static str, Vec<(&'static str, &'static str, bool)>)> {
    Relation::ALL.into_iter().map(|relation| {
        let columns = relation.columns().iter();
        (relation.name(), columns.map(|column| (column.name, column.kind.type_name(), !column.nullable)).collect())
    })
}
