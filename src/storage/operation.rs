//! What a caller wants done to one entity.

use std::borrow::Cow;
use std::sync::Arc;

use rowkey_model::{DateTime, Key, Value};

/// Property names and values; no name comes twice.
pub type Properties = Vec<(Arc<str>, Value)>;

/// The same, where they may be the caller's.
pub type Content<'a> = Cow<'a, [(Arc<str>, Value)]>;

/// What becomes of the entity (Table service specification, section 3.1).
#[derive(Debug, Clone, PartialEq)]
pub enum Change<'a> {
    /// The entity must not exist.
    Insert(Content<'a>),
    /// The entity must exist; its properties become these.
    Replace(Content<'a>),
    /// The entity must exist; these properties are set, the others stay.
    Merge(Content<'a>),
    InsertOrReplace(Content<'a>),
    InsertOrMerge(Content<'a>),
    /// The entity must exist.
    Delete,
    /// The entity must exist, and stays as it is: nothing is written, its condition is checked.
    Keep,
}

/// Which version of the entity the caller wants to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Condition {
    #[default]
    Any,
    /// The one with this Timestamp, which is its ETag.
    Etag(DateTime),
    /// The one the caller has read: with this Timestamp, or none at all. Any other is a conflict of
    /// transactions.
    Unchanged(Option<DateTime>),
}

/// One operation on one entity.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation<'a> {
    /// Id of the table.
    pub table: u64,
    pub key: Cow<'a, Key>,
    pub change: Change<'a>,
    pub condition: Condition,
}

impl Operation<'_> {
    /// Whether it writes nothing.
    pub(crate) fn keeps(&self) -> bool {
        matches!(self.change, Change::Keep)
    }

    /// The same on another table.
    pub(crate) fn on(&self, table: u64) -> Operation<'_> {
        let change = match &self.change {
            Change::Insert(content) => Change::Insert(Cow::Borrowed(content)),
            Change::Replace(content) => Change::Replace(Cow::Borrowed(content)),
            Change::Merge(content) => Change::Merge(Cow::Borrowed(content)),
            Change::InsertOrReplace(content) => Change::InsertOrReplace(Cow::Borrowed(content)),
            Change::InsertOrMerge(content) => Change::InsertOrMerge(Cow::Borrowed(content)),
            Change::Delete => Change::Delete,
            Change::Keep => Change::Keep,
        };
        Operation { table, key: Cow::Borrowed(&self.key), change, condition: self.condition }
    }
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
