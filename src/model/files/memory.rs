//! A store that keeps nothing.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{self, BoxFuture};

use super::error::{Error, Operation, Result};
use super::paths;
use super::store::{FileEntry, FileStore, OwnerLock, ReadFile, WriteFile};

/// What a store in memory is called in messages.
pub(super) const LOCATION: &str = ":memory:";

/// Files in memory; clones share them. An open file stays readable after it is removed or replaced.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    files: Arc<Mutex<BTreeMap<String, Arc<Content>>>>,
    owned: Arc<AtomicBool>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// A store that holds these files.
    pub fn with_files(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let files = files.into_iter().map(|(path, content)| (path, Arc::new(Content::new(content)))).collect();
        Self { files: Arc::new(Mutex::new(files)), owned: Arc::default() }
    }

    /// A copy of all files, by path.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.names().iter().map(|(path, content)| (path.clone(), content.read().clone())).collect()
    }

    fn names(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Content>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, path: &str, operation: Operation) -> Result<Arc<Content>> {
        paths::validate(path, operation)?;
        self.names().get(path).cloned().ok_or_else(|| Error::NotFound { path: named(path), operation })
    }
}

impl FileStore for MemoryStore {
    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Arc<dyn ReadFile>>> {
        let opened = self.find(path, Operation::Open).map(|content| {
            let bytes = content.read().len() as u64;
            Arc::new(MemoryRead { content, path: named(path), bytes }) as Arc<dyn ReadFile>
        });
        future::ready(opened).boxed()
    }

    fn list<'a>(&'a self, folder: &'a str) -> BoxFuture<'a, Result<Vec<FileEntry>>> {
        let listed = paths::validate_folder(folder, Operation::List).map(|()| {
            let names = self.names();
            let inside = names.iter().filter(|(path, _)| is_below(path, folder));
            inside.map(|(path, content)| FileEntry { path: path.clone(), bytes: content.read().len() as u64 }).collect()
        });
        future::ready(listed).boxed()
    }

    fn create(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        paths::validate(path, Operation::Create)?;
        let mut names = self.names();
        if names.contains_key(path) {
            return Err(Error::AlreadyExists { path: named(path), operation: Operation::Create });
        }
        let content = Arc::new(Content::default());
        names.insert(path.to_owned(), Arc::clone(&content));
        Ok(Box::new(MemoryWrite { content, path: named(path) }))
    }

    fn open_for_write(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        let content = self.find(path, Operation::OpenForWrite)?;
        Ok(Box::new(MemoryWrite { content, path: named(path) }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        paths::validate(from, Operation::Rename)?;
        paths::validate(to, Operation::Rename)?;
        let mut names = self.names();
        let missing = || Error::NotFound { path: named(from), operation: Operation::Rename };
        let content = names.remove(from).ok_or_else(missing)?;
        names.insert(to.to_owned(), content);
        Ok(())
    }

    fn remove(&self, path: &str) -> Result<()> {
        paths::validate(path, Operation::Remove)?;
        let missing = || Error::NotFound { path: named(path), operation: Operation::Remove };
        self.names().remove(path).map(drop).ok_or_else(missing)
    }

    fn sync_folder(&self, folder: &str) -> Result<()> {
        paths::validate_folder(folder, Operation::SyncFolder)
    }

    fn lock(&self) -> Result<Box<dyn OwnerLock>> {
        Ok(Box::new(MemoryLock::take(&self.owned)?))
    }

    fn location(&self) -> String {
        LOCATION.to_owned()
    }
}

/// The bytes of one file, shared by its open handles.
#[derive(Debug, Default)]
pub(super) struct Content(RwLock<Vec<u8>>);

impl Content {
    pub(super) fn new(content: Vec<u8>) -> Self {
        Self(RwLock::new(content))
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, Vec<u8>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, Vec<u8>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn copy(&self, path: &str, range: Range<u64>) -> Result<Bytes> {
        copy_of(&self.read(), path, range)
    }
}

/// A copy of some bytes of the file of a path.
pub(super) fn copy_of(content: &[u8], path: &str, range: Range<u64>) -> Result<Bytes> {
    let bytes = content.len() as u64;
    if range.end > bytes {
        return Err(Error::ShortRead { path: path.to_owned(), range, bytes });
    }
    // Both ends fit: they are at most the content's length, or `get` finds them the wrong way
    // round.
    match content.get(range.start as usize..range.end as usize) {
        Some(part) => Ok(Bytes::copy_from_slice(part)),
        None => Err(Error::from_io(path, Operation::Read, no_range(&range))),
    }
}

/// The error for a range whose ends are the wrong way round, or that is too long for memory.
pub(super) fn no_range(range: &Range<u64>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{range:?} is no range of bytes"))
}

/// Writes into a vector as into a file: growing it, with zeros in between.
pub(super) fn write_into(content: &mut Vec<u8>, path: &str, offset: u64, written: &[u8]) -> Result<()> {
    let start = usize::try_from(offset).ok();
    let span = start.and_then(|start| Some((start, start.checked_add(written.len())?)));
    let Some((start, end)) = span.filter(|(_, end)| isize::try_from(*end).is_ok()) else {
        return Err(Error::from_io(path, Operation::Write, io::Error::from(io::ErrorKind::FileTooLarge)));
    };
    if written.is_empty() {
        return Ok(());
    }
    if content.len() < end {
        content.resize(end, 0);
    }
    content[start..end].copy_from_slice(written);
    Ok(())
}

/// Cuts or zero-extends a vector as a file.
pub(super) fn set_length(content: &mut Vec<u8>, path: &str, bytes: u64) -> Result<()> {
    let Ok(bytes) = isize::try_from(bytes) else {
        return Err(Error::from_io(path, Operation::SetBytes, io::Error::from(io::ErrorKind::FileTooLarge)));
    };
    content.resize(bytes.unsigned_abs(), 0);
    Ok(())
}

/// A path as messages show it.
pub(super) fn named(path: &str) -> String {
    format!("{LOCATION}/{path}")
}

/// Whether a file lies somewhere below a folder.
pub(super) fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

#[derive(Debug)]
struct MemoryRead {
    content: Arc<Content>,
    path: String,
    bytes: u64,
}

impl ReadFile for MemoryRead {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&self, range: Range<u64>) -> BoxFuture<'static, Result<Bytes>> {
        future::ready(self.content.copy(&self.path, range)).boxed()
    }
}

#[derive(Debug)]
struct MemoryWrite {
    content: Arc<Content>,
    path: String,
}

impl WriteFile for MemoryWrite {
    fn write_at(&mut self, offset: u64, content: &[u8]) -> Result<()> {
        write_into(&mut self.content.write(), &self.path, offset, content)
    }

    fn set_bytes(&mut self, bytes: u64) -> Result<()> {
        set_length(&mut self.content.write(), &self.path, bytes)
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Ownership within the process.
#[derive(Debug)]
pub(super) struct MemoryLock(Arc<AtomicBool>);

impl MemoryLock {
    pub(super) fn take(owned: &Arc<AtomicBool>) -> Result<Self> {
        if owned.swap(true, Ordering::AcqRel) {
            return Err(Error::Owned {
                path: LOCATION.to_owned(),
                owner: "this process already".to_owned(),
                server: None,
            });
        }
        Ok(Self(Arc::clone(owned)))
    }
}

impl OwnerLock for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
