//! What a caller wants done to one entity.

use std::sync::Arc;

use crate::model::{DateTime, Key, Value};

/// Property names and values; no name comes twice.
pub type Properties = Vec<(Arc<str>, Value)>;

/// What becomes of the entity (Table service specification, section 3.1).
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The entity must not exist.
    Insert(Properties),
    /// The entity must exist; its properties become these.
    Replace(Properties),
    /// The entity must exist; these properties are set, the others stay.
    Merge(Properties),
    InsertOrReplace(Properties),
    InsertOrMerge(Properties),
    /// The entity must exist.
    Delete,
}

/// Which version of the entity the caller wants to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Condition {
    #[default]
    Any,
    /// The one with this Timestamp, which is its ETag.
    Etag(DateTime),
    /// The one the caller has read: with this Timestamp, or none at all. Any other is a conflict of transactions.
    Unchanged(Option<DateTime>),
}

/// One operation on one entity.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// Id of the table.
    pub table: u64,
    pub key: Key,
    pub change: Change,
    pub condition: Condition,
}

/// Why an operation was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Inserted, and there is one already.
    Exists,
    /// There is no such entity.
    Missing,
    /// The entity has another ETag.
    EtagDiffers { actual: DateTime },
    /// Another transaction has changed the entity since it was read.
    Changed,
}

/// What came of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Of every entity written; deletions have it too.
    pub timestamp: DateTime,
    /// Sequence number of the log record.
    pub sequence: u64,
}
