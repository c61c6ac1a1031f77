//! A folder of files that appears under its name when all of them are whole.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::WriteError;
use super::file::{folder_of, set_aside, sync_folder, temporary};
use super::sink::{Compression, Sink, Written};

/// A folder being filled under a temporary name beside its final one. Dropped unfinished, it is
/// removed with what is in it.
#[derive(Debug)]
pub(crate) struct PartFolder {
    /// Where it is now; none once it is published.
    temporary: Option<PathBuf>,
    path: PathBuf,
    /// Locked while the export is written, so that it is not removed as abandoned.
    _held: File,
    /// Folders in it, whose names have to be made durable.
    folders: Vec<PathBuf>,
    written: Arc<Written>,
}

impl PartFolder {
    /// Starts a folder. One of its name is replaced if it is empty, or if there are nothing but
    /// files in it that `is_own` knows as those of an earlier export and `overwrite` is set.
    pub(crate) fn create(
        path: &Path,
        overwrite: bool,
        is_own: &dyn Fn(&Path) -> bool,
        written: &Arc<Written>,
    ) -> Result<Self, WriteError> {
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_dir() => refuse_foreign(path, overwrite, is_own)?,
            Ok(_) => {
                return Err(WriteError::Refused(format!(
                    "{} is a file, and a folder is to be written",
                    path.display()
                )));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(WriteError::file(path, "look at", error)),
        }
        let (held, temporary) = temporary(path, |path| fs::create_dir(path).and_then(|()| File::open(path)))?;
        let (folders, path) = (vec![temporary.clone()], path.to_owned());
        Ok(Self { temporary: Some(temporary), path, _held: held, folders, written: Arc::clone(written) })
    }

    /// Starts a file in the folder, in a folder of it that is made if need be.
    pub(crate) fn file(
        &mut self,
        folder: Option<&str>,
        name: &str,
        compression: Option<Compression>,
    ) -> Result<Sink, WriteError> {
        let mut within = self.temporary.clone().unwrap_or_else(|| self.path.clone());
        let mut shown = self.path.clone();
        if let Some(folder) = folder {
            (within, shown) = (within.join(folder), shown.join(folder));
            match fs::create_dir(&within) {
                Ok(()) => self.folders.push(within.clone()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(WriteError::file(&shown, "create", error)),
            }
        }
        let shown = shown.join(name).display().to_string();
        Sink::within(&within.join(name), shown.into(), compression, &self.written)
    }

    /// Makes the folder durable under its name.
    pub(crate) fn publish(mut self) -> Result<(), WriteError> {
        for folder in self.folders.iter().rev() {
            sync_folder(folder)?;
        }
        let Some(temporary_folder) = &self.temporary else { return Ok(()) };
        let failed = |error| WriteError::file(&self.path, "write", error);
        let mut replaced = None;
        match fs::rename(temporary_folder, &self.path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                let old = set_aside(&self.path, |old| {
                    // A rename onto an empty folder would take its name without a word.
                    fs::create_dir(old).and_then(|()| fs::rename(&self.path, old))
                })?;
                if let Err(error) = fs::rename(temporary_folder, &self.path) {
                    // What was there is there again; if that fails as well, its temporary name is
                    // in the folder.
                    let _ = fs::rename(&old, &self.path);
                    return Err(failed(error));
                }
                replaced = Some(old);
            }
            Err(error) => return Err(failed(error)),
        }
        self.temporary = None;
        sync_folder(folder_of(&self.path))?;
        match replaced {
            Some(old) => fs::remove_dir_all(&old).map_err(|error| WriteError::file(&old, "remove", error)),
            None => Ok(()),
        }
    }
}

impl Drop for PartFolder {
    fn drop(&mut self) {
        if let Some(temporary) = self.temporary.take() {
            // An error has no caller left here; the name marks it as temporary.
            let _ = fs::remove_dir_all(temporary);
        }
    }
}

/// Refuses a folder with something in it that is not to be replaced.
fn refuse_foreign(path: &Path, overwrite: bool, is_own: &dyn Fn(&Path) -> bool) -> Result<(), WriteError> {
    let mut open = vec![path.to_owned()];
    while let Some(folder) = open.pop() {
        let failed = |error| WriteError::file(&folder, "list", error);
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if !overwrite {
                return Err(WriteError::Exists { path: path.display().to_string() });
            }
            let file = entry.path();
            if entry.file_type().map_err(failed)?.is_dir() {
                open.push(file);
            } else if !is_own(file.strip_prefix(path).unwrap_or(&file)) {
                return Err(WriteError::Refused(format!(
                    "{} is replaced only if it holds an earlier export alone, and there is {}",
                    path.display(),
                    file.display()
                )));
            }
        }
    }
    Ok(())
}
