//! A line on the terminal that says how far an export is.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::super::text::{counted, grouped};
use crate::clock::Clock;
use crate::frontend::embedded::ExportProgress;

const INTERVAL: Duration = Duration::from_millis(500);
/// Back to the first column and clear the line.
const CLEAR_LINE: &str = "\r\x1b[K";

/// Shows progress from a thread of its own until it is ended.
pub(super) struct ProgressLine {
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl ProgressLine {
    pub(super) fn start(progress: Arc<ExportProgress>, clock: Arc<dyn Clock>) -> io::Result<Self> {
        let (end, ended) = mpsc::channel();
        let thread = thread::Builder::new().name("export progress".to_owned()).spawn(move || {
            let begun = clock.elapsed();
            while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let elapsed = clock.elapsed().saturating_sub(begun);
                show(&format!("{CLEAR_LINE}{}", state(progress.entities(), progress.bytes(), elapsed)));
            }
            show(CLEAR_LINE);
        })?;
        Ok(Self { end, thread })
    }

    /// Ends the line and clears it away.
    pub(super) fn end(self) {
        drop(self.end);
        // A thread that panicked has said so itself, and its line is no part of the export.
        let _ = self.thread.join();
    }
}

/// A terminal that is gone does not end an export.
fn show(text: &str) {
    let mut terminal = io::stderr().lock();
    let _ = terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush());
}

fn state(entities: u64, bytes: u64, elapsed: Duration) -> String {
    if entities == 0 {
        return "looking for the properties".to_owned();
    }
    let each_second = if elapsed.is_zero() { 0 } else { (entities as f64 / elapsed.as_secs_f64()) as u64 };
    format!(
        "exporting: {}, {} MB, {}/s",
        counted(entities, "entity", "entities"),
        grouped(bytes / 1_000_000),
        grouped(each_second)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line() {
        assert_eq!(state(0, 0, Duration::from_secs(9)), "looking for the properties");
        let line = state(1_234_567, 250_900_000, Duration::from_millis(2_500));
        assert_eq!(line, "exporting: 1,234,567 entities, 250 MB, 493,826/s");
        assert!(state(1, 0, Duration::ZERO).ends_with(" 0/s"));
    }
}
