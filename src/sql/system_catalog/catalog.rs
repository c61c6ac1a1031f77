//! The catalog of one statement.

use std::sync::Arc;

use datafusion::catalog::SchemaProvider;

use super::column_types::{HIDDEN, has_hidden};
use super::contents::{Contents, definition};
use super::lookup::Oids;
use super::provider::SystemSchema;
use super::session_info::SessionInfo;
use rowkey_model::AccountName;
use rowkey_storage::Snapshot;

const SCHEMAS: [&str; 2] = ["pg_catalog", "information_schema"];

/// `pg_catalog` and `information_schema` over one snapshot of an account, as a session sees them.
/// To make one costs nothing; rows are made when they are read.
#[derive(Debug, Clone)]
pub(crate) struct SystemCatalog {
    contents: Arc<Contents>,
}

impl SystemCatalog {
    pub(crate) fn new(snapshot: Snapshot, account: AccountName, session: Arc<dyn SessionInfo>) -> Self {
        Self { contents: Arc::new(Contents { snapshot, account, session, functions: Arc::default() }) }
    }

    #[cfg(test)]
    pub(super) fn contents(&self) -> &Arc<Contents> {
        &self.contents
    }

    /// One of [`SystemCatalog::schema_names`], by its name in lower case. Names of relations ignore
    /// case.
    pub(crate) fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        let name = SCHEMAS.into_iter().find(|schema| *schema == name)?;
        Some(Arc::new(SystemSchema { name, contents: Arc::clone(&self.contents) }))
    }

    pub(crate) fn schema_names(&self) -> Vec<String> {
        SCHEMAS.map(str::to_owned).to_vec()
    }

    /// What `*` shows of a relation of a system schema.
    pub(crate) fn relation_columns(&self, schema: &str, relation: &str) -> Option<Vec<String>> {
        let definition = definition(schema, relation)?;
        Some(definition.columns.iter().map(|column| column.name.to_owned()).collect())
    }

    /// Columns behind those of [`SystemCatalog::relation_columns`] that have to be named to be
    /// seen.
    pub(crate) fn hidden_columns(&self, schema: &str, relation: &str) -> &'static [&'static str] {
        match definition(schema, relation) {
            Some(definition) if has_hidden(definition.schema, definition.kind) => HIDDEN,
            _ => &[],
        }
    }

    /// What knows the session.
    pub(crate) fn session(&self) -> &Arc<dyn SessionInfo> {
        &self.contents.session
    }

    /// Names of oids and oids of names, for functions such as `pg_get_indexdef` and casts such as
    /// `::regclass`.
    pub(crate) fn oids(&self) -> Oids {
        Oids::new(Arc::clone(&self.contents))
    }
}
