//! Admission control of planning: long statements are planned a few at a time, since a plan takes
//! hundreds of times the memory of its text, and no pool counts it.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Texts up to this size are admitted at once.
const TEXT_BYTES_ADMITTED: usize = 16 << 10;
/// What the plan of a text takes, for each of its bytes: hundreds of aggregates, each over the one
/// before.
const PLAN_BYTES_EACH: u64 = 1000;
/// Smaller logical plans are admitted at once.
const LOGICAL_BYTES_ADMITTED: u64 = 256 << 10;
/// What a physical plan takes while it is made, for each byte of the logical one: three hundred
/// aggregates, each over the one before.
const PHYSICAL_BYTES_EACH: u64 = 10;
const KIBIBYTE: u64 = 1024;
/// As many permits as a semaphore has, more or less.
const KIBIBYTES_MAX: u64 = 1 << 29;

/// The memory that plans of long texts take together.
#[derive(Debug)]
pub(super) struct PlanningQueue {
    kibibytes_left: Semaphore,
    kibibytes: u32,
}

impl PlanningQueue {
    /// Of a quarter of what queries have.
    pub(super) fn beside(query_bytes: u64) -> Self {
        let kibibytes = (query_bytes / 4 / KIBIBYTE).clamp(1, KIBIBYTES_MAX) as u32;
        Self { kibibytes_left: Semaphore::new(kibibytes as usize), kibibytes }
    }

    /// Waits until there is room for the plan of a text, which is given back on drop; for its
    /// physical plan, if the bytes of the logical one are known. One at a time may be as large as
    /// all.
    pub(super) async fn enter(&self, text: &str, logical_bytes: u64) -> Option<SemaphorePermit<'_>> {
        if text.len() <= TEXT_BYTES_ADMITTED && logical_bytes <= LOGICAL_BYTES_ADMITTED {
            return None;
        }
        let of_text = (text.len() as u64).saturating_mul(PLAN_BYTES_EACH);
        let wanted = of_text.max(logical_bytes.saturating_mul(PHYSICAL_BYTES_EACH)) / KIBIBYTE;
        let wanted = u32::try_from(wanted).map_or(self.kibibytes, |wanted| wanted.min(self.kibibytes));
        // It is never closed.
        self.kibibytes_left.acquire_many(wanted).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use futures::executor::block_on;
    use futures::{FutureExt, poll};

    use super::*;

    #[test]
    fn long_texts_wait_for_each_other_and_short_ones_are_admitted() {
        let queue = PlanningQueue::beside(128 << 20);
        let (long, longest) = ("x".repeat(60_000), "x".repeat(60_000_000));
        block_on(async {
            let first = queue.enter(&long, 0).await;
            assert!(first.is_some());
            let mut second = Box::pin(queue.enter(&longest, 0));
            assert!(matches!(poll!(second.as_mut()), Poll::Pending));
            assert!(queue.enter("select 1", 0).now_or_never().is_some_and(|permit| permit.is_none()));
            assert!(queue.enter("select 1", 60 << 20).now_or_never().is_none());
            drop(first);
            assert!(second.await.is_some());
        });
    }
}
