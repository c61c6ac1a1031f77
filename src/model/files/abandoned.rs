//! Temporary files and folders of processes that were killed.
//!
//! A process holds an advisory lock on each of its temporary files, so one that is not locked is
//! abandoned. Process ids in names do not tell: they are reused, and mean nothing in another
//! container. On a file system without locks nothing is taken for abandoned.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::Path;

use super::lock::Identity;

/// Locks what this process has just made under a name of its own and opened. False if it was taken
/// for abandoned in between: then it is gone, or about to be, and another name is to be tried.
pub fn hold_temporary(path: &Path, made: &File) -> bool {
    !matches!(made.try_lock(), Err(TryLockError::WouldBlock)) && is_at(path, made)
}

/// Removes the files and folders in a folder whose names are `ours` and that no living process
/// holds. What cannot be removed stays.
pub fn remove_abandoned(folder: &Path, ours: impl Fn(&str) -> bool) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        // Neither links nor pipes, which opening would follow or wait for.
        let is_made = kind.is_file() || kind.is_dir();
        if !is_made || !entry.file_name().to_str().is_some_and(&ours) {
            continue;
        }
        let path = entry.path();
        // Over NFS only what is open for writing can be locked; a folder never is.
        let Ok(found) = OpenOptions::new().read(true).write(kind.is_file()).open(&path) else { continue };
        // Its maker may have published it under another name since.
        if found.try_lock().is_ok() && is_at(&path, &found) {
            let _ = if kind.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
    }
}

/// Whether the path names what is open.
fn is_at(path: &Path, open: &File) -> bool {
    matches!((Identity::at(path), Identity::held(open)), (Ok(named), Ok(held)) if named == held)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::local::tests::Folder;
    use super::*;

    #[test]
    fn only_unlocked_files_are_removed() {
        let folder = Folder::new("abandoned");
        let within = |name: &str| folder.path().join(name);
        fs::create_dir_all(within("own-folder/deeper")).unwrap();
        fs::write(within("own-folder/deeper/file"), "left").unwrap();
        fs::create_dir(within("own-held-folder")).unwrap();
        for name in ["own-file", "own-held-file", "foreign", "target"] {
            fs::write(within(name), "content").unwrap();
        }
        symlink(within("target"), within("own-link")).unwrap();
        let held = ["own-held-file", "own-held-folder"].map(|name| {
            let held = File::open(within(name)).unwrap();
            assert!(hold_temporary(&within(name), &held));
            held
        });
        let left = || {
            remove_abandoned(folder.path(), |name| name.starts_with("own-"));
            let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
            names.sort();
            names
        };
        assert_eq!(left(), ["foreign", "own-held-file", "own-held-folder", "own-link", "target"]);
        drop(held);
        assert_eq!(left(), ["foreign", "own-link", "target"]);
        assert_eq!(fs::read_to_string(within("target")).unwrap(), "content");
    }

    #[test]
    fn what_was_taken_before_it_was_held_is_told() {
        let folder = Folder::new("taken");
        fs::create_dir(folder.path()).unwrap();
        let path = folder.path().join("own");
        let made = File::create(&path).unwrap();
        let taker = File::open(&path).unwrap();
        taker.try_lock().unwrap();
        assert!(!hold_temporary(&path, &made), "it is about to be removed");
        fs::remove_file(&path).unwrap();
        drop(taker);
        assert!(!hold_temporary(&path, &made), "it is gone");
        fs::write(&path, "of another one").unwrap();
        assert!(!hold_temporary(&path, &made), "it is another one");
    }
}
