//! What can go wrong with a file.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;

/// Result of a file operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed file operation. Every message names the operation and the file, relative to its data
/// folder; folders that cannot be opened or locked are named as they were given.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {operation} {path}: there is no such file")]
    NotFound { path: String, operation: Operation },

    #[error("cannot {operation} {path}: it exists already")]
    AlreadyExists { path: String, operation: Operation },

    /// Another process (or another handle of this one) owns the folder.
    #[error(
        "cannot {} {path}: the data folder is in use by {owner}; stop that first, or work with another folder",
        Operation::Lock
    )]
    Owned {
        path: String,
        owner: String,
        /// Where the owner listens, if it is a server.
        server: Option<SocketAddr>,
    },

    /// The folder, its lock or a file being written is no longer what this process has opened.
    #[error("cannot {operation} {path}: {change} while this process had the data folder open; {remedy}")]
    Replaced { path: String, operation: Operation, change: String, remedy: &'static str },

    #[error("cannot {operation} {path}: no space is left on the device or within the quota")]
    NoSpace { path: String, operation: Operation, source: io::Error },

    /// The file system is mounted read-only, or this user may not write there.
    #[error("cannot {operation} {path}: it is not writable: {source}")]
    ReadOnly { path: String, operation: Operation, source: io::Error },

    /// The file ends before the end of the range asked for.
    #[error("cannot {} {path}: bytes {}..{} were asked for, and the file ends at {bytes}", Operation::Read, range.start, range.end)]
    ShortRead { path: String, range: Range<u64>, bytes: u64 },

    /// Writing to a store that can only be read, or was opened for that.
    #[error("cannot {operation} {path}: the data folder is open for reading only")]
    Unsupported { path: String, operation: Operation },

    /// A path that is not a plain relative one within the store.
    #[error("cannot {operation} {path:?}: {rule}")]
    BadPath { path: String, operation: Operation, rule: &'static str },

    #[error("cannot {operation} {path}: {source}")]
    Io { path: String, operation: Operation, source: io::Error },

    /// Only from the fault-injecting twin: the machine has stopped.
    #[error("cannot {operation} {path}: the store was stopped by its fault plan")]
    Stopped { path: String, operation: Operation },
}

impl Error {
    /// Whether the disk is full.
    pub fn is_no_space(&self) -> bool {
        matches!(self, Error::NoSpace { .. })
    }

    /// Classifies an I/O error by its kind.
    pub fn from_io(path: impl Into<String>, operation: Operation, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::NotFound => Error::NotFound { path, operation },
            io::ErrorKind::AlreadyExists => Error::AlreadyExists { path, operation },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::NoSpace { path, operation, source },
            io::ErrorKind::ReadOnlyFilesystem => Error::ReadOnly { path, operation, source },
            io::ErrorKind::PermissionDenied if operation.writes() => Error::ReadOnly { path, operation, source },
            _ => Error::Io { path, operation, source },
        }
    }

    /// Whether the file, or the folder above it, does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Error::NotFound { .. })
    }

    /// Whether the file is not as it was written: it is missing, or too short. Any other error says
    /// nothing about the file, only that it could not be read now.
    pub fn is_damage(&self) -> bool {
        matches!(self, Error::NotFound { .. } | Error::ShortRead { .. })
    }

    /// The file, or the folder, that the operation was about.
    pub fn path(&self) -> &str {
        match self {
            Error::NotFound { path, .. }
            | Error::AlreadyExists { path, .. }
            | Error::Owned { path, .. }
            | Error::Replaced { path, .. }
            | Error::NoSpace { path, .. }
            | Error::ReadOnly { path, .. }
            | Error::ShortRead { path, .. }
            | Error::Unsupported { path, .. }
            | Error::BadPath { path, .. }
            | Error::Io { path, .. }
            | Error::Stopped { path, .. } => path,
        }
    }
}

/// What was being done to a file; its text follows "cannot".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    OpenStore,
    Open,
    List,
    Read,
    Create,
    OpenForWrite,
    Write,
    SetBytes,
    Sync,
    Rename,
    Remove,
    SyncFolder,
    Lock,
    CreateSpillFolder,
    Resolve,
}

impl Operation {
    fn writes(self) -> bool {
        match self {
            Operation::OpenStore | Operation::Open | Operation::List | Operation::Read | Operation::Resolve => false,
            Operation::Create
            | Operation::OpenForWrite
            | Operation::Write
            | Operation::SetBytes
            | Operation::Sync
            | Operation::Rename
            | Operation::Remove
            | Operation::SyncFolder
            | Operation::Lock
            | Operation::CreateSpillFolder => true,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::OpenStore => "open the store",
            Operation::Open => "open",
            Operation::List => "list",
            Operation::Read => "read",
            Operation::Create => "create",
            Operation::OpenForWrite => "open for writing",
            Operation::Write => "write to",
            Operation::SetBytes => "set the length of",
            Operation::Sync => "sync",
            Operation::Rename => "rename",
            Operation::Remove => "remove",
            Operation::SyncFolder => "sync the folder",
            Operation::Lock => "take ownership of",
            Operation::CreateSpillFolder => "make a folder for spilled data at",
            Operation::Resolve => "follow",
        })
    }
}
