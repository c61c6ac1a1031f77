//! A file of the entities that an import did not take.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Takes rejected entities as lines of JSON, which can be corrected and imported again. The file is
/// made with the first of them, and one that is there already is never written over.
#[derive(Debug)]
pub struct RejectsFile {
    path: PathBuf,
    file: Mutex<Option<File>>,
}

impl RejectsFile {
    /// Refuses a path where something is already.
    pub fn new(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        if path.symlink_metadata().is_ok() {
            return Err(io::Error::new(ErrorKind::AlreadyExists, "there is such a file already"));
        }
        Ok(Self { path, file: Mutex::new(None) })
    }

    /// Where the file is, or will be made.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends lines.
    pub fn write(&self, lines: &[u8]) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut open = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *open {
            Some(file) => file,
            none => none.insert(OpenOptions::new().write(true).create_new(true).open(&self.path)?),
        };
        file.write_all(lines)
    }

    /// Waits until what was written is on disk. True if there was anything.
    pub fn finish(&self) -> io::Result<bool> {
        let open = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        match &*open {
            Some(file) => file.sync_all().map(|()| true),
            None => Ok(false),
        }
    }
}
