//! What stops a statement: somebody's wish, or its timeout.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Sleep;

use super::error::{Error, ErrorKind, Result};
use super::registry::{Interrupt, Registration};

/// Watches over one statement, from its planning to its last row.
#[derive(Debug)]
pub struct StatementGuard {
    interrupts: watch::Receiver<Interrupt>,
    timeout: Option<Pin<Box<Sleep>>>,
}

impl StatementGuard {
    pub fn new(session: &Registration, timeout: Option<Duration>) -> Self {
        session.clear_cancel();
        Self { interrupts: session.interrupts(), timeout: timeout.map(|timeout| Box::pin(tokio::time::sleep(timeout))) }
    }

    /// Runs a step of the statement. Dropped steps stop their work: streams end their tasks with them.
    pub async fn run<T>(&mut self, step: impl Future<Output = Result<T>>) -> Result<T> {
        let timeout = async {
            match &mut self.timeout {
                Some(timeout) => timeout.as_mut().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            interrupted = self.interrupts.wait_for(|interrupt| *interrupt != Interrupt::None) => {
                match interrupted.map(|interrupt| *interrupt) {
                    Ok(Interrupt::Cancel) => {
                        Err(Error::new(ErrorKind::Cancelled, "canceling statement due to user request"))
                    }
                    _ => Err(Error::new(
                        ErrorKind::ShuttingDown,
                        "terminating connection due to administrator command",
                    )),
                }
            }
            () = timeout => Err(Error::new(ErrorKind::Cancelled, "canceling statement due to statement timeout")),
            done = step => done,
        }
    }
}
