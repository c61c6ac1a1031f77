//! What a session is told from outside, and how long its statement may take.

use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;
use tokio::time::Instant;

use rowkey_base::clock::timer_now;
use rowkey_base::{Error, Result, SqlState};

/// What a running statement is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Interrupt {
    #[default]
    None,
    /// Stop the statement.
    Cancel,
    /// Stop the statement and end the session.
    Terminate,
}

/// Of one session; seen by the statement that runs, wherever it computes.
#[derive(Debug)]
pub struct Signals {
    interrupt: watch::Sender<Interrupt>,
    /// When the statement that runs has to be over.
    deadline: Mutex<Option<Instant>>,
    /// Whether it is too late to stop the statement: what it has written is being committed, or is.
    committing: watch::Sender<bool>,
}

/// While this is there, a commit is under way. Nothing stops a statement whose commit went well.
#[derive(Debug)]
pub struct Committing<'a> {
    signals: &'a Signals,
    done: bool,
}

impl Committing<'_> {
    /// The commit went well.
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

impl Signals {
    pub fn new() -> Self {
        Self {
            interrupt: watch::channel(Interrupt::None).0,
            deadline: Mutex::default(),
            committing: watch::channel(false).0,
        }
    }

    /// Tells of interruptions from now on.
    pub fn interrupts(&self) -> watch::Receiver<Interrupt> {
        self.interrupt.subscribe()
    }

    /// Whoever is told to end is not told anything less afterwards.
    pub fn interrupt(&self, interrupt: Interrupt) {
        self.interrupt.send_if_modified(|told| {
            let more = *told != Interrupt::Terminate && *told != interrupt;
            if more {
                *told = interrupt;
            }
            more
        });
    }

    /// A statement begins: what was asked before does not concern it, except the end.
    pub fn clear_cancel(&self) {
        self.interrupt.send_if_modified(|interrupt| {
            let cancel = *interrupt == Interrupt::Cancel;
            if cancel {
                *interrupt = Interrupt::None;
            }
            cancel
        });
    }

    pub fn set_deadline(&self, deadline: Option<Instant>) {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
    }

    /// A commit begins.
    pub fn committing(&self) -> Committing<'_> {
        self.set_committing(true);
        Committing { signals: self, done: false }
    }

    /// Whether a commit is under way or went well.
    pub fn commits(&self) -> bool {
        *self.committing.borrow()
    }

    /// A statement begins, which has not committed anything.
    pub fn clear_commit(&self) {
        self.set_committing(false);
    }

    /// Returns when a commit has failed.
    pub async fn commit_fails(&self) {
        let mut committing = self.committing.subscribe();
        // The sender is there as long as this is.
        let _told = committing.wait_for(|committing| !committing).await;
    }

    fn set_committing(&self, committing: bool) {
        self.committing.send_if_modified(|now| std::mem::replace(now, committing) != committing);
    }

    /// An error if the statement that runs is to stop.
    pub fn check(&self) -> Result<()> {
        if self.commits() {
            return Ok(());
        }
        match *self.interrupt.borrow() {
            Interrupt::None => {}
            told => return Err(interrupted(told)),
        }
        match *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(deadline) if timer_now() >= deadline => Err(timed_out()),
            _ => Ok(()),
        }
    }
}

/// What the client is told of an interruption.
pub fn interrupted(interrupt: Interrupt) -> Error {
    match interrupt {
        Interrupt::Cancel => Error::new(SqlState::QUERY_CANCELED, "canceling statement due to user request"),
        _ => Error::new(SqlState::ADMIN_SHUTDOWN, "terminating connection due to administrator command"),
    }
}

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
