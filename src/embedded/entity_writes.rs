//! Writing entities in process, without SQL.

use super::database::Database;
use super::table::Table;
use rowkey_model::{DateTime, Entity, Key, TableName};
use rowkey_sql::engine::{EntityOperation, IfMatch};
use rowkey_sql::session::Result;

/// Every call returns when its write is durable and visible, with the Timestamp of the entity's new
/// version. A failed one has changed nothing; its [`sqlstate`](crate::Error::sqlstate) says why:
/// [`UNIQUE_VIOLATION`](crate::SqlState::UNIQUE_VIOLATION),
/// [`NO_DATA_FOUND`](crate::SqlState::NO_DATA_FOUND),
/// [`PRECONDITION_FAILED`](crate::SqlState::PRECONDITION_FAILED) or
/// [`CHECK_VIOLATION`](crate::SqlState::CHECK_VIOLATION); of a
/// [`SharedDatabase`](crate::SharedDatabase) also what it says.
impl Table {
    /// Inserts an entity; its Timestamp is the server's, whatever it brings.
    pub async fn insert(&self, entity: &Entity) -> Result<DateTime> {
        self.operate(EntityOperation::Insert(entity.clone())).await
    }

    /// Replaces an entity with all its properties.
    pub async fn replace(&self, entity: &Entity, if_match: IfMatch) -> Result<DateTime> {
        self.operate(EntityOperation::Replace(entity.clone(), if_match)).await
    }

    /// Sets the properties that `entity` has; the others stay.
    pub async fn merge(&self, entity: &Entity, if_match: IfMatch) -> Result<DateTime> {
        self.operate(EntityOperation::Merge(entity.clone(), if_match)).await
    }

    /// Replaces the entity or inserts it.
    pub async fn insert_or_replace(&self, entity: &Entity) -> Result<DateTime> {
        self.operate(EntityOperation::InsertOrReplace(entity.clone())).await
    }

    /// Merges into the entity or inserts it.
    pub async fn insert_or_merge(&self, entity: &Entity) -> Result<DateTime> {
        self.operate(EntityOperation::InsertOrMerge(entity.clone())).await
    }

    /// Deletes an entity.
    pub async fn delete(&self, partition: &str, row: &str, if_match: IfMatch) -> Result<DateTime> {
        self.operate(EntityOperation::Delete(Key::new(partition, row), if_match)).await
    }

    /// An entity group transaction: operations on one partition, all or none; each entity once, at
    /// most 100 operations and 16 MiB. Where one of them fails,
    /// [`Error::operation`](rowkey_sql::session::Error::operation) is its index.
    pub async fn batch(&self, operations: &[EntityOperation]) -> Result<DateTime> {
        self.entities()?.operate_group(self.id(), operations).await
    }

    async fn operate(&self, operation: EntityOperation) -> Result<DateTime> {
        self.entities()?.operate(self.id(), &operation).await
    }
}

impl Database {
    /// Creates a table; one of that name, whatever the case, is an error.
    pub async fn create_table(&self, name: &str) -> Result<Table> {
        self.entities().create_table(&TableName::parse(name)?).await?;
        self.table(name)
    }

    /// Removes a table with all its entities.
    pub async fn drop_table(&self, name: &str) -> Result<()> {
        let id = self.table(name)?.id();
        self.entities().drop_table(id).await
    }
}
