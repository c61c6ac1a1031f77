//! How much memory the writes of a transaction may take.

use rowkey_base::{Error, Result, SqlState};

/// Memory of everything that a transaction writes, in bytes.
pub(super) const TRANSACTION_BYTES_MAX: u64 = 256 << 20;

/// Counts the memory of what a statement writes, in bytes.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    left: u64,
}

impl MemoryBudget {
    /// What a transaction that holds so many bytes may still take.
    pub(crate) fn beside(held: u64) -> Self {
        Self { left: TRANSACTION_BYTES_MAX.saturating_sub(held) }
    }

    /// Takes bytes from what is left, or fails with `PROGRAM_LIMIT_EXCEEDED`.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<()> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(too_large()),
        }
    }
}

pub(super) fn too_large() -> Error {
    let message = format!("a transaction writes more than {} MiB", TRANSACTION_BYTES_MAX >> 20);
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
        .with_hint("write in several transactions, or use `rowkey import`")
}
