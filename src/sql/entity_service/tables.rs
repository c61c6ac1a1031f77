//! Tables of an account: which there are, making and removing them, keeping them in shape.

use super::service::{EntityService, blocking};
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::TableName;
use rowkey_storage::{Edit, VacuumReport};

impl EntityService {
    /// Refuses a principal who may not list tables; [`EntityService::table_names`] is for the
    /// process as well.
    pub fn expect_to_list_tables(&self) -> Result<()> {
        Ok(self.principal().expect_tables(self.store.clock().now(), |tables| tables.list)?)
    }

    /// Refuses a principal who may not remove tables, whether there are any or not.
    pub fn expect_to_drop_tables(&self) -> Result<()> {
        Ok(self.principal().expect_tables(self.store.clock().now(), |tables| tables.drop)?)
    }

    /// Names of all tables, as they were created, in the order of their creation.
    pub fn table_names(&self) -> Vec<String> {
        let account = self.account.as_str();
        let snapshot = self.store.snapshot();
        snapshot.catalog.tables().filter(|table| table.account == account).map(|table| table.name.clone()).collect()
    }

    /// The number of a table, found by its name whatever the case; it stays that of the table when
    /// it is renamed.
    ///
    /// # Errors
    /// `UNDEFINED_TABLE` if there is none of that name, with the most similar one for those who may
    /// list tables.
    pub fn table_id(&self, name: &str) -> Result<u64> {
        let snapshot = self.store.snapshot();
        let found = TableName::parse(name).ok().and_then(|name| snapshot.catalog.table(&self.account, &name).cloned());
        found.map(|table| table.id).ok_or_else(|| {
            let names = self.expect_to_list_tables().map(|()| self.table_names()).unwrap_or_default();
            let candidates: Vec<&str> = names.iter().map(String::as_str).collect();
            rowkey_postgres::error::no_such_table(name, &candidates)
        })
    }

    /// Creates a table; when this returns it is durable.
    ///
    /// # Errors
    /// `DUPLICATE_TABLE` if a table or view has its name, `SERIALIZATION_FAILURE` if one is given
    /// it at the same moment.
    pub async fn create_table(&self, name: &TableName) -> Result<u64> {
        self.principal().expect_tables(self.store.clock().now(), |tables| tables.create)?;
        let (service, name) = (self.clone(), name.clone());
        blocking(move || {
            service.expect_free(&name)?;
            let (account, given) = (service.account.as_str().to_owned(), name.as_str().to_owned());
            let created_ticks = service.store.clock().now().ticks();
            // Under the lock of commits, so that no other table takes the number.
            service.store.commit_built(|catalog| {
                let id = catalog.next_table_id();
                vec![Edit::CreateTable { id, account, name: given, created_ticks }]
            })?;
            service.table_id(name.as_str())
        })
        .await
    }

    /// Another table that takes the name at the same moment makes the commit fail.
    fn expect_free(&self, name: &TableName) -> Result<()> {
        let catalog = &self.store.snapshot().catalog;
        if catalog.table(&self.account, name).is_none() && catalog.view(&self.account, name.as_str()).is_none() {
            return Ok(());
        }
        Err(Error::new(SqlState::DUPLICATE_TABLE, format!("relation \"{name}\" already exists")))
    }

    /// Removes a table with all its entities; views that read it keep it.
    ///
    /// # Errors
    /// `UNDEFINED_TABLE` if there is none of that number in the account.
    pub async fn drop_table(&self, id: u64) -> Result<()> {
        self.expect_to_drop_tables()?;
        self.expect_table(id)?;
        let service = self.clone();
        blocking(move || Ok(service.store.commit(&[Edit::DropTable { id }])?)).await.map(drop)
    }

    /// Folds a table's recent writes and compacts its run files where that is due; with `full` all
    /// of it is written anew.
    pub async fn vacuum(&self, table: u64, full: bool) -> Result<VacuumReport> {
        self.principal().expect_owner()?;
        self.expect_table(table)?;
        let service = self.clone();
        blocking(move || Ok(service.store.vacuum(table, full, service.store.file_bytes())?)).await
    }
}
