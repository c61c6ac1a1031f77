//! Who asks, and what that one may do.

use std::sync::Arc;

use rowkey_base::{DateTime, Error, SqlState};
use rowkey_model::{KeyRef, KeySet, TableName};

/// The role of what runs in the same process.
const PROCESS: &str = "rowkey";

/// Who reads and writes: a role of SQL, the account or the holder of a signature that a request is
/// of, the process itself. It is handed down from every door. One without a [`Grant`] may do
/// everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    name: Arc<str>,
    grant: Option<Arc<Grant>>,
}

/// What the holder of a shared access signature may do (Table service specification, sections 4.2
/// and 4.3); what is not said is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grant {
    /// The only table; none means all of the account.
    pub table: Option<TableName>,
    /// The entities: reads pass over others, and writes of others are refused.
    pub keys: KeySet,
    pub entities: EntityPermissions,
    pub tables: TablePermissions,
    /// Nothing is allowed from then on.
    pub expires: Option<DateTime>,
}

/// What may be done with entities. An upsert adds and updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EntityPermissions {
    pub read: bool,
    pub add: bool,
    pub update: bool,
    pub delete: bool,
}

/// What may be done with tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TablePermissions {
    pub list: bool,
    pub create: bool,
    pub drop: bool,
}

/// Why a principal may not do something; the source of an error of `INSUFFICIENT_PRIVILEGE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    #[error("the signature has expired")]
    Expired,
    #[error("the signature is for another table")]
    Table,
    #[error("the signature does not permit this operation")]
    Permission,
    #[error("the signature does not reach this key")]
    Key,
    #[error("this is for the owner of the account, and not for holders of a signature")]
    Owner,
}

impl From<Denied> for Error {
    fn from(denied: Denied) -> Self {
        Self::new(SqlState::INSUFFICIENT_PRIVILEGE, denied.to_string()).with_source(denied)
    }
}

impl Principal {
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), grant: None }
    }

    /// The process that has opened the data folder.
    pub fn process() -> Self {
        Self::new(PROCESS)
    }

    /// The holder of a signature of an account.
    pub fn granted(name: &str, grant: Grant) -> Self {
        Self { name: name.into(), grant: Some(Arc::new(grant)) }
    }

    /// The role, as `current_user` has it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is bounded by, if it is.
    pub fn grant(&self) -> Option<&Grant> {
        self.grant.as_deref()
    }

    /// Refuses everyone whose rights are bounded.
    pub(crate) fn expect_owner(&self) -> Result<(), Denied> {
        self.grant.as_ref().map_or(Ok(()), |_| Err(Denied::Owner))
    }

    /// Refuses the name of a table that is out of reach, whether there is one or not.
    ///
    /// # Errors
    /// [`Denied::Table`].
    pub fn expect_table(&self, name: &str) -> Result<(), Denied> {
        let only = self.grant.as_ref().and_then(|grant| grant.table.as_ref());
        if only.is_none_or(|only| only.as_str().eq_ignore_ascii_case(name)) { Ok(()) } else { Err(Denied::Table) }
    }

    /// Refuses what is not permitted in a table at this time.
    pub(super) fn expect(
        &self,
        table: &str,
        now: DateTime,
        is_permitted: impl Fn(EntityPermissions) -> bool,
    ) -> Result<(), Denied> {
        let Some(grant) = &self.grant else { return Ok(()) };
        grant.expect_valid(now)?;
        self.expect_table(table)?;
        if is_permitted(grant.entities) { Ok(()) } else { Err(Denied::Permission) }
    }

    /// Refuses a key that is out of reach.
    pub(super) fn expect_key(&self, key: KeyRef<'_>) -> Result<(), Denied> {
        if self.reaches(key) { Ok(()) } else { Err(Denied::Key) }
    }

    pub(super) fn reaches(&self, key: KeyRef<'_>) -> bool {
        self.grant.as_ref().is_none_or(|grant| grant.keys.contains(key))
    }

    /// Those of the keys that are within reach.
    pub(super) fn keys_within(&self, keys: KeySet) -> KeySet {
        match &self.grant {
            Some(grant) if !grant.keys.is_all() => keys.intersect(&grant.keys),
            _ => keys,
        }
    }

    /// Refuses what is not permitted with tables at this time.
    pub(super) fn expect_tables(
        &self,
        now: DateTime,
        is_permitted: impl Fn(TablePermissions) -> bool,
    ) -> Result<(), Denied> {
        let Some(grant) = &self.grant else { return Ok(()) };
        grant.expect_valid(now)?;
        if is_permitted(grant.tables) { Ok(()) } else { Err(Denied::Permission) }
    }
}

impl Grant {
    fn expect_valid(&self, now: DateTime) -> Result<(), Denied> {
        if self.expires.is_some_and(|expires| expires < now) { Err(Denied::Expired) } else { Ok(()) }
    }
}
