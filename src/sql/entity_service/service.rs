//! The tables and entities of one account, for one principal.

use std::sync::Arc;

use super::principal::{EntityPermissions, Principal};
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::AccountName;
use rowkey_model::files::{FileStore, LocalStore, SpillFolder, paths};
use rowkey_storage::{Snapshot, Store, Table, TableSnapshot};

/// Reads and writes entities by key, without SQL. Clones are cheap and share the store.
#[derive(Debug, Clone)]
pub struct EntityService {
    pub(super) store: Arc<Store>,
    /// None where imports spill to the store itself.
    spill: Option<Arc<SpillFolder>>,
    pub(super) account: AccountName,
    principal: Principal,
}

impl EntityService {
    pub(crate) fn new(
        store: Arc<Store>,
        spill: Option<Arc<SpillFolder>>,
        account: AccountName,
        principal: Principal,
    ) -> Self {
        Self { store, spill, account, principal }
    }

    /// The same for another account, which begins with its first table.
    pub fn in_account(&self, account: AccountName) -> Self {
        Self { account, ..self.clone() }
    }

    /// The same for another principal.
    pub fn for_principal(&self, principal: Principal) -> Self {
        Self { principal, ..self.clone() }
    }

    pub fn account(&self) -> &AccountName {
        &self.account
    }

    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// A table as the newest snapshot has it, for a principal who may read it.
    pub(super) fn table_snapshot(&self, table: u64) -> Result<TableSnapshot> {
        let snapshot = self.store.snapshot();
        let table = self.own_table(&snapshot, table)?;
        self.expect_to_read(&table.name)?;
        Ok(snapshot.table_snapshot(table))
    }

    /// Refuses the name of a table in which the principal may not read, whether there is one or
    /// not: who may not read is not told which tables there are.
    ///
    /// # Errors
    /// `INSUFFICIENT_PRIVILEGE`.
    pub fn expect_to_read(&self, table: &str) -> Result<()> {
        self.expect_permitted(table, |entities| entities.read)
    }

    /// Refuses the name of a table in which the principal may not write so.
    pub(super) fn expect_permitted(&self, table: &str, is_permitted: impl Fn(EntityPermissions) -> bool) -> Result<()> {
        Ok(self.principal.expect(table, self.store.clock().now(), is_permitted)?)
    }

    /// Refuses the number of a table that is gone, or another account's.
    pub(super) fn expect_table(&self, table: u64) -> Result<()> {
        self.own_table(&self.store.snapshot(), table).map(drop)
    }

    pub(super) fn own_table<'s>(&self, snapshot: &'s Snapshot, table: u64) -> Result<&'s Arc<Table>> {
        let found = snapshot.table(table).filter(|table| table.account == self.account.as_str());
        found.ok_or_else(|| Error::new(SqlState::UNDEFINED_TABLE, "the table was dropped meanwhile"))
    }

    /// Where an import into a table spills to: a store, and a folder in it.
    pub(super) fn import_spill(&self, table_id: u64) -> Result<(Arc<dyn FileStore>, String)> {
        Ok(match &self.spill {
            Some(folder) => (Arc::new(LocalStore::open_existing(folder.path())?), paths::import_spill(table_id)),
            None => (Arc::clone(self.store.files().store()), paths::import_spill_in_store(table_id)),
        })
    }
}

/// Runs what waits for the disk on a thread that may block. If the future is dropped it runs to its
/// end all the same.
pub(super) async fn blocking<T: Send + 'static>(run: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(run).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => Err(Error::new(SqlState::INTERNAL_ERROR, format!("the runtime has ended: {error}"))),
    }
}
