//! What can go wrong with an output.

use rowkey_base::SqlState;
use std::fs;
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

    /// The message for who may write in one folder and is not to know where it lies: paths are
    /// relative to it.
    fn message_within(&self, folder: &Path) -> String {
        let mut message = self.to_string();
        for folder in [fs::canonicalize(folder).ok(), Some(folder.to_owned())].into_iter().flatten() {
            let folder = folder.display().to_string();
            let folder = folder.trim_end_matches('/');
            if !folder.is_empty() {
                message = message.replace(&format!("{folder}/"), "").replace(folder, "the folder for files");
            }
        }
        message
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

/// The error of an output in a folder, for who is not to know where the folder lies; any other
/// error as it is.
pub fn error_within(folder: &Path, error: rowkey_base::Error) -> rowkey_base::Error {
    let written = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<WriteError>());
    let Some(message) = written.map(|written| written.message_within(folder)) else { return error };
    let told = rowkey_base::Error::new(error.sqlstate(), message);
    match error.hint() {
        Some(hint) => told.with_hint(hint),
        None => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_within_a_folder_do_not_tell_where_it_lies() {
        let folder = Path::new("/srv/copies");
        let told = |path: &str| {
            let error = WriteError::file(Path::new(path), "create", io::Error::from(io::ErrorKind::NotFound));
            error_within(folder, error.into()).to_string()
        };
        assert_eq!(told("/srv/copies/a/b.csv"), "cannot create a/b.csv: entity not found");
        assert_eq!(told("/srv/copies"), "cannot create the folder for files: entity not found");
        let value = rowkey_base::Error::new(SqlState::INVALID_STATEMENT, "invalid value /srv/copies/a");
        assert_eq!(error_within(folder, value).to_string(), "invalid value /srv/copies/a", "no error of a file");
    }
}
