//! What stops a statement: a cancel request, or its timeout.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::signals::{Interrupt, Signals, interrupted, timed_out};
use rowkey_base::Result;
use rowkey_base::clock::timer_now;

/// Watches over one statement, from its planning to its last row.
#[derive(Debug)]
pub struct StatementGuard {
    signals: Arc<Signals>,
    interrupts: watch::Receiver<Interrupt>,
    deadline: Option<Instant>,
}

impl StatementGuard {
    /// A statement of the session that has these signals begins.
    pub fn new(signals: &Arc<Signals>, timeout: Option<Duration>) -> Self {
        let signals = Arc::clone(signals);
        // A timeout beyond what a clock can show is none.
        let deadline = timeout.and_then(|timeout| timer_now().checked_add(timeout));
        signals.clear_cancel();
        signals.clear_commit();
        signals.set_deadline(deadline);
        Self { interrupts: signals.interrupts(), signals, deadline }
    }

    /// Runs a step of the statement; a large one should come pinned, since it is moved otherwise.
    /// Dropped steps stop their work: streams end their tasks with them. A commit under way is not
    /// stopped, and what was committed is told.
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
                told = self.interrupts.wait_for(|interrupt| *interrupt != Interrupt::None) => {
                    // Without a sender the session is no more.
                    interrupted(told.map_or(Interrupt::Terminate, |told| *told))
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
        // Between statements there is none.
        self.signals.set_deadline(None);
    }
}
