//! What a statement comes to: operations of the store.
//!
//! A write has two shapes above the log. A [`TargetRowBuilder`](super::TargetRowBuilder) is a row
//! while a statement assigns its columns. An [`Operation`] takes the properties over from it and
//! says which version of the entity it was made for; the session hands it to the store as it is,
//! or keeps it in the [`WriteSet`](super::WriteSet) of its transaction.

use std::borrow::Cow;

use super::returning::Returned;
use rowkey_model::{DateTime, Key};
use rowkey_storage::{Change, Condition, Operation, Properties};

/// What a statement writes, and what it answers. Nothing is committed yet.
#[derive(Debug, Default)]
pub(crate) struct WriteResult {
    /// Rows inserted, updated or deleted.
    pub count: u64,
    pub operations: Vec<Operation<'static>>,
    /// Keys of the entities for which ON CONFLICT skipped a row.
    pub skipped: Vec<Key>,
    pub returned: Returned,
}

/// Inserts an entity; the commit finds out whether its key exists.
pub(crate) fn insert(table: u64, key: Key, properties: Properties) -> Operation<'static> {
    let change = Change::Insert(Cow::Owned(properties));
    Operation { table, key: Cow::Owned(key), change, condition: Condition::Any }
}

/// Inserts or replaces an entity.
pub(crate) fn put(table: u64, key: Key, properties: Properties, condition: Condition) -> Operation<'static> {
    Operation { table, key: Cow::Owned(key), change: Change::InsertOrReplace(Cow::Owned(properties)), condition }
}

/// Deletes the version of an entity that was read, by its Timestamp.
pub(crate) fn delete(table: u64, key: Key, seen: DateTime) -> Operation<'static> {
    let condition = Condition::Unchanged(Some(seen));
    Operation { table, key: Cow::Owned(key), change: Change::Delete, condition }
}
