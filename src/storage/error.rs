//! Errors of storage.

use super::operation::Refusal;
use rowkey_model::files::{self, Overlap};
use rowkey_model::rows;
use rowkey_model::{Key, Rejected};

/// Result of a storage operation.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed storage operation; every message names the file or the table.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error(transparent)]
    Files(#[from] files::Error),

    /// Rows could not be sorted: their temporary files fail.
    #[error(transparent)]
    Rows(#[from] rows::Error),

    /// The log is damaged, or takes no more records.
    #[error(transparent)]
    Log(#[from] super::log::Error),

    /// A file that is not what the manifest says, or cannot be read as what it should be.
    #[error("{path} is corrupt: {reason}")]
    Corrupt { path: String, reason: String },

    /// There is no table of this name.
    #[error("table \"{0}\" does not exist")]
    NoSuchTable(String),

    /// A maintenance job is under way on the table.
    #[error("table \"{0}\" is being changed by another job; try again when it is done")]
    Busy(String),

    /// Edits that do not fit the catalog as it is now.
    #[error("the catalog changed meanwhile: {0}")]
    Conflict(String),

    /// A name or value breaks a rule of the data model.
    #[error(transparent)]
    Rejected(#[from] Rejected),

    /// An operation makes an entity that breaks a rule of the data model.
    #[error("{rejected}")]
    RejectedAt { index: usize, rejected: Rejected },

    /// An operation does not fit the entity as it is; none of those given with it was done.
    #[error("{}", refused(.table, .key, .refusal))]
    Refused { index: usize, table: String, key: Key, refusal: Refusal },

    /// There is no room for further writes, and none can be made.
    #[error("recent writes fill their memory and cannot be folded into files: {cause}")]
    FoldFails { cause: String, no_space: bool },

    /// A job was cancelled because the store is being closed.
    #[error("the database is being closed")]
    Closing,

    /// The encoded entities of a transaction exceed the limit.
    #[error("a transaction writes at most {bytes_max} bytes, this one {bytes}")]
    TransactionTooLarge { bytes: u64, bytes_max: u64 },

    /// There are files of tables, and neither log nor checkpoint says which of them are in use:
    /// there is nothing to mend.
    #[error("{location}/log is empty or missing, yet there are files of tables, such as {folder}/{file}")]
    LogLost { location: String, table: String, folder: String, file: String },

    /// A place that can only be read, so that no folder was made there.
    #[error("there is no data folder at {location}: it has no log")]
    NoDataFolder { location: String },

    /// An output that would be written over what is stored, or among it.
    #[error("{path} {} the data folder, in which only the database writes", lies(.overlap))]
    InDataFolder { path: String, overlap: Overlap },

    /// The store was opened for reading only.
    #[error("the data folder is open for reading only")]
    ReadOnly,
}

fn lies(overlap: &Overlap) -> &'static str {
    match overlap {
        Overlap::Within => "lies in",
        Overlap::Contains => "contains",
    }
}

fn refused(table: &str, key: &Key, refusal: &Refusal) -> String {
    let entity = format!("entity ({:?}, {:?}) of table \"{table}\"", key.partition, key.row);
    match refusal {
        Refusal::Exists => format!("{entity} exists already"),
        Refusal::Missing => format!("{entity} does not exist"),
        Refusal::EtagDiffers { actual } => format!("{entity} has changed: its Timestamp is {actual}"),
        Refusal::Changed => format!("{entity} was changed by another transaction"),
    }
}

impl Error {
    /// Whether the disk is full.
    pub(crate) fn is_no_space(&self) -> bool {
        match self {
            Error::Files(error) => error.is_no_space(),
            Error::Log(super::log::Error::NoSegment { cause }) => cause.is_no_space(),
            Error::FoldFails { no_space, .. } => *no_space,
            _ => false,
        }
    }

    /// Whether a file could not be read now (no permission, no descriptor, no memory, a failing
    /// disk), which says nothing about what is in it.
    pub fn is_unreadable(&self) -> bool {
        match self {
            Error::Files(error)
            | Error::Rows(rows::Error::Files(error))
            | Error::Log(super::log::Error::Files(error)) => !error.is_damage(),
            _ => false,
        }
    }

    pub(crate) fn corrupt(path: impl Into<String>, reason: impl std::fmt::Display) -> Self {
        Error::Corrupt { path: path.into(), reason: reason.to_string() }
    }
}
