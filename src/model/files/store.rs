//! What a store of files can do.

use std::fmt::Debug;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;

use super::Result;

/// One file of a folder listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// Path relative to the root of the store, with `/` between its parts.
    pub path: String,
    pub bytes: u64,
}

/// The files of one data folder, under `/`-separated paths relative to its root.
///
/// Nothing is durable until synced: the content of a file by [`WriteFile::sync`], its name (after
/// creation, rename or removal) by [`FileStore::sync_folder`] of the folder that holds it.
pub trait FileStore: Debug + Send + Sync + 'static {
    /// Opens a file for reading at any place.
    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Arc<dyn ReadFile>>>;

    /// The files directly or deeper below `folder` (`""` for all), in the order of their paths;
    /// none if it does not exist.
    fn list<'a>(&'a self, folder: &'a str) -> BoxFuture<'a, Result<Vec<FileEntry>>>;

    /// Creates a file that must not exist yet, with the folders above it.
    fn create(&self, path: &str) -> Result<Box<dyn WriteFile>>;

    /// Opens an existing file for writing in place.
    fn open_for_write(&self, path: &str) -> Result<Box<dyn WriteFile>>;

    /// Renames a file, replacing `to` if it exists, atomically.
    fn rename(&self, from: &str, to: &str) -> Result<()>;

    /// Removes a file.
    fn remove(&self, path: &str) -> Result<()>;

    /// Makes the names in `folder` durable.
    fn sync_folder(&self, folder: &str) -> Result<()>;

    /// Takes the store for this process until the lock is dropped; a store that another process
    /// owns is refused.
    fn lock(&self) -> Result<Box<dyn OwnerLock>>;

    /// An error if the store is locked, and what was locked is no longer where the store lies.
    fn confirm_owned(&self) -> Result<()> {
        Ok(())
    }

    /// Where the store lies, for messages: a folder, `:memory:` or a URL.
    fn location(&self) -> String;

    /// The folder of this machine that the files lie in; none where they lie elsewhere.
    fn local_root(&self) -> Option<&Path> {
        None
    }
}

/// A file open for reading.
pub trait ReadFile: Debug + Send + Sync + 'static {
    /// Length in bytes when it was opened.
    fn bytes(&self) -> u64;

    /// Reads exactly `range`; a file that ends before is an error. Local files answer at once,
    /// without leaving the thread.
    fn read(&self, range: Range<u64>) -> BoxFuture<'static, Result<Bytes>>;
}

/// A file open for writing.
pub trait WriteFile: Debug + Send + 'static {
    /// Writes all of `content` at `offset`, growing the file if need be.
    fn write_at(&mut self, offset: u64, content: &[u8]) -> Result<()>;

    /// Cuts or zero-extends the file.
    fn set_bytes(&mut self, bytes: u64) -> Result<()>;

    /// Makes content and length durable.
    fn sync(&mut self) -> Result<()>;

    /// An error if the path under which it was opened leads to something else now, or to nothing.
    fn confirm_name(&self) -> Result<()> {
        Ok(())
    }
}

/// Held while a process owns a store.
pub trait OwnerLock: Debug + Send + Sync {
    /// Records the address at which the owner listens as a server, for the error that other
    /// processes get.
    ///
    /// # Errors
    /// Those of writing it down.
    fn name_server(&self, _address: SocketAddr) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
