//! Stops a statement on a cancel request, shutdown or timeout.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::signals::{Interrupt, Signals, interrupted, timed_out};
use rowkey_base::Result;
use rowkey_base::clock::timer_now;

/// The guard of one statement, from its planning to its last row.
#[derive(Debug)]
pub struct StatementGuard {
    signals: Arc<Signals>,
    interrupts: watch::Receiver<Interrupt>,
    deadline: Option<Instant>,
}

impl StatementGuard {
    /// Starts a statement of the session that the signals belong to.
    pub fn new(signals: &Arc<Signals>, timeout: Option<Duration>) -> Self {
        // A timeout beyond the clock's range is none.
        Self::until(signals, timeout.and_then(|timeout| timer_now().checked_add(timeout)))
    }

    /// Goes on with a statement until its deadline.
    fn until(signals: &Arc<Signals>, deadline: Option<Instant>) -> Self {
        let signals = Arc::clone(signals);
        signals.clear_cancel();
        signals.clear_commit();
        signals.set_deadline(deadline);
        Self { interrupts: signals.interrupts(), signals, deadline }
    }

    /// Runs a step of the statement; a large future should come pinned, since it is moved
    /// otherwise. A step that is stopped is dropped, and its streams abort their tasks. A commit
    /// under way is not stopped, and its outcome is returned.
    ///
    /// # Errors
    /// The step's own; `57014` after a cancel request or timeout, `57P01` at shutdown.
    pub async fn run<T>(&mut self, step: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::pin!(step);
        loop {
            let timeout = async {
                match self.deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            let stopped = tokio::select! {
                biased;
                interrupt = self.interrupts.wait_for(|interrupt| *interrupt != Interrupt::None) => {
                    // Without a sender the session has ended.
                    interrupted(interrupt.map_or(Interrupt::Terminate, |interrupt| *interrupt))
                }
                () = timeout => timed_out(),
                done = &mut step => return done,
            };
            if !self.signals.commits() {
                return Err(stopped);
            }
            tokio::select! {
                biased;
                done = &mut step => return done,
                () = self.signals.commit_fails() => {}
            }
        }
    }
}

/// When a request of several messages times out: the first of them that takes time starts the
/// clock, which runs until the request ends, as in PostgreSQL.
#[derive(Debug, Default)]
pub struct RequestDeadline(Option<Instant>);

impl RequestDeadline {
    /// The guard of one message.
    pub fn guard(&mut self, signals: &Arc<Signals>, timeout: Option<Duration>) -> StatementGuard {
        // One that has passed between messages has found nothing to stop.
        let running = self.0.filter(|deadline| timer_now() < *deadline);
        let guard = match running {
            Some(deadline) => StatementGuard::until(signals, Some(deadline)),
            None => StatementGuard::new(signals, timeout),
        };
        self.0 = guard.deadline;
        guard
    }

    /// Ends the request.
    pub fn clear(&mut self) {
        self.0 = None;
    }
}

impl Drop for StatementGuard {
    fn drop(&mut self) {
        // There is no deadline between statements.
        self.signals.set_deadline(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_messages_of_a_request_have_one_deadline() {
        let signals = Arc::new(Signals::new());
        let mut request = RequestDeadline::default();
        let deadline =
            |request: &mut RequestDeadline, timeout: Option<Duration>| request.guard(&signals, timeout).deadline;
        let first = deadline(&mut request, Some(Duration::from_secs(60)));
        assert!(first.is_some());
        assert_eq!(deadline(&mut request, Some(Duration::from_secs(120))), first);
        request.clear();
        assert_ne!(deadline(&mut request, Some(Duration::from_secs(120))), first);
        request.clear();
        assert_eq!(deadline(&mut request, None), None);
        // One that has passed is no statement's.
        let passed = deadline(&mut request, Some(Duration::ZERO));
        assert_ne!(deadline(&mut request, Some(Duration::from_secs(60))), passed);
    }
}
