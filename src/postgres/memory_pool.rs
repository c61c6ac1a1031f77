//! The pool that operators reserve memory from.
//!
//! DataFusion's fair pool gives each operator that can spill an equal part of what others have not
//! reserved, and counts the operators of this moment: the first one takes all, those that come
//! later take their parts nevertheless, and what cannot spill, such as the merge of the runs that
//! would set memory free, finds nothing left. Here a part is kept for it.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::Result;
use datafusion::execution::memory_pool::{FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};

/// Of the pool, operators that cannot spill have one part of so many together, whatever the others
/// have taken: merges of spilled runs are made for that much.
const KEPT_PARTS: usize = 2;

/// DataFusion's fair pool, that operators which can spill never use up for those that cannot.
#[derive(Debug)]
pub struct FairPool {
    pool: FairSpillPool,
    /// What those that cannot spill have in any case, in bytes.
    kept: usize,
    /// What they have.
    unspillable: AtomicUsize,
}

impl FairPool {
    /// A pool of so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self { pool: FairSpillPool::new(bytes), kept: bytes / KEPT_PARTS, unspillable: AtomicUsize::new(0) }
    }

    /// Counts what cannot spill; `None` where it would have more than is kept for it.
    fn take_kept(&self, additional: usize) -> Option<usize> {
        let taken = |had: usize| had.checked_add(additional).filter(|has| *has <= self.kept);
        self.unspillable.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).ok()
    }
}

impl MemoryPool for FairPool {
    fn name(&self) -> &str {
        self.pool.name()
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.pool.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.pool.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        if !reservation.consumer().can_spill() {
            self.unspillable.fetch_add(additional, Ordering::Relaxed);
        }
        self.pool.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        if !reservation.consumer().can_spill() {
            self.unspillable.fetch_sub(shrink, Ordering::Relaxed);
        }
        self.pool.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        if reservation.consumer().can_spill() {
            return self.pool.try_grow(reservation, additional);
        }
        if self.take_kept(additional).is_some() {
            self.pool.grow(reservation, additional);
            return Ok(());
        }
        self.pool.try_grow(reservation, additional)?;
        self.unspillable.fetch_add(additional, Ordering::Relaxed);
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.pool.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.pool.memory_limit()
    }
}

impl fmt::Display for FairPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pool.fmt(f)
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
