//! Memory for messages that are not complete yet, shared by all connections: each may be large, and
//! nobody has to send the end of one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::message::MESSAGE_BYTES_MAX;

/// What every connection may hold beside, so that small messages come in whatever others do.
const FREE_BYTES: usize = 64 << 10;
/// Taken from the budget at a time.
const STEP_BYTES: usize = 256 << 10;

/// The bytes that all connections may hold together.
#[derive(Debug)]
pub(crate) struct MessageBudget {
    bytes_left: AtomicUsize,
}

impl MessageBudget {
    /// A fourth as much as queries have, and at least one message of the greatest length.
    pub(crate) fn beside(query_bytes: u64) -> Arc<Self> {
        let bytes = usize::try_from(query_bytes / 4).unwrap_or(usize::MAX);
        Self::of(bytes.max(MESSAGE_BYTES_MAX + STEP_BYTES))
    }

    fn of(bytes: usize) -> Arc<Self> {
        Arc::new(Self { bytes_left: AtomicUsize::new(bytes) })
    }

    fn take(&self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        self.bytes_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

/// What one connection holds of it; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct MessageBytes {
    budget: Arc<MessageBudget>,
    held: usize,
}

impl MessageBytes {
    pub(crate) fn new(budget: Arc<MessageBudget>) -> Self {
        Self { budget, held: 0 }
    }

    /// How many bytes may be read to those that are buffered; none when nothing is left.
    pub(crate) fn room(&mut self, buffered: usize) -> usize {
        let mut room = (self.held + FREE_BYTES).saturating_sub(buffered);
        if room == 0 && self.budget.take(STEP_BYTES) {
            self.held += STEP_BYTES;
            room = (self.held + FREE_BYTES).saturating_sub(buffered);
        }
        room
    }

    /// Gives back what is not needed for those that are still buffered.
    pub(crate) fn keep(&mut self, buffered: usize) {
        let surplus = self.held - self.held.min(buffered.saturating_sub(FREE_BYTES));
        if surplus > 0 {
            self.held -= surplus;
            self.budget.bytes_left.fetch_add(surplus, Ordering::Relaxed);
        }
    }
}

impl Drop for MessageBytes {
    fn drop(&mut self) {
        self.keep(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_share_what_is_large_and_have_what_is_small() {
        let budget = MessageBudget::of(2 * STEP_BYTES);
        let (mut one, mut other) = (MessageBytes::new(Arc::clone(&budget)), MessageBytes::new(Arc::clone(&budget)));
        assert_eq!(one.room(0), FREE_BYTES);
        assert_eq!(one.room(FREE_BYTES - 1), 1);
        assert_eq!(one.room(FREE_BYTES), STEP_BYTES);
        assert_eq!(one.room(FREE_BYTES + STEP_BYTES), STEP_BYTES);
        assert_eq!(one.room(FREE_BYTES + 2 * STEP_BYTES), 0);
        assert_eq!((other.room(0), other.room(FREE_BYTES)), (FREE_BYTES, 0));
        // A message was complete, and the next one has begun.
        one.keep(FREE_BYTES + 10);
        assert_eq!(other.room(FREE_BYTES), STEP_BYTES);
        assert_eq!((other.room(FREE_BYTES + STEP_BYTES), one.room(FREE_BYTES + 10)), (0, 0));
        drop(other);
        assert_eq!(one.room(FREE_BYTES + 10), STEP_BYTES);
        drop(one);
        assert_eq!(budget.bytes_left.load(Ordering::Relaxed), 2 * STEP_BYTES);
    }

    #[test]
    fn the_largest_message_finds_room_beside_queries_of_little_memory() {
        let mut only = MessageBytes::new(MessageBudget::beside(1 << 20));
        let mut buffered = 0;
        while buffered < 5 + MESSAGE_BYTES_MAX {
            let room = only.room(buffered);
            assert!(room > 0, "after {buffered} bytes");
            buffered += room;
        }
    }
}
