//! Memory of rows that are computed and not yet taken, shared by all statements.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rowkey_base::{Error, SqlState};

/// There is as much, however little memory queries have.
const BYTES_MIN: usize = 4 << 20;

/// The bytes that all answers may hold together.
#[derive(Debug)]
pub(crate) struct RowBudget {
    bytes: usize,
    bytes_left: AtomicUsize,
}

impl RowBudget {
    /// A fourth as much as queries have.
    pub(crate) fn beside(query_bytes: u64) -> Arc<Self> {
        let bytes = usize::try_from(query_bytes / 4).unwrap_or(usize::MAX).max(BYTES_MIN);
        Arc::new(Self { bytes, bytes_left: AtomicUsize::new(bytes) })
    }

    /// None where others have taken them.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Option<HeldRows> {
        let less = |left: usize| left.checked_sub(bytes);
        self.bytes_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).ok()?;
        Some(HeldRows { budget: Arc::clone(self), bytes })
    }

    /// The error for rows of which no part can wait.
    pub(crate) fn exhausted(&self, bytes: usize) -> Error {
        let message = format!("out of memory for {bytes} bytes of rows beside those that clients have not read yet");
        Error::new(SqlState::OUT_OF_MEMORY, message).with_hint(format!(
            "All of these have {} bytes, a fourth of --memory-mib: read answers to their end, or select less at a time.",
            self.bytes
        ))
    }

    #[cfg(test)]
    pub(crate) fn bytes_left(&self) -> usize {
        self.bytes_left.load(Ordering::Relaxed)
    }
}

/// What one batch takes; given back on drop.
#[derive(Debug)]
pub(crate) struct HeldRows {
    budget: Arc<RowBudget>,
    bytes: usize,
}

impl Drop for HeldRows {
    fn drop(&mut self) {
        self.budget.bytes_left.fetch_add(self.bytes, Ordering::Relaxed);
    }
}
