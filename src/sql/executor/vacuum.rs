//! VACUUM and ANALYZE of tables.

use std::sync::Arc;

use super::Executor;
use crate::planner::PUBLIC;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::TableName;
use rowkey_postgres::syntax::{self, Vacuum};
use rowkey_storage::{Table, VacuumReport};

impl Executor {
    /// Folds and compacts tables, one after the other; gives notices for the client.
    pub(crate) async fn vacuum(&self, vacuum: &Vacuum) -> Result<Vec<Error>> {
        let mut notices = Vec::new();
        let named = !vacuum.tables.is_empty();
        for table in self.tables_of(&vacuum.tables, "vacuum", &mut notices)? {
            let (store, id, full) = (Arc::clone(self.compiler.store()), table.id, vacuum.full);
            let done = tokio::task::spawn_blocking(move || store.vacuum(id, full, store.file_bytes())).await;
            match done.map_err(|error| Error::new(SqlState::INTERNAL_ERROR, error.to_string()))? {
                Ok(report) if vacuum.verbose => notices.push(report_of(&table.name, &report)),
                Ok(_) => {}
                Err(rowkey_storage::Error::Busy(_)) if !named => {
                    let message = format!("skipping vacuum of \"{}\": another job is changing it", table.name);
                    notices.push(Error::new(SqlState::SUCCESSFUL_COMPLETION, message));
                }
                // Dropped since the list was made.
                Err(rowkey_storage::Error::NoSuchTable(_)) if !named => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(notices)
    }

    /// Statistics are part of every file and counted anew with every write: there is nothing to do
    /// for tables that are there. Gives notices for the client.
    pub(crate) fn analyze(&self, tables: &[syntax::TableName]) -> Result<Vec<Error>> {
        let mut notices = Vec::new();
        self.tables_of(tables, "analyze", &mut notices)?;
        Ok(notices)
    }

    /// The tables of names, or all.
    fn tables_of(&self, named: &[syntax::TableName], verb: &str, notices: &mut Vec<Error>) -> Result<Vec<Arc<Table>>> {
        let catalog = self.compiler.snapshot().catalog;
        let account = self.compiler.account();
        if named.is_empty() {
            return Ok(catalog.tables().filter(|table| table.account == account.as_str()).cloned().collect());
        }
        let mut tables = Vec::with_capacity(named.len());
        for (schema, name) in named {
            let public = schema.as_ref().is_none_or(|schema| schema.eq_ignore_ascii_case(PUBLIC));
            let table = TableName::parse(name).ok().filter(|_| public);
            if let Some(table) = table.and_then(|name| catalog.table(account, &name)) {
                tables.push(Arc::clone(table));
            } else if public && catalog.view(account, name).is_some() {
                let message = format!("skipping \"{name}\" --- cannot {verb} non-tables or special system tables");
                notices.push(Error::new(SqlState::SUCCESSFUL_COMPLETION, message));
            } else {
                let shown = schema.as_ref().map_or(name.clone(), |schema| format!("{schema}.{name}"));
                let names: Vec<&str> = catalog
                    .tables()
                    .filter(|table| table.account == account.as_str())
                    .map(|table| table.name.as_str())
                    .collect();
                return Err(rowkey_postgres::error::no_such_table(&shown, &names));
            }
        }
        Ok(tables)
    }
}

fn report_of(table: &str, report: &VacuumReport) -> Error {
    let VacuumReport { fold, compaction } = report;
    let message = format!(
        "\"{table}\": folded {} entities into {} files; wrote {} files as {}, without {} masked rows",
        fold.written, fold.files, compaction.read, compaction.written, compaction.dropped
    );
    Error::new(SqlState::SUCCESSFUL_COMPLETION, message)
}
