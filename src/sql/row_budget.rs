//! Memory of answers that are not read to their end, shared by all statements: of rows that are
//! computed, and of the plans that compute them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rowkey_base::{Error, SqlState};

/// Rows of a batch where less is left than this share of all, from the smallest.
const BATCH_ROWS: [(usize, usize); 2] = [(4, 256), (2, 1024)];
/// There is as much, however little memory queries have.
const BYTES_MIN: usize = 4 << 20;
/// So of plans: one scan of wide rows takes some mebibytes.
const PLAN_BYTES_MIN: usize = 64 << 20;

/// Bytes that all answers may hold together.
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

    /// As much as queries have, for what plans hold that wait for their readers.
    pub(crate) fn of_plans(query_bytes: u64) -> Arc<Self> {
        let bytes = usize::try_from(query_bytes).unwrap_or(usize::MAX).max(PLAN_BYTES_MIN);
        Arc::new(Self { bytes, bytes_left: AtomicUsize::new(bytes) })
    }

    /// None where others have taken them.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Option<HeldRows> {
        let less = |left: usize| left.checked_sub(bytes);
        self.bytes_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).ok()?;
        Some(HeldRows { budget: Arc::clone(self), bytes })
    }

    /// The same, of all if it would be more: one alone is never too large.
    pub(crate) fn take_at_most_all(self: &Arc<Self>, bytes: usize) -> Option<HeldRows> {
        self.take(bytes.min(self.bytes))
    }

    /// How many rows a batch of another answer has at most, where others hold much: a plan that
    /// waits for its reader holds some batches.
    pub(crate) fn batch_rows_max(&self) -> Option<usize> {
        let left = self.bytes_left.load(Ordering::Relaxed);
        BATCH_ROWS.iter().find(|(share, _)| left < self.bytes / share).map(|(_, rows)| *rows)
    }

    /// The error for an answer that would be open beside the others.
    pub(crate) fn too_many_answers(&self, bytes: usize) -> Error {
        let message =
            format!("out of memory for {bytes} bytes of an answer beside others that are not read to the end");
        Error::new(SqlState::OUT_OF_MEMORY, message).with_hint(format!(
            "All of these have {} bytes, as much as --memory-mib: close cursors, or read answers to their end.",
            self.bytes
        ))
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
