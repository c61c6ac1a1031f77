//! The ownership of a local data folder: a lock on the folder itself, and one on a file in it.
//!
//! The folder's own lock stays with it whatever becomes of the names in it, and wherever it is
//! moved. The lock file keeps programs out that know of no other lock. Names can be taken away from
//! what is locked, so both are compared with what is held before anything is changed. Who only
//! reads shares both locks with others who do, and makes nothing.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::{Error, Operation, Result};
use super::paths;
use super::private::FILE_MODE;

/// What a lock file of ours holds at most: a process id, where it listens, and white space.
const OWN_BYTES_MAX: usize = 96;
/// Digits of a process id.
const PROCESS_DIGITS_MAX: usize = 20;
/// What systems answer where a folder that is open for reading cannot be locked, as over NFS.
const EBADF: i32 = 9;

/// Which file or folder something is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }

    /// Of what the path names, which may be a link.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::of(&fs::symlink_metadata(path)?))
    }

    pub(super) fn held(file: &File) -> io::Result<Self> {
        Ok(Self::of(&file.metadata()?))
    }
}

/// A data folder that this process owns, or reads beside others. Dropping it gives the locks back.
#[derive(Debug)]
pub(super) struct FolderLock {
    root: PathBuf,
    folder: Identity,
    /// None where the folder is only read.
    file: Option<Identity>,
    /// The lock file has not kept others out all the time, and what they have written is not known
    /// here.
    was_open_to_others: AtomicBool,
    /// The folder, and the lock file behind it if it is locked.
    locks: Vec<File>,
}

impl FolderLock {
    pub(super) fn take(root: &Path) -> Result<Self> {
        let failed = |error| Error::from_io(root.display().to_string(), Operation::Lock, error);
        let path = root.join(paths::LOCK);
        let owned = |lock: &File| {
            // Readers leave the name of the last writer in the file.
            let (owner, server) = match lock.try_lock_shared() {
                Ok(()) => ("processes that have it open for reading only".to_owned(), None),
                Err(_) => owner(&path),
            };
            Error::Owned { path: root.display().to_string(), owner, server }
        };
        let folder = File::open(root).map_err(failed)?;
        match folder.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(owned(&folder)),
            // Then there is only the lock file.
            Err(TryLockError::Error(error)) if is_unsupported(&error) => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let file_failed = |error| Error::from_io(path.display().to_string(), Operation::Lock, error);
        let file = open_plain(&path).map_err(file_failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(owned(&file)),
            Err(TryLockError::Error(error)) => return Err(file_failed(error)),
        }
        let (folder_identity, file_identity) =
            (Identity::held(&folder).map_err(failed)?, Identity::held(&file).map_err(file_failed)?);
        name_owner(&file, None).map_err(file_failed)?;
        let root = root.to_owned();
        let lock = Self {
            root,
            folder: folder_identity,
            file: Some(file_identity),
            was_open_to_others: AtomicBool::new(false),
            locks: vec![folder, file],
        };
        // Either may have been replaced after it was opened and before it was locked.
        lock.confirm(&lock.root.display().to_string(), Operation::Lock)?;
        Ok(lock)
    }

    /// For reading: refused only while another process may write. A lock file that is not there, or
    /// that this user may not read, is left out, since the folder itself is locked as well.
    pub(super) fn share(root: &Path) -> Result<Self> {
        let failed = |error| Error::from_io(root.display().to_string(), Operation::Lock, error);
        let path = root.join(paths::LOCK);
        let owned = || {
            let (owner, server) = owner(&path);
            Error::Owned { path: root.display().to_string(), owner, server }
        };
        let folder = File::open(root).map_err(failed)?;
        let is_folder_locked = match folder.try_lock_shared() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => return Err(owned()),
            Err(TryLockError::Error(error)) if is_unsupported(&error) => false,
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        };
        let file_failed = |error| Error::from_io(path.display().to_string(), Operation::Lock, error);
        let file = match File::open(&path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && is_folder_locked => None,
            Err(error) => return Err(file_failed(error)),
        };
        match file.as_ref().map(File::try_lock_shared) {
            None | Some(Ok(())) => {}
            Some(Err(TryLockError::WouldBlock)) => return Err(owned()),
            Some(Err(TryLockError::Error(error))) => return Err(file_failed(error)),
        }
        let lock = Self {
            root: root.to_owned(),
            folder: Identity::held(&folder).map_err(failed)?,
            file: None,
            was_open_to_others: AtomicBool::new(false),
            locks: std::iter::once(folder).chain(file).collect(),
        };
        lock.confirm_folder(&root.display().to_string(), Operation::Lock)?;
        Ok(lock)
    }

    /// Writes down where this process listens, if it owns the folder.
    pub(super) fn name_server(&self, address: SocketAddr) -> Result<()> {
        let path = self.root.join(paths::LOCK);
        match self.locks.get(1).filter(|_| self.file.is_some()) {
            Some(file) => name_owner(file, Some(address))
                .map_err(|error| Error::from_io(path.display().to_string(), Operation::Write, error)),
            None => Ok(()),
        }
    }

    /// An error if the folder is not what is held, or the lock file has ever been found not to be.
    /// `path` is what was to be changed.
    pub(super) fn confirm(&self, path: &str, operation: Operation) -> Result<()> {
        self.confirm_folder(path, operation)?;
        let Some(held) = self.file else { return Ok(()) };
        let file = self.root.join(paths::LOCK);
        let change = || format!("{} was removed or replaced", paths::LOCK);
        match expect_held(held, Identity::at(&file), path, operation, change) {
            Ok(()) if !self.was_open_to_others.load(Ordering::Acquire) => return Ok(()),
            Ok(()) | Err(Error::Replaced { .. }) => {}
            Err(error) => return Err(error),
        }
        self.was_open_to_others.store(true, Ordering::Release);
        let remedy = "open the folder again";
        Err(Error::Replaced { path: path.to_owned(), operation, change: change(), remedy })
    }

    /// An error if the path names another folder than the one locked. When it names the locked one
    /// again, no other process has changed it.
    pub(super) fn confirm_folder(&self, path: &str, operation: Operation) -> Result<()> {
        // The way to the folder may lead over links.
        let found = fs::metadata(&self.root).map(|metadata| Identity::of(&metadata));
        let change = || "the data folder was moved, removed or replaced".to_owned();
        expect_held(self.folder, found, path, operation, change)
    }
}

/// An error where a name leads to something else than what is held, or to nothing. An error of the
/// look-up itself is reported as such.
pub(super) fn expect_held(
    held: Identity,
    found: io::Result<Identity>,
    path: &str,
    operation: Operation,
    change: impl FnOnce() -> String,
) -> Result<()> {
    match found {
        Ok(found) if found == held => Ok(()),
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(Error::from_io(path, operation, error))
        }
        _ => {
            let remedy = "put it back, or open the folder again";
            Err(Error::Replaced { path: path.to_owned(), operation, change: change(), remedy })
        }
    }
}

/// Opens the lock file, made if there is none; a link is never followed, and nothing in the file is
/// changed.
fn open_plain(path: &Path) -> io::Result<File> {
    match OpenOptions::new().read(true).write(true).create_new(true).mode(FILE_MODE).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    let found = fs::symlink_metadata(path)?;
    if !found.is_file() {
        let kind = match found.file_type() {
            kind if kind.is_symlink() => "a link",
            kind if kind.is_dir() => "a folder",
            _ => "no plain file",
        };
        return Err(io::Error::other(format!("it is {kind}, and a lock is a plain file; move it away")));
    }
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    match Identity::held(&file)? == Identity::of(&found) {
        true => Ok(file),
        false => Err(io::Error::other("it was replaced while it was opened")),
    }
}

/// Writes the process id of the owner and where it listens, for messages alone: the locks
/// themselves are the kernel's and end with the process. What Rowkey has not written is left as it
/// is, and locks as well.
fn name_owner(mut file: &File, server: Option<SocketAddr>) -> io::Result<()> {
    let is_named_once = file.metadata()?.nlink() == 1;
    io::Seek::rewind(&mut file)?;
    if !is_named_once || own_content(file)?.is_none() {
        return Ok(());
    }
    io::Seek::rewind(&mut file)?;
    file.set_len(0)?;
    let process = std::process::id();
    match server {
        Some(address) => write!(file, "{process} {address}"),
        None => write!(file, "{process}"),
    }
}

/// The content of a lock file if it may be ours: digits and an address, or the zeros that a crash
/// of the machine may have made of them.
fn own_content(file: &File) -> io::Result<Option<String>> {
    let mut content = Vec::new();
    file.take(OWN_BYTES_MAX as u64 + 1).read_to_end(&mut content)?;
    let content = String::from_utf8_lossy(&content).into_owned();
    let is_number = |word: &str| word.len() <= PROCESS_DIGITS_MAX && word.bytes().all(|b| b.is_ascii_digit() || b == 0);
    let mut words = content.split_whitespace();
    let is_own = content.len() <= OWN_BYTES_MAX
        && words.next().is_none_or(is_number)
        && words.next().is_none_or(|address| address.parse::<SocketAddr>().is_ok())
        && words.next().is_none();
    Ok(is_own.then_some(content))
}

/// The process that holds the locks, by the content of the file, which may not be written yet.
fn owner(path: &Path) -> (String, Option<SocketAddr>) {
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    let content = if is_file { File::open(path).and_then(|file| own_content(&file)).ok().flatten() } else { None };
    let content = content.unwrap_or_default();
    let mut words = content.split_whitespace();
    let owner = match words.next().and_then(|process| process.parse::<u32>().ok()) {
        Some(process) if process == std::process::id() => "this process already".to_owned(),
        Some(process) => format!("another process (process id {process})"),
        None => "another process".to_owned(),
    };
    (owner, words.next().and_then(|address| address.parse().ok()))
}

fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory)
        || error.raw_os_error() == Some(EBADF)
}
