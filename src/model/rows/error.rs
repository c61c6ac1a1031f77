//! What can go wrong while rows are sorted.

use crate::files;

/// Why sorting failed. The message names the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("spilling rows: {0}")]
    Files(#[from] files::Error),
    /// A spilled run is not what was written.
    #[error("spilled run {path} is corrupt at byte {offset}: {reason}")]
    Corrupt { path: String, offset: u64, reason: &'static str },
}

pub(super) type Result<T> = std::result::Result<T, Error>;
