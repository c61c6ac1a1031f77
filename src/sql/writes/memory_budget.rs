//! How much memory the writes of a transaction may take, of that of queries.

use std::sync::Arc;

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use rowkey_base::{Error, Result, SqlState};

/// Memory of everything that a transaction writes, in bytes.
pub(super) const TRANSACTION_BYTES_MAX: u64 = 256 << 20;
/// Bytes reserved at a time: a few small rows are written without asking the pool.
const RESERVED_AT_ONCE: u64 = 1 << 20;

/// Counts the memory of what a statement writes, in bytes.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    left: u64,
    taken: u64,
    /// What the statement reads or returns beside.
    held: u64,
    memory: WriteMemory,
}

impl MemoryBudget {
    /// What a transaction that holds so many bytes may still take.
    pub(crate) fn beside(held: u64, memory: WriteMemory) -> Self {
        Self { left: TRANSACTION_BYTES_MAX.saturating_sub(held), taken: 0, held: 0, memory }
    }

    /// Takes bytes from what is left, or fails: with `PROGRAM_LIMIT_EXCEEDED` beyond what a
    /// transaction may write, with `OUT_OF_MEMORY` where queries have taken their memory.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<()> {
        self.left = self.left.checked_sub(bytes).ok_or_else(too_large)?;
        self.taken += bytes;
        self.resize()
    }

    /// Takes what a row has beyond what it had when it was taken before.
    pub(crate) fn grow(&mut self, before: u64, bytes: u64) -> Result<()> {
        self.take(bytes.saturating_sub(before))
    }

    /// Counts bytes that the transaction does not write; fails with `OUT_OF_MEMORY`.
    pub(crate) fn hold(&mut self, bytes: u64) -> Result<()> {
        self.held += bytes;
        self.resize()
    }

    /// Counts so many bytes in place of those held before; fails with `OUT_OF_MEMORY`.
    pub(crate) fn hold_now(&mut self, bytes: u64) -> Result<()> {
        if bytes == self.held {
            return Ok(());
        }
        self.held = bytes;
        self.resize()
    }

    fn resize(&mut self) -> Result<()> {
        // A row is built, becomes an operation, and is encoded for the log and the delta.
        self.memory.resize(self.taken / 2 * 5 + self.held)
    }

    /// The memory taken, which is held until what is written is committed or kept elsewhere.
    pub(crate) fn into_memory(self) -> WriteMemory {
        self.memory
    }
}

/// Memory of queries that is held for writes.
#[derive(Debug)]
pub(crate) struct WriteMemory {
    pool: Arc<dyn MemoryPool>,
    reserved: Option<MemoryReservation>,
}

impl WriteMemory {
    pub(crate) fn of(pool: &Arc<dyn MemoryPool>) -> Self {
        Self { pool: Arc::clone(pool), reserved: None }
    }

    /// Holds so many bytes, about, in place of those before; fails with `OUT_OF_MEMORY`.
    pub(crate) fn resize(&mut self, bytes: u64) -> Result<()> {
        let bytes = (bytes / RESERVED_AT_ONCE * RESERVED_AT_ONCE) as usize;
        if self.reserved.as_ref().map_or(0, MemoryReservation::size) == bytes {
            return Ok(());
        }
        let pool = &self.pool;
        let reserved = self.reserved.get_or_insert_with(|| MemoryConsumer::new("writes").register(pool));
        reserved.try_resize(bytes).map_err(|_| {
            let message = format!("out of memory for {} MiB of writes", bytes >> 20);
            Error::new(SqlState::OUT_OF_MEMORY, message)
                .with_hint("write in several transactions, use `rowkey import`, or raise --memory-mib")
        })
    }
}

pub(super) fn too_large() -> Error {
    let message = format!("a transaction writes more than {} MiB", TRANSACTION_BYTES_MAX >> 20);
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
        .with_hint("write in several transactions, or use `rowkey import`")
}
