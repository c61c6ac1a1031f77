//! Signals that end an export or an import, which then removes what it has written so far.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

/// Grace period of what is interrupted. What is blocked on a pipe never sees the signal.
const PATIENCE: Duration = Duration::from_secs(10);
/// What shells add to the number of the signal that ended a program.
const EXIT_SIGNAL: u8 = 128;
const SIGINT: u8 = 2;
const SIGTERM: u8 = 15;

/// Waits for SIGINT and SIGTERM from now on; gives the exit status of the first that comes. With a
/// second one, or when nothing has come of the first, the process ends at once.
pub(super) fn watch() -> io::Result<oneshot::Receiver<u8>> {
    let mut signals =
        Signals { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? };
    let (sender, receiver) = oneshot::channel();
    tokio::spawn(async move {
        let mut status = signals.next().await;
        // What has just ended has nothing left to remove.
        if sender.send(status).is_ok() {
            status = tokio::time::timeout(PATIENCE, signals.next()).await.unwrap_or(status);
        }
        std::process::exit(status.into());
    });
    Ok(receiver)
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// The exit status that stands for the next signal.
    async fn next(&mut self) -> u8 {
        let number = tokio::select! {
            _ = self.interrupt.recv() => SIGINT,
            _ = self.terminate.recv() => SIGTERM,
        };
        EXIT_SIGNAL + number
    }
}
