//! A progress line on the terminal.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rowkey_base::clock::Clock;

const INTERVAL: Duration = Duration::from_millis(500);
/// Back to the first column and clear the line.
const CLEAR_LINE: &str = "\r\x1b[K";

/// Shows progress from a thread of its own until it is ended.
pub(super) struct ProgressLine {
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl ProgressLine {
    /// `line` gives the text for the time elapsed.
    pub(super) fn start(
        name: &str,
        clock: Arc<dyn Clock>,
        line: impl Fn(Duration) -> String + Send + 'static,
    ) -> io::Result<Self> {
        let (end, ended) = mpsc::channel();
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let begun = clock.elapsed();
            while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                show(&format!("{CLEAR_LINE}{}", line(clock.elapsed().saturating_sub(begun))));
            }
            show(CLEAR_LINE);
        })?;
        Ok(Self { end, thread })
    }

    /// Ends the line and clears it away.
    pub(super) fn end(self) {
        drop(self.end);
        // A panic of the thread is printed by the runtime and does not concern the work.
        let _ = self.thread.join();
    }
}

/// A closed terminal is ignored.
fn show(text: &str) {
    let mut terminal = io::stderr().lock();
    let _ = terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush());
}

/// A rate in whole units, 0 if no time has passed.
pub(super) fn per_second(count: u64, elapsed: Duration) -> u64 {
    if elapsed.is_zero() { 0 } else { (count as f64 / elapsed.as_secs_f64()) as u64 }
}
