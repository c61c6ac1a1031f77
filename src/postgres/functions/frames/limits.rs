//! What stops frames of a statement, and where their memory is counted.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation, UnboundedMemoryPool};

use crate::carried::carried_in_options;

/// Smaller changes are not told to the pool.
const STEP_BYTES: usize = 64 << 10;

/// The check for cancellation and the memory of a statement, as they travel with it.
#[derive(Clone)]
pub struct FrameLimits {
    check: Arc<dyn Fn() -> Result<()> + Send + Sync>,
    pool: Arc<dyn MemoryPool>,
}

carried_in_options!(FrameLimits, "rowkey_frames");

impl Default for FrameLimits {
    fn default() -> Self {
        Self { check: Arc::new(|| Ok(())), pool: Arc::new(UnboundedMemoryPool::default()) }
    }
}

impl fmt::Debug for FrameLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FrameLimits")
    }
}

impl FrameLimits {
    /// `check` is an error once the statement is to stop.
    pub fn new(check: Arc<dyn Fn() -> Result<()> + Send + Sync>, pool: Arc<dyn MemoryPool>) -> Self {
        Self { check, pool }
    }

    pub(super) fn check(&self) -> Result<()> {
        (self.check)()
    }

    /// Memory of the statement, until it is dropped.
    ///
    /// # Errors
    /// There is not as much.
    pub(in crate::functions) fn reserve(&self, what: &'static str, bytes: usize) -> Result<MemoryReservation> {
        let reservation = MemoryConsumer::new(what).register(&self.pool);
        reservation.try_grow(bytes)?;
        Ok(reservation)
    }

    pub(super) fn memory(&self) -> Memory {
        Memory { reservation: MemoryConsumer::new("window frame").register(&self.pool) }
    }
}

/// What one frame takes.
#[derive(Debug)]
pub(super) struct Memory {
    reservation: MemoryReservation,
}

impl Memory {
    /// # Errors
    /// There is no more.
    pub(super) fn take(&mut self, bytes: usize) -> Result<()> {
        if bytes.abs_diff(self.reservation.size()) >= STEP_BYTES {
            self.reservation.try_resize(bytes)?;
        }
        Ok(())
    }
}
