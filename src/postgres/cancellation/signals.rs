//! Cancel requests and shutdown of a session, and the deadline of its statement.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tokio::time::Instant;

use crate::carried::Interruptible;
use crate::error::external;
use rowkey_base::clock::timer_now;
use rowkey_base::{Error, Result, SqlState};

/// A request to interrupt a running statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Interrupt {
    #[default]
    None,
    /// Stop the statement.
    Cancel,
    /// Stop the statement and end the session.
    Terminate,
}

/// The interruptions of one session, shared by all tasks of its running statement.
#[derive(Debug)]
pub struct Signals {
    session: Arc<SessionSignals>,
    /// The statement was cancelled by dropping it. The session's signals are those of its next one
    /// by then.
    abandoned: AtomicBool,
}

#[derive(Debug)]
struct SessionSignals {
    interrupt: watch::Sender<Interrupt>,
    /// From `statement_timeout`.
    deadline: Mutex<Option<Instant>>,
    /// Whether the statement commits or has committed, and cannot be stopped any more.
    committing: watch::Sender<bool>,
}

/// A commit under way. Dropped without [`Self::done`], it has failed, and the statement can be
/// stopped again.
#[derive(Debug)]
pub struct Committing<'a> {
    signals: &'a Signals,
    done: bool,
}

impl Committing<'_> {
    /// The commit has succeeded.
    pub fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Committing<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.signals.set_committing(false);
        }
    }
}

impl Default for Signals {
    fn default() -> Self {
        Self::new()
    }
}

impl Signals {
    /// Signals of a session without interruptions.
    pub fn new() -> Self {
        let session = SessionSignals {
            interrupt: watch::channel(Interrupt::None).0,
            deadline: Mutex::default(),
            committing: watch::channel(false).0,
        };
        Self { session: Arc::new(session), abandoned: AtomicBool::new(false) }
    }

    /// The same for the work of one statement, which can be abandoned by itself.
    pub fn of_statement(&self) -> Arc<Self> {
        Arc::new(Self { session: Arc::clone(&self.session), abandoned: AtomicBool::new(false) })
    }

    /// Cancels the work of the statement that these are of: its future was dropped.
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }

    /// Subscribes to interruptions.
    pub fn interrupts(&self) -> watch::Receiver<Interrupt> {
        self.session.interrupt.subscribe()
    }

    /// Interrupts the running statement. [`Interrupt::Terminate`] is final.
    pub fn interrupt(&self, interrupt: Interrupt) {
        self.session.interrupt.send_if_modified(|current| {
            let changes = *current != Interrupt::Terminate && *current != interrupt;
            if changes {
                *current = interrupt;
            }
            changes
        });
    }

    /// At the start of a statement: forgets a cancel request for an earlier one.
    pub fn clear_cancel(&self) {
        self.session.interrupt.send_if_modified(|interrupt| {
            let cancel = *interrupt == Interrupt::Cancel;
            if cancel {
                *interrupt = Interrupt::None;
            }
            cancel
        });
    }

    /// Sets when the running statement times out; `None` is never.
    pub fn set_deadline(&self, deadline: Option<Instant>) {
        *self.session.deadline.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
    }

    /// Marks the start of a commit.
    pub fn committing(&self) -> Committing<'_> {
        self.set_committing(true);
        Committing { signals: self, done: false }
    }

    /// Whether a commit is under way or has succeeded.
    pub fn commits(&self) -> bool {
        *self.session.committing.borrow()
    }

    /// At the start of a statement: forgets the commit of an earlier one.
    pub fn clear_commit(&self) {
        self.set_committing(false);
    }

    /// Returns when a commit has failed.
    pub async fn commit_fails(&self) {
        let mut committing = self.session.committing.subscribe();
        // The sender lives as long as `self`.
        let _failed = committing.wait_for(|committing| !committing).await;
    }

    fn set_committing(&self, committing: bool) {
        self.session.committing.send_if_modified(|now| std::mem::replace(now, committing) != committing);
    }

    /// An error (`57014`, `57P01`) if the running statement is to stop.
    pub fn check(&self) -> Result<()> {
        if self.abandoned.load(Ordering::Relaxed) {
            return Err(Error::new(SqlState::QUERY_CANCELED, "the statement was abandoned"));
        }
        self.interruption()
    }

    /// The error (`57014`, `57P01`) that the client gets if it, a timeout or a shutdown has stopped
    /// the running statement. Work may be abandoned for another error, which is then the one to
    /// tell.
    pub fn interruption(&self) -> Result<()> {
        if self.commits() {
            return Ok(());
        }
        match *self.session.interrupt.borrow() {
            Interrupt::None => {}
            interrupt => return Err(interrupted(interrupt)),
        }
        match *self.session.deadline.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(deadline) if timer_now() >= deadline => Err(timed_out()),
            _ => Ok(()),
        }
    }
}

impl Interruptible for Signals {
    fn check(&self) -> datafusion::common::Result<()> {
        self.check().map_err(external)
    }
}

/// The error that the client gets for an interruption.
pub fn interrupted(interrupt: Interrupt) -> Error {
    match interrupt {
        Interrupt::Cancel => Error::new(SqlState::QUERY_CANCELED, "canceling statement due to user request"),
        _ => Error::new(SqlState::ADMIN_SHUTDOWN, "terminating connection due to administrator command"),
    }
}

/// The error of a statement beyond `statement_timeout` (`57014`).
pub fn timed_out() -> Error {
    Error::new(SqlState::QUERY_CANCELED, "canceling statement due to statement timeout")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn kind(signals: &Signals) -> Option<SqlState> {
        signals.check().err().map(|error| error.sqlstate())
    }

    #[test]
    fn the_end_is_not_taken_back() {
        let signals = Signals::new();
        assert_eq!(kind(&signals), None);
        signals.interrupt(Interrupt::Cancel);
        assert_eq!(kind(&signals), Some(SqlState::QUERY_CANCELED));
        signals.clear_cancel();
        assert_eq!(kind(&signals), None);
        signals.interrupt(Interrupt::Terminate);
        signals.interrupt(Interrupt::Cancel);
        signals.clear_cancel();
        assert_eq!(kind(&signals), Some(SqlState::ADMIN_SHUTDOWN));
    }

    #[test]
    fn the_work_of_a_statement_is_abandoned_by_itself() {
        let session = Signals::new();
        let (first, next) = (session.of_statement(), session.of_statement());
        first.abandon();
        assert_eq!(kind(&first), Some(SqlState::QUERY_CANCELED));
        assert_eq!((kind(&next), kind(&session)), (None, None));
        session.interrupt(Interrupt::Terminate);
        assert_eq!(kind(&next), Some(SqlState::ADMIN_SHUTDOWN));
    }

    #[test]
    fn a_deadline_passes() {
        let signals = Signals::new();
        signals.set_deadline(Some(timer_now() + Duration::from_secs(3600)));
        assert_eq!(kind(&signals), None);
        signals.set_deadline(Some(timer_now()));
        assert_eq!(kind(&signals), Some(SqlState::QUERY_CANCELED));
        signals.set_deadline(None);
        assert_eq!(kind(&signals), None);
    }
}
