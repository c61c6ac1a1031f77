//! What an import did.

use rowkey_formats::{AssumedType, Reject, Warning};
use rowkey_model::EdmType;

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Entities read, rejected ones left out.
    pub entities: u64,
    pub inserted: u64,
    pub replaced: u64,
    /// Equal to the stored entity; nothing was written for them.
    pub unchanged: u64,
    /// The stored entity has a later Timestamp and stays.
    pub older: u64,
    /// Entities that were in the input another time, equal in all.
    pub duplicates: u64,
    /// Entities of which the input has a version with a later Timestamp.
    pub superseded: u64,
    /// Entities of which the input has a different version, without Timestamps that say which is
    /// newer. One of each key was taken (the newest Timestamp before none, then the last), the
    /// others are among the rejected ones.
    pub conflicting: u64,
    /// Entities that break a rule of the data model, and the conflicting ones.
    pub rejected: u64,
    /// Left out as older than [`since`](super::ImportOptions::since); not among the entities read.
    pub before_since: u64,
    /// What else there is to know of the inputs, the first few of each.
    pub warnings: Vec<Warning>,
    /// Properties whose types the inputs do not name.
    pub assumed: Vec<AssumedType>,
    /// The first rejects, with their places.
    pub rejects: Vec<Reject>,
    /// In the table afterwards: partitions (none where replaced rows or overlapping files leave
    /// that open), entities, files.
    pub partitions: Option<u64>,
    pub stored: u64,
    pub files: u64,
    /// Of the table afterwards, as its files have them; rows that were replaced since they were
    /// written count. Of a dry run: of the entities read, duplicates left out.
    pub properties: Vec<PropertyReport>,
    /// Properties of the inputs for which the table has no column left. Their values are all there,
    /// in the column `(other)`; of a dry run they are among the properties.
    pub beyond_columns: u64,
}

/// A property and how many entities have it, by type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertyReport {
    pub name: String,
    pub types: Vec<(EdmType, u64)>,
}
