//! A line on the terminal that says how far an import is.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::super::text::{counted, grouped};
use crate::clock::Clock;
use crate::frontend::embedded::ImportProgress;

const INTERVAL: Duration = Duration::from_millis(500);
/// Back to the first column and clear the line.
const CLEAR_LINE: &str = "\r\x1b[K";

/// Shows progress from a thread of its own until it is ended.
pub(super) struct ProgressLine {
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl ProgressLine {
    pub(super) fn start(
        progress: Arc<ImportProgress>,
        bytes_total: Option<u64>,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let (end, ended) = mpsc::channel();
        let thread = thread::Builder::new().name("import progress".to_owned()).spawn(move || {
            let begun = clock.elapsed();
            while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let state = State {
                    phase: progress.phase(),
                    entities: progress.entities(),
                    bytes: progress.bytes(),
                    bytes_total,
                    elapsed: clock.elapsed().saturating_sub(begun),
                };
                show(&format!("{CLEAR_LINE}{}", state.line()));
            }
            show(CLEAR_LINE);
        })?;
        Ok(Self { end, thread })
    }

    /// Ends the line and clears it away.
    pub(super) fn end(self) {
        drop(self.end);
        // A thread that panicked has said so itself, and its line is no part of the import.
        let _ = self.thread.join();
    }
}

/// A terminal that is gone does not end an import.
fn show(text: &str) {
    let mut terminal = io::stderr().lock();
    let _ = terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush());
}

struct State {
    phase: &'static str,
    entities: u64,
    bytes: u64,
    bytes_total: Option<u64>,
    elapsed: Duration,
}

impl State {
    fn line(&self) -> String {
        let mut line = format!(
            "{}: {}, {} MB, {} entities/s",
            self.phase,
            counted(self.entities, "entity", "entities"),
            grouped(self.bytes / 1_000_000),
            grouped(per_second(self.entities, self.elapsed)),
        );
        if let Some(total) = self.bytes_total.filter(|total| *total > 0) {
            // More than was there at the beginning may be read: a file may grow.
            let percent = (self.bytes as f64 / total as f64 * 100.0).min(100.0);
            line.push_str(&format!(", {percent:.0} %"));
        }
        line
    }
}

/// A rate in whole units, 0 if no time has passed.
pub(super) fn per_second(count: u64, elapsed: Duration) -> u64 {
    if elapsed.is_zero() { 0 } else { (count as f64 / elapsed.as_secs_f64()) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line() {
        let mut state = State {
            phase: "reading",
            entities: 1_234_567,
            bytes: 250_900_000,
            bytes_total: None,
            elapsed: Duration::from_millis(2_500),
        };
        assert_eq!(state.line(), "reading: 1,234,567 entities, 250 MB, 493,826 entities/s");
        state.bytes_total = Some(1_000_000_000);
        assert!(state.line().ends_with(" entities/s, 25 %"));
        state.bytes_total = Some(1);
        assert!(state.line().ends_with(", 100 %"));
        (state.bytes_total, state.elapsed) = (Some(0), Duration::ZERO);
        assert!(state.line().ends_with(", 0 entities/s"));
    }
}
