//! The queue of the group commit, and the election of its leader.
//!
//! Appends that wait together make a group. One leader writes and syncs it, the callers of the
//! others follow: they wait for its answer. The leader is the log's thread, or a lone caller.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use tokio::sync::oneshot;

use super::callers::Callers;
use super::error::{Error, Result};
use super::threads::{Condvar, Mutex, MutexGuard, panicking};
use rowkey_model::files;

/// What an append wants done once its record is durable (with `Durability::Os`: written); it gets
/// the record's sequence number.
pub(super) type OnDurable = Box<dyn FnOnce(u64) + Send>;

pub(super) const PANICKED: &str = "the thread that writes the log has panicked";

/// A record that is to be written, and where its outcome goes.
pub(super) struct Entry {
    pub kind: u8,
    pub payload: Bytes,
    /// Answered only when synced.
    pub synced: bool,
    pub on_durable: Option<OnDurable>,
    pub done: oneshot::Sender<Result<u64>>,
}

impl Entry {
    pub(super) fn answer(self, answer: Result<u64>) {
        // The caller may have stopped listening; the record is durable or not all the same.
        let _ = self.done.send(answer);
    }
}

/// Appends on their way to the leader.
pub(super) struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
    callers: Arc<Callers>,
}

pub(super) type Answer = oneshot::Sender<Result<u64>>;

pub(super) struct QueueState {
    waiting: VecDeque<Entry>,
    /// Answered when what is written is synced.
    syncs: Vec<Answer>,
    /// Whether a leader is at work, or about to be.
    has_leader: bool,
    /// Groups of a single append, in a row, while which no other append came.
    single_groups: u8,
    /// Of [`Callers`], when the last append came.
    caller_changes: u64,
    /// The append of a caller that was elected, until it begins to write.
    pub claimed: Option<Entry>,
    closed: bool,
    pub poisoned: Option<Arc<str>>,
    /// Why there is no segment for what came last, and therefore for what comes behind it.
    pub stalled: Option<Arc<files::Error>>,
    pub durable: u64,
}

/// After so many groups of a single append the next caller is taken to be alone, and leads. A
/// leading caller blocks its thread, on which others could get the next group ready meanwhile.
const SINGLE_GROUPS_MIN: u8 = 4;

/// So many groups a caller leads before it yields its thread once. Yielding wakes another thread,
/// which takes as long as the sync.
const LED_GROUPS_MAX: u8 = 16;

/// The leader that writes an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leader {
    LogThread,
    /// Its own caller. With `yields`, other tasks get this thread before the caller goes on.
    Caller {
        yields: bool,
    },
}

impl QueueState {
    /// The leader is done with a group of so many.
    fn end_group(&mut self, entries: usize) {
        self.has_leader = false;
        self.single_groups = match entries == 1 && self.waiting.is_empty() {
            true => self.single_groups.saturating_add(1),
            false => 0,
        };
    }

    /// Who leads the next group; `caller_changes` is how often one caller of the store has followed
    /// another.
    fn elect(&mut self, caller_changes: u64) -> Leader {
        if self.caller_changes != caller_changes {
            self.caller_changes = caller_changes;
            self.single_groups = 0;
        }
        let is_idle = !self.has_leader && self.waiting.is_empty() && self.syncs.is_empty();
        if !is_idle || self.single_groups < SINGLE_GROUPS_MIN {
            return Leader::LogThread;
        }
        let yields = self.single_groups >= SINGLE_GROUPS_MIN + LED_GROUPS_MAX;
        if yields {
            self.single_groups = SINGLE_GROUPS_MIN;
        }
        Leader::Caller { yields }
    }

    /// Whether a leader is at work on all that came so far.
    #[cfg(test)]
    pub(super) fn is_led(&self) -> bool {
        self.has_leader && self.waiting.is_empty() && self.syncs.is_empty()
    }

    /// Makes the thread the leader in place of a caller that has not begun; false if there is none.
    fn pass_to_thread(&mut self) -> bool {
        let Some(entry) = self.claimed.take() else { return false };
        self.waiting.push_front(entry);
        self.has_leader = false;
        true
    }
}

impl Queue {
    pub(super) fn new(durable: u64, callers: Arc<Callers>) -> Self {
        let state = QueueState {
            waiting: VecDeque::new(),
            syncs: Vec::new(),
            has_leader: false,
            single_groups: 0,
            caller_changes: 0,
            claimed: None,
            closed: false,
            poisoned: None,
            stalled: None,
            durable,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), callers }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an append, and says which leader writes it.
    pub(super) fn push(&self, entry: Entry) -> Leader {
        let mut state = self.state();
        let refused = match (&state.poisoned, &state.stalled) {
            (Some(cause), _) => Some(Error::Poisoned { cause: Arc::clone(cause) }),
            (None, Some(cause)) => Some(Error::NoSegment { cause: Arc::clone(cause) }),
            (None, None) => None,
        };
        match refused {
            Some(error) => {
                drop(state);
                entry.answer(Err(error));
                Leader::LogThread
            }
            None => {
                let leader = state.elect(self.callers.changes());
                if leader == Leader::LogThread {
                    state.waiting.push_back(entry);
                    // A leader looks for more when it is done; and the thread that wakes up would
                    // find the lock taken.
                    let wake = !state.has_leader;
                    drop(state);
                    if wake {
                        self.changed.notify_one();
                    }
                } else {
                    state.has_leader = true;
                    state.claimed = Some(entry);
                }
                leader
            }
        }
    }

    /// A caller that was elected will not lead: the thread does.
    pub(super) fn resign(&self) {
        let mut state = self.state();
        if state.pass_to_thread() {
            drop(state);
            self.changed.notify_one();
        }
    }

    pub(super) fn want_sync(&self, done: Answer) {
        let mut state = self.state();
        let _ = match &state.poisoned {
            Some(cause) => done.send(Err(Error::Poisoned { cause: Arc::clone(cause) })),
            None => {
                state.syncs.push(done);
                self.changed.notify_one();
                Ok(())
            }
        };
    }

    pub(super) fn close(&self) {
        self.state().closed = true;
        self.changed.notify_one();
    }

    /// Waits for appends and syncs and takes them all; none once the queue is closed and empty.
    /// `before` is how many were taken the last time, all of which are answered.
    pub(super) fn take(&self, before: Option<usize>) -> Option<(VecDeque<Entry>, Vec<Answer>)> {
        let mut state = self.state();
        if let Some(before) = before {
            state.end_group(before);
        }
        loop {
            if state.closed {
                state.pass_to_thread();
            }
            if state.has_leader {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            if !state.waiting.is_empty() || !state.syncs.is_empty() {
                state.has_leader = true;
                return Some((std::mem::take(&mut state.waiting), std::mem::take(&mut state.syncs)));
            }
            if state.closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Refuses a group and all that follows, until `stalled` is cleared.
    pub(super) fn stall(&self, group: VecDeque<Entry>, cause: files::Error) {
        let cause = Arc::new(cause);
        let waiting = {
            let mut state = self.state();
            state.stalled = Some(Arc::clone(&cause));
            std::mem::take(&mut state.waiting)
        };
        for entry in group.into_iter().chain(waiting) {
            entry.answer(Err(Error::NoSegment { cause: Arc::clone(&cause) }));
        }
    }

    /// Refuses what waits and all that follows.
    pub(super) fn poison(&self, cause: &Arc<str>) {
        let (refused, syncs) = {
            let mut state = self.state();
            state.poisoned.get_or_insert_with(|| Arc::clone(cause));
            (std::mem::take(&mut state.waiting), std::mem::take(&mut state.syncs))
        };
        for entry in refused {
            entry.answer(Err(Error::Poisoned { cause: Arc::clone(cause) }));
        }
        for done in syncs {
            let _ = done.send(Err(Error::Poisoned { cause: Arc::clone(cause) }));
        }
    }
}

/// Refuses all further appends when the thread ends, however it ends.
pub(super) struct PoisonAtEnd<'a>(pub &'a Queue);

impl Drop for PoisonAtEnd<'_> {
    fn drop(&mut self) {
        if panicking() {
            self.0.poison(&Arc::from(PANICKED));
        }
    }
}

/// Ends the lead of a caller, however its work ends.
pub(super) struct EndOfLead<'a>(pub &'a Queue);

impl Drop for EndOfLead<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.end_group(1);
        let wanted = !state.waiting.is_empty() || !state.syncs.is_empty() || state.closed;
        drop(state);
        if wanted {
            self.0.changed.notify_one();
        }
    }
}
