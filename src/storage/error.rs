//! What can go wrong below the query engine.

use crate::files;
use crate::model::Rejected;
use crate::rows;

/// Result of a storage operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed storage operation; every message names the file or the table.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Files(#[from] files::Error),

    #[error(transparent)]
    Rows(#[from] rows::Error),

    #[error(transparent)]
    Log(#[from] super::log::Error),

    /// A file that is not what the manifest says, or cannot be read as what it should be.
    #[error("{path} is corrupt: {reason}")]
    Corrupt { path: String, reason: String },

    #[error("table \"{0}\" does not exist")]
    NoSuchTable(String),

    #[error("table \"{0}\" exists already")]
    TableExists(String),

    /// A maintenance job is under way on the table.
    #[error("table \"{0}\" is being changed by another job; try again when it is done")]
    Busy(String),

    /// Edits that do not fit the catalog as it is now.
    #[error("the catalog changed meanwhile: {0}")]
    Conflict(String),

    #[error(transparent)]
    Rejected(#[from] Rejected),

    /// A place that can only be read, so that no folder was made there.
    #[error("there is no data folder at {location}: it has no log")]
    NoDataFolder { location: String },

    /// The store was opened for reading only.
    #[error("{location} is open for reading only")]
    ReadOnly { location: String },
}

impl Error {
    pub(crate) fn corrupt(path: impl Into<String>, reason: impl std::fmt::Display) -> Self {
        Error::Corrupt { path: path.into(), reason: reason.to_string() }
    }
}
