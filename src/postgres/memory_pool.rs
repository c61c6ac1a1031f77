//! The pool that operators reserve memory from.
//!
//! DataFusion's fair pool gives each operator that can spill an equal part of what others have not
//! reserved, and counts the operators of this moment: the first one takes all, those that come
//! later take their parts nevertheless, and what cannot spill, such as the merge of the runs that
//! would set memory free, finds nothing left. Here a part is kept for it.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation, human_readable_size,
};

/// Of the pool, operators that cannot spill have one part of so many together, whatever the others
/// have taken: merges of spilled runs are made for that much.
const KEPT_PARTS: usize = 2;

/// A pool that operators which can spill share equally, and never use up for those that cannot.
#[derive(Debug)]
pub struct FairPool {
    bytes: usize,
    reserved: Mutex<Reserved>,
}

/// What is reserved, in bytes.
#[derive(Debug, Default, Clone, Copy)]
struct Reserved {
    spilling_consumers: usize,
    spillable: usize,
    unspillable: usize,
}

impl FairPool {
    /// A pool of so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self { bytes, reserved: Mutex::default() }
    }

    fn reserved(&self) -> MutexGuard<'_, Reserved> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reserved {
    fn of(&mut self, consumer: &MemoryConsumer) -> &mut usize {
        match consumer.can_spill() {
            true => &mut self.spillable,
            false => &mut self.unspillable,
        }
    }

    fn all(self) -> usize {
        self.spillable.saturating_add(self.unspillable)
    }

    /// How many bytes a reservation of `own` bytes may have, in a pool of `pool` bytes.
    fn limit(self, pool: usize, own: usize, can_spill: bool) -> usize {
        if can_spill {
            return pool.saturating_sub(self.unspillable) / self.spilling_consumers.max(1);
        }
        let (left, kept) = (pool.saturating_sub(self.all()), pool / KEPT_PARTS);
        own.saturating_add(left.max(kept.saturating_sub(self.unspillable)))
    }
}

impl MemoryPool for FairPool {
    fn name(&self) -> &str {
        "fair"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.reserved().spilling_consumers += usize::from(consumer.can_spill());
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        let mut reserved = self.reserved();
        reserved.spilling_consumers = reserved.spilling_consumers.saturating_sub(usize::from(consumer.can_spill()));
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        *self.reserved().of(reservation.consumer()) += additional;
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        let mut reserved = self.reserved();
        let reserved = reserved.of(reservation.consumer());
        *reserved = reserved.saturating_sub(shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let consumer = reservation.consumer();
        let mut reserved = self.reserved();
        let limit = reserved.limit(self.bytes, reservation.size(), consumer.can_spill());
        if reservation.size().saturating_add(additional) > limit {
            return Err(DataFusionError::ResourcesExhausted(format!(
                "Failed to allocate additional {} for {} with {} already allocated for this reservation - {} remain \
                 available for the total memory pool: {self}",
                human_readable_size(additional),
                consumer.name(),
                human_readable_size(reservation.size()),
                human_readable_size(limit.saturating_sub(reservation.size())),
            )));
        }
        *reserved.of(consumer) += additional;
        Ok(())
    }

    fn reserved(&self) -> usize {
        FairPool::reserved(self).all()
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.bytes)
    }
}

impl fmt::Display for FairPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fair(pool_size: {})", human_readable_size(self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const POOL_BYTES: usize = 1 << 20;

    fn pool() -> Arc<dyn MemoryPool> {
        Arc::new(FairPool::new(POOL_BYTES))
    }

    fn reservation(pool: &Arc<dyn MemoryPool>, can_spill: bool) -> MemoryReservation {
        MemoryConsumer::new("test").with_can_spill(can_spill).register(pool)
    }

    /// Grows by a kibibyte as long as it may.
    fn fill(reservation: &MemoryReservation) -> usize {
        while reservation.try_grow(1024).is_ok() {}
        reservation.size()
    }

    #[test]
    fn what_cannot_spill_finds_memory_beside_what_can() {
        let pool = pool();
        let first = reservation(&pool, true);
        assert_eq!(fill(&first), POOL_BYTES);
        let later: Vec<_> = (0..3).map(|_| reservation(&pool, true)).collect();
        assert!(later.iter().all(|later| fill(later) == POOL_BYTES / 4));
        let (one, other) = (reservation(&pool, false), reservation(&pool, false));
        one.try_grow(POOL_BYTES / 8).expect("memory");
        assert_eq!(fill(&other), POOL_BYTES / 8 * 3);
        drop((first, later));
        assert_eq!(fill(&other), POOL_BYTES / 8 * 7);
    }

    #[test]
    fn those_that_can_spill_have_equal_parts() {
        let pool = pool();
        let all: Vec<_> = (0..4).map(|_| reservation(&pool, true)).collect();
        let unspillable = reservation(&pool, false);
        unspillable.try_grow(POOL_BYTES / 2).expect("memory");
        assert!(all.iter().all(|one| one.try_grow(POOL_BYTES / 16).is_ok()));
        assert!(all.iter().all(|one| one.try_grow(POOL_BYTES / 16 + 1).is_err()));
        drop(unspillable);
        assert!(all.iter().all(|one| one.try_grow(POOL_BYTES / 16).is_ok()));
    }

    #[test]
    fn all_is_given_back() {
        let pool = pool();
        for can_spill in [true, false] {
            let one = reservation(&pool, can_spill);
            one.try_grow(POOL_BYTES / 2).expect("memory");
            assert_eq!(pool.reserved(), POOL_BYTES / 2);
            drop(one);
            assert_eq!(pool.reserved(), 0);
        }
        assert_eq!(fill(&reservation(&pool, true)), POOL_BYTES);
    }
}
