//! The folder that one process spills to.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::abandoned::{hold_temporary, remove_abandoned};
use super::error::{Error, Operation, Result};
use super::local::create_folders;
use super::{paths, private};

/// Attempts at a free name, before the error is reported as the folder's.
const ATTEMPTS_MAX: u32 = 1000;

/// A folder for spilled data, for its owner alone. It is removed with all that is in it when this
/// is dropped; what a killed process leaves is removed by the next one that spills to the same
/// place.
#[derive(Debug)]
pub struct SpillFolder {
    path: PathBuf,
    _held: File,
}

impl SpillFolder {
    /// Makes one in `folder`, which may be shared with others and is made if there is none.
    pub fn create(folder: &Path) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let text = |path: &Path| path.display().to_string();
        create_folders(folder, folder).map_err(|error| {
            let error = match error.kind() {
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                    io::Error::new(io::ErrorKind::NotADirectory, "it is a file, or lies in one, and no folder")
                }
                _ => error,
            };
            Error::from_io(text(folder), Operation::CreateSpillFolder, error)
        })?;
        remove_abandoned(folder, paths::is_spill_folder);
        for _ in 0..ATTEMPTS_MAX {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(paths::spill_folder(std::process::id(), number));
            let made = match private::create_folder(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made.and_then(|()| File::open(&path)),
            };
            let held = made.map_err(|error| Error::from_io(text(&path), Operation::CreateSpillFolder, error))?;
            if hold_temporary(&path, &held) {
                return Ok(Self { path, _held: held });
            }
        }
        let error = io::Error::other("every name tried is taken");
        Err(Error::from_io(text(folder), Operation::CreateSpillFolder, error))
    }

    /// The folder; it exists as long as `self`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Restricts a folder that was made in it to its owner.
    pub fn make_private(&self, folder: &Path) -> Result<()> {
        private::make_private(folder)
            .map_err(|error| Error::from_io(folder.display().to_string(), Operation::CreateSpillFolder, error))
    }
}

impl Drop for SpillFolder {
    fn drop(&mut self) {
        // What stays is removed by the next process that spills here.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::local::tests::Folder;
    use super::*;

    #[test]
    fn processes_share_a_folder_and_what_is_left_of_one_is_removed() {
        let folder = Folder::new("spill");
        let shared = folder.path().join("shared");
        let first = SpillFolder::create(&shared).unwrap();
        fs::write(first.path().join("run"), "spilled").unwrap();
        let left = shared.join(paths::spill_folder(4_000_000_000, 7));
        fs::create_dir_all(left.join("deeper")).unwrap();
        fs::write(left.join("deeper/run"), "left").unwrap();
        fs::write(shared.join("rowkey-spill-notes"), "foreign").unwrap();
        let second = SpillFolder::create(&shared).unwrap();
        assert!(!left.exists(), "its process is gone");
        assert_eq!(fs::read_to_string(first.path().join("run")).unwrap(), "spilled");
        for path in [&shared, first.path(), second.path()] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o700, "{}", path.display());
        }
        drop(first);
        drop(second);
        let names = fs::read_dir(&shared).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["rowkey-spill-notes"]);
    }

    #[test]
    fn a_place_that_is_no_folder_is_named() {
        let folder = Folder::new("no-spill");
        fs::create_dir(folder.path()).unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        for place in [file.clone(), file.join("deeper")] {
            let error = SpillFolder::create(&place).unwrap_err().to_string();
            assert!(
                error.starts_with("cannot make a folder for spilled data") && error.contains("it is a file"),
                "{error}"
            );
            assert!(error.contains(&place.display().to_string()), "{error}");
        }
    }
}
