//! Appends on their way to the end of the log, and whose turn it is to write them.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::callers::Callers;
use super::error::{Error, Result};
use rowkey_model::files;

/// What an append wants done once its record is durable (with [`Durability::Os`]: written); it gets
/// the record's sequence number.
pub(super) type OnDurable = Box<dyn FnOnce(u64) + Send>;

pub(super) const PANICKED: &str = "the thread that writes the log has panicked";

/// A record that is to be written, and who waits for that.
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

/// Appends on their way to the thread that writes.
pub(super) struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
    callers: Arc<Callers>,
}

pub(super) type Answer = oneshot::Sender<Result<u64>>;

pub(super) struct QueueState {
    waiting: VecDeque<Entry>,
    /// Who waits for what is written to be synced.
    syncs: Vec<Answer>,
    /// Whether somebody has the turn to write.
    is_writing: bool,
    /// Groups that were of one, and nobody came while they were written, since there was another.
    lonely_groups: u8,
    /// Of [`Callers`], when the last append came.
    caller_changes: u64,
    /// What its caller is to write, until it begins.
    pub claimed: Option<Entry>,
    closed: bool,
    pub poisoned: Option<Arc<str>>,
    /// Why there is no segment for what came last, and therefore for what comes behind it.
    pub stalled: Option<Arc<files::Error>>,
    pub durable: u64,
}

/// After so many groups of one, the next one who comes is taken for alone. Who is not, and writes,
/// keeps its thread from others that could get the next group ready meanwhile.
const LONELY_GROUPS_MIN: u8 = 4;

/// So often a caller writes its own appends before it gives way once. Giving way wakes another
/// thread, which takes as long as the sync.
const LED_GROUPS_MAX: u8 = 16;

/// Who writes an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Thread,
    /// Its caller. `gives_way` if other tasks are to have this thread before the caller goes on.
    Caller {
        gives_way: bool,
    },
}

impl QueueState {
    /// Remembers whether the group that was written was of one, and nobody came meanwhile.
    fn end_group(&mut self, entries: usize) {
        self.is_writing = false;
        self.lonely_groups = match entries == 1 && self.waiting.is_empty() {
            true => self.lonely_groups.saturating_add(1),
            false => 0,
        };
    }

    /// `caller_changes` is how often one caller of the store has followed another.
    fn next_turn(&mut self, caller_changes: u64) -> Turn {
        if self.caller_changes != caller_changes {
            self.caller_changes = caller_changes;
            self.lonely_groups = 0;
        }
        let is_idle = !self.is_writing && self.waiting.is_empty() && self.syncs.is_empty();
        if !is_idle || self.lonely_groups < LONELY_GROUPS_MIN {
            return Turn::Thread;
        }
        let gives_way = self.lonely_groups >= LONELY_GROUPS_MIN + LED_GROUPS_MAX;
        if gives_way {
            self.lonely_groups = LONELY_GROUPS_MIN;
        }
        Turn::Caller { gives_way }
    }

    /// Takes the turn from a caller that has not begun; false if there is none.
    fn give_to_thread(&mut self) -> bool {
        let Some(entry) = self.claimed.take() else { return false };
        self.waiting.push_front(entry);
        self.is_writing = false;
        true
    }
}

impl Queue {
    pub(super) fn new(durable: u64, callers: Arc<Callers>) -> Self {
        let state = QueueState {
            waiting: VecDeque::new(),
            syncs: Vec::new(),
            is_writing: false,
            lonely_groups: 0,
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

    /// Takes an append, and says who is to write it.
    pub(super) fn push(&self, entry: Entry) -> Turn {
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
                Turn::Thread
            }
            None => {
                let turn = state.next_turn(self.callers.changes());
                if turn == Turn::Thread {
                    state.waiting.push_back(entry);
                    // Whoever writes looks for more at the end; and the thread that wakes up would
                    // find the lock taken.
                    let wake = !state.is_writing;
                    drop(state);
                    if wake {
                        self.changed.notify_one();
                    }
                } else {
                    state.is_writing = true;
                    state.claimed = Some(entry);
                }
                turn
            }
        }
    }

    /// Takes the turn from a caller that will not use it.
    pub(super) fn give_back(&self) {
        let mut state = self.state();
        if state.give_to_thread() {
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
                state.give_to_thread();
            }
            if state.is_writing {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            if !state.waiting.is_empty() || !state.syncs.is_empty() {
                state.is_writing = true;
                return Some((std::mem::take(&mut state.waiting), std::mem::take(&mut state.syncs)));
            }
            if state.closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Refuses a group and all that follows, until somebody goes on.
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
        if thread::panicking() {
            self.0.poison(&Arc::from(PANICKED));
        }
    }
}

/// Hands the log back, however the caller's work ends.
pub(super) struct EndOfTurn<'a>(pub &'a Queue);

impl Drop for EndOfTurn<'_> {
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
