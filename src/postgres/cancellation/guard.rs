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
        let signals = Arc::clone(signals);
        // A timeout beyond the clock's range is none.
        let deadline = timeout.and_then(|timeout| timer_now().checked_add(timeout));
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

impl Drop for StatementGuard {
    fn drop(&mut self) {
        // There is no deadline between statements.
        self.signals.set_deadline(None);
    }
}
