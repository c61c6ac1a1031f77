//! A data folder on a local file system.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{self, BoxFuture};

use super::error::{Error, Operation, Result};
use super::memory::no_range;
use super::paths;
use super::store::{FileEntry, FileStore, OwnerLock, ReadFile, WriteFile};

/// A folder on a local file system.
///
/// Reads are positioned reads on the calling thread: their futures are ready at once. Folders that have to be made above
/// a new file are durable before the file is created, so [`FileStore::sync_folder`] of the file's own folder is enough.
#[derive(Debug)]
pub struct LocalStore {
    root: PathBuf,
}

impl LocalStore {
    /// Opens the folder, creating it (durably, with the folders above it) if it is missing.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self> {
        let root = root.into();
        create_folders(&root).map_err(|error| {
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
        Ok(Self { root })
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
        let failed = |error| Error::from_io(text(&full), Operation::Open, error);
        let file = File::open(&full).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        Ok(Arc::new(LocalRead(Arc::new(Open { file, path: text(&full), bytes: metadata.len() }))))
    }

    fn list_now(&self, folder: &str) -> Result<Vec<FileEntry>> {
        let mut entries = Vec::new();
        let mut open = vec![(self.folder(folder, Operation::List)?, folder.to_owned())];
        while let Some((full, relative)) = open.pop() {
            let failed = |error| Error::from_io(text(&full), Operation::List, error);
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
                    Err(error) => return Err(Error::from_io(text(&child.path()), Operation::List, error)),
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
        let failed = |error| Error::from_io(text(&full), Operation::Create, error);
        if let Some(folder) = full.parent() {
            create_folders(folder).map_err(failed)?;
        }
        let file = OpenOptions::new().write(true).create_new(true).open(&full).map_err(failed)?;
        Ok(Box::new(LocalWrite { file, path: text(&full) }))
    }

    fn open_for_write(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        let full = self.file(path, Operation::OpenForWrite)?;
        let file = OpenOptions::new().write(true).open(&full);
        let file = file.map_err(|error| Error::from_io(text(&full), Operation::OpenForWrite, error))?;
        Ok(Box::new(LocalWrite { file, path: text(&full) }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let (full_from, full_to) = (self.file(from, Operation::Rename)?, self.file(to, Operation::Rename)?);
        fs::rename(&full_from, &full_to).map_err(|error| {
            let path = format!("{} to {}", full_from.display(), full_to.display());
            Error::from_io(path, Operation::Rename, error)
        })
    }

    fn remove(&self, path: &str) -> Result<()> {
        let full = self.file(path, Operation::Remove)?;
        fs::remove_file(&full).map_err(|error| Error::from_io(text(&full), Operation::Remove, error))
    }

    fn sync_folder(&self, folder: &str) -> Result<()> {
        let full = self.folder(folder, Operation::SyncFolder)?;
        sync_folder(&full).map_err(|error| Error::from_io(text(&full), Operation::SyncFolder, error))
    }

    fn lock(&self) -> Result<Box<dyn OwnerLock>> {
        let full = self.root.join(paths::LOCK);
        let failed = |error| Error::from_io(text(&full), Operation::Lock, error);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&full).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Owned { path: self.location(), owner: owner(&mut file) });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        // For the message of the next one only; the lock itself is the kernel's and ends with the process.
        file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
        file.write_all(std::process::id().to_string().as_bytes()).map_err(failed)?;
        Ok(Box::new(LocalLock { _file: file }))
    }

    fn location(&self) -> String {
        text(&self.root)
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
        // The length and the allocation are synced with the data; only times of access and change may not be.
        self.file.sync_data().map_err(|error| Error::from_io(self.path.clone(), Operation::Sync, error))
    }
}

/// Dropping the file releases the lock.
#[derive(Debug)]
struct LocalLock {
    _file: File,
}

impl OwnerLock for LocalLock {}

/// Who holds the lock, as far as the file says; it may not have been written yet.
fn owner(file: &mut File) -> String {
    let mut content = String::new();
    match file.read_to_string(&mut content).ok().and_then(|_| content.trim().parse::<u32>().ok()) {
        Some(process) if process == std::process::id() => "this process already".to_owned(),
        Some(process) => format!("another process (process id {process})"),
        None => "another process".to_owned(),
    }
}

/// Creates a folder and those above it, each durable in the one above.
fn create_folders(folder: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    let above = folder.parent().unwrap_or(Path::new(""));
    create_folders(above)?;
    match fs::create_dir(folder) {
        Ok(()) => sync_folder(if above.as_os_str().is_empty() { Path::new(".") } else { above }),
        // Made by someone else meanwhile; a file of that name is an error.
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

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
pub(super) mod tests;
