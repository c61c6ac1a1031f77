//! Groups of appends that a test chooses.

use std::thread;

use super::commit::Log;

impl Log {
    /// Holds the log's thread until what is given back is dropped: what is appended meanwhile makes
    /// one group. `None` if the log takes no more writes.
    pub(crate) fn gather(&self) -> Option<impl Sized + '_> {
        // With an earlier group in hand, it would wait for the writer before it looks for more.
        self.sync().ok()?;
        let writer = self.writing.writer();
        // The thread leads a group of no appends, and waits for the writer.
        let answer = self.settle();
        loop {
            let state = self.queue.state();
            if state.poisoned.is_some() {
                return None;
            }
            if state.is_led() {
                break;
            }
            drop(state);
            thread::yield_now();
        }
        Some((writer, answer))
    }
}
