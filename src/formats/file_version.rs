//! Which version of a file there is.

use std::io;
use std::path::Path;
use std::time::SystemTime;

/// A version of a file, as far as its size and its time tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileVersion {
    /// Its size.
    pub bytes: u64,
    modified: Option<SystemTime>,
}

impl FileVersion {
    /// The version that a path names now.
    ///
    /// # Errors
    /// Those of the system, and `InvalidInput` for what is no file.
    pub fn of(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        match metadata.is_file() {
            true => Ok(Self { bytes: metadata.len(), modified: metadata.modified().ok() }),
            false => Err(io::ErrorKind::InvalidInput.into()),
        }
    }
}
