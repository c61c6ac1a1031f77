//! How many scans run beside one another: what a scan has open of its files is in no pool.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use rowkey_base::{Error, Result, SqlState};

/// Scans of so many bytes need not wait.
const FREE_BYTES: usize = 64 << 10;
/// Scans of up to so many bytes do not wait for larger ones.
const SMALL_BYTES_MAX: usize = 4 << 20;
/// There is as much for scans of either kind, however little memory queries have.
const BYTES_MIN: usize = 16 << 20;
/// It is given out in such pieces.
const PIECE_BYTES: usize = 4 << 10;
/// Others have ended by then, or do not end soon.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// A scan has its chunks as they are stored, and dictionaries of them decoded.
const COPIES: usize = 2;

/// The memory that is left for scans, in pieces.
#[derive(Debug)]
pub(crate) struct ScanQueue {
    small: Lane,
    large: Lane,
}

#[derive(Debug)]
struct Lane {
    pieces: usize,
    left: Semaphore,
}

impl Lane {
    fn of(bytes: usize) -> Self {
        let pieces = bytes.max(BYTES_MIN) / PIECE_BYTES;
        Self { pieces, left: Semaphore::new(pieces) }
    }
}

impl ScanQueue {
    /// A fourth of the memory of queries is for small scans, and as much for large ones.
    pub(crate) fn beside(query_bytes: u64) -> Self {
        let part = usize::try_from(query_bytes / 4).unwrap_or(usize::MAX).min(u32::MAX as usize);
        Self { small: Lane::of(part), large: Lane::of(part) }
    }

    /// Waits, in the order of requests, until there is room for scans that have so many bytes of
    /// files open, all of it if it would be more; it is taken until the permit is dropped.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` where others have not ended after a while.
    pub(crate) async fn enter(&self, open_bytes: usize) -> Result<Option<SemaphorePermit<'_>>> {
        let bytes = open_bytes.saturating_mul(COPIES);
        if bytes <= FREE_BYTES {
            return Ok(None);
        }
        let lane = if bytes <= SMALL_BYTES_MAX { &self.small } else { &self.large };
        let pieces = (bytes / PIECE_BYTES).min(lane.pieces);
        let entered = lane.left.acquire_many(u32::try_from(pieces).unwrap_or(u32::MAX));
        match tokio::time::timeout(WAIT_MAX, entered).await {
            Ok(Ok(permit)) => Ok(Some(permit)),
            // It is never closed.
            Ok(Err(_)) => Ok(None),
            Err(_) => Err(Error::new(
                SqlState::OUT_OF_MEMORY,
                format!("out of memory for a scan that has {bytes} bytes of files open beside others"),
            )
            .with_hint("run fewer statements at a time that read large tables, or raise --memory-mib")),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    const MIB: usize = 1 << 20;

    #[tokio::test]
    async fn large_scans_wait_for_one_another_and_small_ones_do_not() {
        let queue = ScanQueue::beside(256 << 20);
        let first = queue.enter(20 * MIB).await.expect("room").expect("is counted");
        assert!(queue.enter(20 * MIB).now_or_never().is_none(), "it waits");
        let small = queue.enter(MIB).await.expect("room");
        assert!(small.is_some());
        assert!(queue.enter(10 << 10).await.expect("room").is_none());
        drop(first);
        // One alone is never too large.
        assert!(queue.enter(500 * MIB).await.expect("room").is_some());
    }
}
