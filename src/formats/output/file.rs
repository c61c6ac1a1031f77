//! A file that appears under its name when it is whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::WriteError;
use rowkey_model::files;

/// Attempts at a free name for a temporary file, before the error is reported as the folder's.
const ATTEMPTS_MAX: u32 = 100;

const PREFIX: &str = ".rowkey-";
const TEMPORARY_SUFFIX: &str = ".tmp";
/// Of an earlier export on its way out, which is the only one until the new one has its name.
const SET_ASIDE_SUFFIX: &str = ".old";

/// A file being written under a temporary name, in the folder of its final one. Dropped unfinished,
/// it is removed.
#[derive(Debug)]
pub(super) struct PartFile {
    file: File,
    /// Where it is now; none once it is published.
    temporary: Option<PathBuf>,
    path: PathBuf,
    overwrite: bool,
}

impl PartFile {
    /// Starts a file that replaces one of the same name only with `overwrite`.
    pub(super) fn create(path: &Path, overwrite: bool) -> Result<Self, WriteError> {
        refuse_existing(path, overwrite)?;
        let (file, temporary) = temporary(path, |path| OpenOptions::new().write(true).create_new(true).open(path))?;
        Ok(Self { file, temporary: Some(temporary), path: path.to_owned(), overwrite })
    }

    /// Starts a file under its final name, in a folder that is not published yet.
    pub(super) fn within(path: &Path) -> Result<Self, WriteError> {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let file = file.map_err(|error| WriteError::file(path, "create", error))?;
        Ok(Self { file, temporary: None, path: path.to_owned(), overwrite: false })
    }

    /// Makes the file durable under its name.
    pub(super) fn publish(mut self) -> Result<(), WriteError> {
        self.file.sync_all().map_err(|error| WriteError::file(&self.path, "sync", error))?;
        let Some(temporary) = &self.temporary else { return Ok(()) };
        if self.overwrite {
            fs::rename(temporary, &self.path).map_err(|error| WriteError::file(&self.path, "write", error))?;
        } else {
            // A link is not made over a file that came meanwhile, which a rename would replace.
            match fs::hard_link(temporary, &self.path) {
                Ok(()) => fs::remove_file(temporary).map_err(|error| WriteError::file(temporary, "remove", error))?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    return Err(WriteError::Exists { path: self.path.display().to_string() });
                }
                // Not every file system has links.
                Err(_) => {
                    refuse_existing(&self.path, false)?;
                    fs::rename(temporary, &self.path).map_err(|error| WriteError::file(&self.path, "write", error))?;
                }
            }
        }
        self.temporary = None;
        sync_folder(folder_of(&self.path))
    }
}

impl Write for PartFile {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        self.file.write(content)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if let Some(temporary) = self.temporary.take() {
            // An error has no caller left here; the name marks it as temporary.
            let _ = fs::remove_file(temporary);
        }
    }
}

fn refuse_existing(path: &Path, overwrite: bool) -> Result<(), WriteError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => Err(WriteError::Refused(format!("{} is a folder", path.display()))),
        Ok(_) if !overwrite => Err(WriteError::Exists { path: path.display().to_string() }),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(WriteError::file(path, "look at", error)),
    }
}

/// Makes something under a name beside `path` that nothing has yet, which is temporary as long as
/// it is open. What exports that were killed have left there is removed.
pub(super) fn temporary(
    path: &Path,
    mut make: impl FnMut(&Path) -> io::Result<File>,
) -> Result<(File, PathBuf), WriteError> {
    files::remove_abandoned(folder_of(path), is_temporary);
    beside(path, TEMPORARY_SUFFIX, |name| {
        let made = make(name)?;
        match files::hold_temporary(name, &made) {
            true => Ok(made),
            // It looked like one left behind: the next name.
            false => Err(io::Error::from(io::ErrorKind::AlreadyExists)),
        }
    })
}

/// Makes something under a name beside `path` that nothing has yet, and that no other export
/// removes.
pub(super) fn set_aside(path: &Path, make: impl FnMut(&Path) -> io::Result<()>) -> Result<PathBuf, WriteError> {
    Ok(beside(path, SET_ASIDE_SUFFIX, make)?.1)
}

fn is_temporary(name: &str) -> bool {
    let numbers = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(TEMPORARY_SUFFIX));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.and_then(|numbers| numbers.split_once('-')).is_some_and(|(one, two)| is_number(one) && is_number(two))
}

fn beside<T>(
    path: &Path,
    suffix: &str,
    mut make: impl FnMut(&Path) -> io::Result<T>,
) -> Result<(T, PathBuf), WriteError> {
    let folder = folder_of(path);
    for attempt in 0..ATTEMPTS_MAX {
        let name = folder.join(format!("{PREFIX}{}-{attempt}{suffix}", std::process::id()));
        match make(&name) {
            Ok(made) => return Ok((made, name)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(WriteError::Refused(format!("there is no folder {}", folder.display())));
            }
            Err(error) => return Err(WriteError::file(path, "create", error)),
        }
    }
    let error = io::Error::from(io::ErrorKind::AlreadyExists);
    Err(WriteError::file(path, "make a temporary file for", error))
}

/// The path of a file that is named relative to a folder, or absolutely, if it lies in the folder
/// or in one of its folders whichever links lead there; `None` if it does not.
pub fn path_within(folder: &Path, path: &Path) -> Result<Option<PathBuf>, WriteError> {
    let folder = fs::canonicalize(folder).map_err(|error| WriteError::file(folder, "look at", error))?;
    let path = folder.join(path);
    let Some(name) = path.file_name() else { return Ok(None) };
    let within = match fs::canonicalize(folder_of(&path)) {
        Ok(within) => within,
        // A path outside of the folder needs no error, whether it exists or not.
        Err(_)
            if !path.starts_with(&folder) || path.components().any(|part| part == std::path::Component::ParentDir) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(WriteError::file(folder_of(&path), "look at", error)),
    };
    let path = within.join(name);
    // A link, a device or a pipe would be written through.
    let is_plain = fs::symlink_metadata(&path).map_or(true, |found| found.is_file());
    Ok((within.starts_with(&folder) && is_plain).then_some(path))
}

pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes the names in a folder durable.
pub(super) fn sync_folder(folder: &Path) -> Result<(), WriteError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| WriteError::file(folder, "sync the folder", error))
}
