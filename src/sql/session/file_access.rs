//! Files of the server.

use std::path::PathBuf;

/// Which files the COPY of a session may write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FileAccess {
    #[default]
    Nowhere,
    /// Those in a folder and the folders in it.
    Within(PathBuf),
    /// Those that the process may write: for callers who could write them themselves.
    Anywhere,
}
