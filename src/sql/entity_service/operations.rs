//! Entity operations, alone and as entity group transactions.

use std::borrow::Cow;
use std::collections::HashSet;

use super::principal::EntityPermissions;
use super::service::EntityService;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::{DateTime, ENTITY_GROUP_BYTES_MAX, ENTITY_GROUP_OPERATIONS_MAX, Entity, Key, Rejected, Rule};
use rowkey_storage::{Change, Condition, Content, Operation};

/// Which version of an entity an operation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IfMatch {
    /// Whichever there is: `If-Match: *`.
    #[default]
    Any,
    /// The one with this Timestamp, from which its ETag is derived.
    Timestamp(DateTime),
}

/// One operation on one entity; see section 3.1 of the Table service's specification.
#[derive(Debug, Clone, PartialEq)]
pub enum EntityOperation {
    /// There must be no entity of this key.
    Insert(Entity),
    /// The entity becomes this one, without the properties it had before.
    Replace(Entity, IfMatch),
    /// The entity gets these properties; the others stay.
    Merge(Entity, IfMatch),
    InsertOrReplace(Entity),
    InsertOrMerge(Entity),
    Delete(Key, IfMatch),
}

impl EntityOperation {
    pub fn key(&self) -> &Key {
        match self {
            EntityOperation::Insert(entity)
            | EntityOperation::Replace(entity, _)
            | EntityOperation::Merge(entity, _)
            | EntityOperation::InsertOrReplace(entity)
            | EntityOperation::InsertOrMerge(entity) => &entity.key,
            EntityOperation::Delete(key, _) => key,
        }
    }

    fn is_permitted(&self, permissions: EntityPermissions) -> bool {
        match self {
            EntityOperation::Insert(_) => permissions.add,
            EntityOperation::Replace(..) | EntityOperation::Merge(..) => permissions.update,
            EntityOperation::InsertOrReplace(_) | EntityOperation::InsertOrMerge(_) => {
                permissions.add && permissions.update
            }
            EntityOperation::Delete(..) => permissions.delete,
        }
    }

    fn size_bytes(&self, of: impl Fn(&Entity) -> usize) -> usize {
        match self {
            EntityOperation::Insert(entity)
            | EntityOperation::Replace(entity, _)
            | EntityOperation::Merge(entity, _)
            | EntityOperation::InsertOrReplace(entity)
            | EntityOperation::InsertOrMerge(entity) => of(entity),
            EntityOperation::Delete(key, _) => 2 * (key.partition.len() + key.row.len()),
        }
    }

    fn to_storage(&self, table: u64) -> Operation<'_> {
        let (change, if_match) = match self {
            EntityOperation::Insert(entity) => (Change::Insert(content(entity)), IfMatch::Any),
            EntityOperation::Replace(entity, if_match) => (Change::Replace(content(entity)), *if_match),
            EntityOperation::Merge(entity, if_match) => (Change::Merge(content(entity)), *if_match),
            EntityOperation::InsertOrReplace(entity) => (Change::InsertOrReplace(content(entity)), IfMatch::Any),
            EntityOperation::InsertOrMerge(entity) => (Change::InsertOrMerge(content(entity)), IfMatch::Any),
            EntityOperation::Delete(_, if_match) => (Change::Delete, *if_match),
        };
        let condition = match if_match {
            IfMatch::Any => Condition::Any,
            IfMatch::Timestamp(at) => Condition::Etag(at),
        };
        Operation { table, key: Cow::Borrowed(self.key()), change, condition }
    }
}

fn content(entity: &Entity) -> Content<'_> {
    Cow::Borrowed(entity.parts())
}

impl EntityService {
    /// Applies one operation; when this returns it is durable and visible. Gives the Timestamp of
    /// the entity's new version.
    ///
    /// # Errors
    /// `UNIQUE_VIOLATION` for an insert of a key that exists, `NO_DATA_FOUND` where an entity is
    /// wanted and missing, `PRECONDITION_FAILED` for another version than [`IfMatch`] names,
    /// `CHECK_VIOLATION` for an entity that breaks a rule of the data model.
    pub async fn operate(&self, table: u64, operation: &EntityOperation) -> Result<DateTime> {
        self.expect_operation(table, operation)?;
        Ok(self.store.write(&[operation.to_storage(table)]).await?.timestamp)
    }

    /// Refuses what the principal may not do in a table of this name, whether there is one or not.
    ///
    /// # Errors
    /// `INSUFFICIENT_PRIVILEGE`.
    pub fn expect_to_write(&self, table: &str, operation: &EntityOperation) -> Result<()> {
        self.expect_permitted(table, |entities| operation.is_permitted(entities))?;
        Ok(self.principal().expect_key(operation.key().as_ref())?)
    }

    /// The same by the number of the table.
    fn expect_operation(&self, table: u64, operation: &EntityOperation) -> Result<()> {
        let snapshot = self.store.snapshot();
        self.expect_to_write(&self.own_table(&snapshot, table)?.name, operation)
    }

    /// Applies an entity group transaction, all of it or nothing.
    ///
    /// # Errors
    /// Those of [`EntityService::operate`], with the operation that failed
    /// ([`Error::operation`]), and those of the rules of groups.
    pub async fn operate_group(&self, table: u64, operations: &[EntityOperation]) -> Result<DateTime> {
        check_group(operations)?;
        self.expect_table(table)?;
        if self.principal().grant().is_some() {
            for (index, operation) in operations.iter().enumerate() {
                self.expect_operation(table, operation).map_err(|error| error.at_operation(index))?;
            }
        }
        let operations: Vec<Operation<'_>> = operations.iter().map(|operation| operation.to_storage(table)).collect();
        Ok(self.store.write(&operations).await?.timestamp)
    }
}

/// The rules of entity groups: one partition, at most 100 operations and 16 MiB, every entity
/// once.
fn check_group(operations: &[EntityOperation]) -> Result<()> {
    let Some(first) = operations.first() else {
        return Err(Error::new(SqlState::INVALID_STATEMENT, "an entity group transaction has at least one operation"));
    };
    if operations.len() > ENTITY_GROUP_OPERATIONS_MAX {
        let limit = format!("at most {ENTITY_GROUP_OPERATIONS_MAX} operations");
        let count = operations.len().to_string();
        return Err(Rejected::new("entity group transaction", &count, Rule::EntityGroup, limit).into());
    }
    // Who gives them in order gives none twice.
    let ascend = operations.windows(2).all(|pair| pair[0].key().row < pair[1].key().row);
    let mut rows = HashSet::with_capacity(if ascend { 0 } else { operations.len() });
    let bytes_max: usize = operations.iter().map(|operation| operation.size_bytes(Entity::size_bytes_max)).sum();
    let mut bytes = 0;
    for (index, operation) in operations.iter().enumerate() {
        let key = operation.key();
        let refused = |limit: &str| {
            let named = format!("{}, {}", key.partition, key.row);
            Error::from(Rejected::new("entity", &named, Rule::EntityGroup, limit)).at_operation(index)
        };
        if key.partition != first.key().partition {
            return Err(refused("all entities of a group have the same PartitionKey"));
        }
        if !ascend && !rows.insert(&key.row) {
            return Err(refused("an entity occurs once in a group"));
        }
        if bytes_max <= ENTITY_GROUP_BYTES_MAX {
            continue;
        }
        bytes += operation.size_bytes(Entity::size_bytes);
        if bytes > ENTITY_GROUP_BYTES_MAX {
            return Err(refused(&format!("a group has at most {ENTITY_GROUP_BYTES_MAX} bytes")));
        }
    }
    Ok(())
}
