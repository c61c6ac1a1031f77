//! Pending connections, whose startup message has not come yet: port scans, probes, and clients in
//! their first milliseconds.

use std::collections::VecDeque;

use tokio::sync::oneshot;

/// Most at a time.
const PENDING_MAX: usize = 200;

/// The queue of pending connections. When it is full the oldest is evicted, so that silent ones do
/// not keep others out.
#[derive(Debug, Default)]
pub(crate) struct PendingConnections {
    /// The oldest first. The other end is dropped when a connection has started up or was closed.
    queue: VecDeque<oneshot::Sender<()>>,
}

/// A place in the queue, until this is dropped.
#[derive(Debug)]
pub(crate) struct PendingConnection(oneshot::Receiver<()>);

impl PendingConnections {
    pub(crate) fn admit(&mut self) -> PendingConnection {
        if self.queue.len() >= PENDING_MAX {
            self.queue.retain(|connection| !connection.is_closed());
        }
        if self.queue.len() >= PENDING_MAX {
            self.evict_oldest();
        }
        let (evict, evicted) = oneshot::channel();
        self.queue.push_back(evict);
        PendingConnection(evicted)
    }

    /// Evicts the oldest, if any is pending.
    pub(crate) fn evict_oldest(&mut self) {
        while let Some(oldest) = self.queue.pop_front() {
            // Sending fails for those that are not pending any more.
            if oldest.send(()).is_ok() {
                return;
            }
        }
    }
}

impl PendingConnection {
    /// Waits until it is evicted.
    pub(crate) async fn evicted(&mut self) {
        if (&mut self.0).await.is_err() {
            // The listener is closed, so nothing evicts it.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_evicted(connection: &mut PendingConnection) -> bool {
        connection.0.try_recv().is_ok()
    }

    #[test]
    fn the_oldest_is_evicted_first() {
        let mut queue = PendingConnections::default();
        let mut pending: Vec<PendingConnection> = (0..PENDING_MAX).map(|_| queue.admit()).collect();
        assert!(!pending.iter_mut().any(is_evicted));
        let _newest = queue.admit();
        let evicted: Vec<usize> = (0..PENDING_MAX).filter(|at| is_evicted(&mut pending[*at])).collect();
        assert_eq!(evicted, [0]);
    }

    #[test]
    fn connections_that_started_up_take_no_place() {
        let mut queue = PendingConnections::default();
        let mut silent = queue.admit();
        for _ in 0..10 * PENDING_MAX {
            drop(queue.admit());
        }
        assert!(!is_evicted(&mut silent));
        queue.evict_oldest();
        assert!(is_evicted(&mut silent));
    }
}
