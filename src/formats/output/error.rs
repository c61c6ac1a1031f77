//! What can go wrong with an output.

use rowkey_base::SqlState;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Why an output was not written. Nothing is left under its name that was not there before.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("cannot {action} {path}: {source}")]
    File { path: String, action: &'static str, source: io::Error },

    /// There is something already, and it was not to be replaced.
    #[error("{path} exists already")]
    Exists { path: String },

    /// A stream, such as standard output.
    #[error("cannot write to {name}: {source}")]
    Stream { name: Arc<str>, source: io::Error },

    #[error("{name}: {source}")]
    Parquet { name: Arc<str>, source: parquet::errors::ParquetError },

    /// What was asked for does not go together, or does not fit the entities.
    #[error("{0}")]
    Refused(String),

    /// The entities are not those that the columns were made for.
    #[error("{name}: property {property} has a value for which there is no column")]
    NoColumn { name: Arc<str>, property: String },
}

impl WriteError {
    pub(crate) fn file(path: &Path, action: &'static str, source: io::Error) -> Self {
        WriteError::File { path: path.display().to_string(), action, source }
    }

    /// Whether the reader of the stream has closed it (`EPIPE`).
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, WriteError::Stream { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<WriteError> for rowkey_base::Error {
    fn from(error: WriteError) -> Self {
        let (sqlstate, hint) = match &error {
            WriteError::Exists { .. } => {
                (SqlState::INVALID_STATEMENT, Some("name another path, or have it replaced: --overwrite"))
            }
            WriteError::Refused(_) | WriteError::Parquet { .. } => (SqlState::INVALID_STATEMENT, None),
            WriteError::File { .. } | WriteError::Stream { .. } => (SqlState::IO_ERROR, None),
            WriteError::NoColumn { .. } => (SqlState::INTERNAL_ERROR, None),
        };
        let public = Self::new(sqlstate, error.to_string()).with_source(error);
        match hint {
            Some(hint) => public.with_hint(hint),
            None => public,
        }
    }
}
