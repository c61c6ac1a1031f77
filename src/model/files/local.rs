//! A data folder on a local file system.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{self, BoxFuture};

use super::error::{Error, Operation, Result};
use super::lock::{FolderLock, Identity, expect_held};
use super::memory::no_range;
use super::paths;
use super::private::{self, FILE_MODE};
use super::store::{FileEntry, FileStore, OwnerLock, ReadFile, WriteFile};

/// A folder on a local file system.
///
/// Reads are positioned reads on the calling thread: their futures are ready at once. Folders that
/// have to be made above a new file are durable before the file is created, so
/// [`FileStore::sync_folder`] of the file's own folder is enough. What it makes is for the owner
/// alone. Once it is locked, nothing is changed in another folder that has come to its place.
///
/// Errors name files relative to the folder, since they reach clients of a server; only opening and
/// locking, which none of them asks for, tell where the folder lies.
#[derive(Debug)]
pub struct LocalStore {
    root: PathBuf,
    /// Nothing in it is changed, and others may read it as well.
    read_only: bool,
    /// The lock that was taken through this store, while it is held.
    lock: Mutex<Weak<FolderLock>>,
}

impl LocalStore {
    /// Opens the folder, creating it (durably, with the folders above it) if it is missing.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self> {
        let root = root.into();
        create_folders(&root, &root).map_err(|error| {
            let error = match error.kind() {
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => io::Error::new(
                    io::ErrorKind::NotADirectory,
                    "it is a file, or lies in one; a data folder is a folder",
                ),
                io::ErrorKind::NotFound => io::Error::other("no folder can be made there"),
                _ => error,
            };
            Error::from_io(text(&root), Operation::OpenStore, error)
        })?;
        Self::open_existing(root)
    }

    /// Opens the folder; one that does not exist is an error.
    pub fn open_existing(root: impl Into<PathBuf>) -> Result<Self> {
        let root = root.into();
        let failed = |error| Error::from_io(text(&root), Operation::OpenStore, error);
        if !fs::metadata(&root).map_err(failed)?.is_dir() {
            return Err(failed(io::Error::from(io::ErrorKind::NotADirectory)));
        }
        Ok(Self { root, read_only: false, lock: Mutex::default() })
    }

    /// The same for reading only: every change is refused, and locking shares the folder with
    /// others who read it.
    pub fn open_read_only(root: impl Into<PathBuf>) -> Result<Self> {
        Ok(Self { read_only: true, ..Self::open_existing(root)? })
    }

    fn expect_writable(&self, path: &str, operation: Operation) -> Result<()> {
        match self.read_only {
            true => Err(Error::Unsupported { path: shown(path), operation }),
            false => Ok(()),
        }
    }

    /// The lock, while it is held.
    fn held(&self) -> Option<Arc<FolderLock>> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
    }

    /// An error if nothing may be changed, or if the folder was locked and has been taken away
    /// since. `path` is what is to be changed.
    fn confirm(&self, path: &str, operation: Operation) -> Result<()> {
        self.expect_writable(path, operation)?;
        self.held().map_or(Ok(()), |lock| lock.confirm(path, operation))
    }

    fn file(&self, path: &str, operation: Operation) -> Result<PathBuf> {
        paths::validate(path, operation)?;
        Ok(self.root.join(path))
    }

    fn folder(&self, folder: &str, operation: Operation) -> Result<PathBuf> {
        paths::validate_folder(folder, operation)?;
        Ok(self.root.join(folder))
    }

    fn open_now(&self, path: &str) -> Result<Arc<dyn ReadFile>> {
        let full = self.file(path, Operation::Open)?;
        let failed = |error| Error::from_io(shown(path), Operation::Open, error);
        if let Some(lock) = self.held() {
            // Another folder in this place may have a file of this name.
            lock.confirm_folder(path, Operation::Open)?;
        }
        let file = File::open(&full).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        Ok(Arc::new(LocalRead(Arc::new(Open { file, path: shown(path), bytes: metadata.len() }))))
    }

    fn list_now(&self, folder: &str) -> Result<Vec<FileEntry>> {
        let mut entries = Vec::new();
        let mut open = vec![(self.folder(folder, Operation::List)?, folder.to_owned())];
        while let Some((full, relative)) = open.pop() {
            let failed = |error| Error::from_io(shown(&relative), Operation::List, error);
            let children = match fs::read_dir(&full) {
                Ok(children) => children,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(error)),
            };
            for child in children {
                let child = child.map_err(failed)?;
                let name = child.file_name();
                let Some(name) = name.to_str() else { continue }; // Never one of ours: those are ASCII but for names of tables.
                let path = if relative.is_empty() { name.to_owned() } else { format!("{relative}/{name}") };
                match child.metadata() {
                    Ok(metadata) if metadata.is_dir() => open.push((child.path(), path)),
                    Ok(_) if path == paths::LOCK => {}
                    Ok(metadata) => entries.push(FileEntry { path, bytes: metadata.len() }),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {} // Removed while we were listing.
                    Err(error) => return Err(Error::from_io(path, Operation::List, error)),
                }
            }
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }
}

impl FileStore for LocalStore {
    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Arc<dyn ReadFile>>> {
        future::lazy(move |_| self.open_now(path)).boxed()
    }

    fn list<'a>(&'a self, folder: &'a str) -> BoxFuture<'a, Result<Vec<FileEntry>>> {
        future::lazy(move |_| self.list_now(folder)).boxed()
    }

    fn create(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        let full = self.file(path, Operation::Create)?;
        let failed = |error| Error::from_io(shown(path), Operation::Create, error);
        self.confirm(path, Operation::Create)?;
        if let Some(folder) = full.parent() {
            create_folders(folder, &self.root).map_err(failed)?;
        }
        let file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&full).map_err(failed)?;
        Ok(Box::new(LocalWrite { file, full, path: shown(path) }))
    }

    fn open_for_write(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        let full = self.file(path, Operation::OpenForWrite)?;
        self.confirm(path, Operation::OpenForWrite)?;
        let file = OpenOptions::new().write(true).open(&full);
        let file = file.map_err(|error| Error::from_io(shown(path), Operation::OpenForWrite, error))?;
        Ok(Box::new(LocalWrite { file, full, path: shown(path) }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let (full_from, full_to) = (self.file(from, Operation::Rename)?, self.file(to, Operation::Rename)?);
        self.confirm(to, Operation::Rename)?;
        fs::rename(&full_from, &full_to)
            .map_err(|error| Error::from_io(format!("{from} to {to}"), Operation::Rename, error))
    }

    fn remove(&self, path: &str) -> Result<()> {
        let full = self.file(path, Operation::Remove)?;
        self.confirm(path, Operation::Remove)?;
        fs::remove_file(&full).map_err(|error| Error::from_io(shown(path), Operation::Remove, error))
    }

    fn sync_folder(&self, folder: &str) -> Result<()> {
        let full = self.folder(folder, Operation::SyncFolder)?;
        self.confirm(folder, Operation::SyncFolder)?;
        sync_folder(&full).map_err(|error| Error::from_io(shown(folder), Operation::SyncFolder, error))
    }

    fn lock(&self) -> Result<Box<dyn OwnerLock>> {
        let lock = Arc::new(match self.read_only {
            true => FolderLock::share(&self.root)?,
            false => FolderLock::take(&self.root)?,
        });
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&lock);
        if !self.read_only {
            // Where that is refused, the folder works as it is.
            let _ = private::make_data_folder_private(&self.root);
        }
        Ok(Box::new(LocalLock { held: lock }))
    }

    fn confirm_owned(&self) -> Result<()> {
        self.confirm("", Operation::Write)
    }

    fn location(&self) -> String {
        text(&self.root)
    }

    fn local_root(&self) -> Option<&Path> {
        Some(&self.root)
    }
}

#[derive(Debug)]
struct Open {
    file: File,
    path: String,
    bytes: u64,
}

impl Open {
    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let failed = |error| Error::from_io(self.path.clone(), Operation::Read, error);
        // Before allocating: a length read from a damaged file may be anything.
        if range.end > self.bytes {
            let bytes = self.file.metadata().map_err(failed)?.len();
            if range.end > bytes {
                return Err(Error::ShortRead { path: self.path.clone(), range, bytes });
            }
        }
        let mut content = vec![0; length(&range).map_err(failed)?];
        match self.file.read_exact_at(&mut content, range.start) {
            Ok(()) => Ok(Bytes::from(content)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let bytes = self.file.metadata().map_err(failed)?.len();
                Err(Error::ShortRead { path: self.path.clone(), range, bytes })
            }
            Err(error) => Err(failed(error)),
        }
    }
}

#[derive(Debug)]
struct LocalRead(Arc<Open>);

impl ReadFile for LocalRead {
    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    fn read(&self, range: Range<u64>) -> BoxFuture<'static, Result<Bytes>> {
        let file = Arc::clone(&self.0);
        future::lazy(move |_| file.read(range)).boxed()
    }
}

#[derive(Debug)]
struct LocalWrite {
    file: File,
    full: PathBuf,
    path: String,
}

impl WriteFile for LocalWrite {
    fn write_at(&mut self, offset: u64, content: &[u8]) -> Result<()> {
        let written = self.file.write_all_at(content, offset);
        written.map_err(|error| Error::from_io(self.path.clone(), Operation::Write, error))
    }

    fn set_bytes(&mut self, bytes: u64) -> Result<()> {
        self.file.set_len(bytes).map_err(|error| Error::from_io(self.path.clone(), Operation::SetBytes, error))
    }

    fn sync(&mut self) -> Result<()> {
        // The length and the allocation are synced with the data; only times of access and change
        // may not be.
        self.file.sync_data().map_err(|error| Error::from_io(self.path.clone(), Operation::Sync, error))
    }

    fn confirm_name(&self) -> Result<()> {
        let held = Identity::held(&self.file);
        let held = held.map_err(|error| Error::from_io(self.path.clone(), Operation::Write, error))?;
        let change = || "it was moved, removed or replaced".to_owned();
        expect_held(held, Identity::at(&self.full), &self.path, Operation::Write, change)
    }
}

#[derive(Debug)]
struct LocalLock {
    held: Arc<FolderLock>,
}

impl OwnerLock for LocalLock {
    fn name_server(&self, address: SocketAddr) -> Result<()> {
        self.held.name_server(address)
    }
}

/// Creates a folder and those above it, each durable in the one above. Those from `root` on are for
/// their owner alone.
pub(super) fn create_folders(folder: &Path, root: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    let above = folder.parent().unwrap_or(Path::new(""));
    create_folders(above, root)?;
    let made = if folder.starts_with(root) { private::create_folder(folder) } else { fs::create_dir(folder) };
    match made {
        Ok(()) => sync_folder(if above.as_os_str().is_empty() { Path::new(".") } else { above }),
        // Created concurrently; a file of that name is an error.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// The length of a range to be read into memory.
fn length(range: &Range<u64>) -> io::Result<usize> {
    let bytes = range.end.checked_sub(range.start).and_then(|bytes| usize::try_from(bytes).ok());
    bytes.ok_or_else(|| no_range(range))
}

/// How errors name what is in the folder, and the folder itself.
fn shown(path: &str) -> String {
    if path.is_empty() { "./".to_owned() } else { path.to_owned() }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
pub(super) mod tests;
