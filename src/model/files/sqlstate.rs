//! The public error of each error of files.

use rowkey_base::SqlState;

use super::error::Error;

impl Error {
    /// PostgreSQL's code for it.
    pub fn sqlstate(&self) -> SqlState {
        match self {
            Error::NoSpace { .. } => SqlState::DISK_FULL,
            Error::Owned { .. } => SqlState::LOCK_FILE_EXISTS,
            Error::ShortRead { .. } => SqlState::DATA_CORRUPTED,
            Error::Unsupported { .. } => SqlState::READ_ONLY_SQL_TRANSACTION,
            Error::BadPath { .. } => SqlState::INVALID_STATEMENT,
            Error::NotFound { .. }
            | Error::AlreadyExists { .. }
            | Error::Replaced { .. }
            | Error::ReadOnly { .. }
            | Error::Io { .. }
            | Error::Stopped { .. } => SqlState::IO_ERROR,
        }
    }
}

impl From<Error> for rowkey_base::Error {
    fn from(error: Error) -> Self {
        Self::new(error.sqlstate(), error.to_string()).with_source(error)
    }
}
