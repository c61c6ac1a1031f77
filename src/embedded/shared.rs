//! A database as the holder of a shared access signature may use it.

use std::sync::Arc;

use rowkey_authorization::{Accounts, Action, SharedAccess};
use rowkey_model::TableName;
use rowkey_sql::engine::{Engine, EntityService};
use rowkey_sql::session::Result;

use super::table::{Entities, Table};

/// An account of a data folder as the holder of a shared access signature may use it; from
/// [`Database::with_sas`](crate::Database::with_sas). It has tables and their entities. There is no
/// SQL, no import and no export, which do not ask what a signature permits.
///
/// The signature is checked at every call, with the errors of `with_sas`. Beyond them
/// [`INSUFFICIENT_PRIVILEGE`](crate::SqlState::INSUFFICIENT_PRIVILEGE) is the error for what it
/// does not permit: another table, an operation whose letter it lacks, writing a key out of its
/// range. Reads pass over keys out of its range.
#[derive(Debug, Clone)]
pub struct SharedDatabase {
    engine: Arc<Engine>,
    access: Arc<SharedAccess>,
}

impl SharedDatabase {
    pub(super) fn open(engine: Arc<Engine>, owner: EntityService, token: &str) -> Result<Self> {
        let accounts = Accounts::new([], engine.account().clone());
        let access = SharedAccess::open(owner, accounts, Arc::clone(engine.clock()), token)?;
        Ok(Self { engine, access: Arc::new(access) })
    }

    /// The account, which the signature is of.
    pub fn account(&self) -> &str {
        self.access.account().as_str()
    }

    /// A table by its name, whatever the case.
    ///
    /// # Errors
    /// `INSUFFICIENT_PRIVILEGE` for another table than that of the signature, whether there is one
    /// or not; `UNDEFINED_TABLE` if there is none of that name.
    pub fn table(&self, name: &str) -> Result<Table> {
        let entities = self.access.entities()?;
        entities.principal().expect_table(name)?;
        let id = entities.table_id(name)?;
        Ok(Table::new(Arc::clone(&self.engine), Entities::Shared(Arc::clone(&self.access)), id))
    }

    /// Names of all tables, as they were created, in the order of their creation; for an account
    /// SAS with the letter `l`.
    pub fn tables(&self) -> Result<Vec<String>> {
        let entities = self.access.entities_for(Action::Tables)?;
        entities.expect_to_list_tables()?;
        Ok(entities.table_names())
    }

    /// Creates a table; one of that name, whatever the case, is an error. For an account SAS with
    /// the letter `c` or `w`.
    pub async fn create_table(&self, name: &str) -> Result<Table> {
        self.access.entities_for(Action::Tables)?.create_table(&TableName::parse(name)?).await?;
        self.table(name)
    }

    /// Removes a table with all its entities; for an account SAS with the letter `d`.
    pub async fn drop_table(&self, name: &str) -> Result<()> {
        let entities = self.access.entities_for(Action::Tables)?;
        entities.drop_table(entities.table_id(name)?).await
    }
}
