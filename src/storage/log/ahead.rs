//! Pre-allocation of the next segment, while the one before it is written.
//!
//! To fill a segment with zeros and sync it takes as long as many groups of records, and they would
//! wait. So the log begins with short segments, and while it writes the second half of one, a
//! thread makes the next, twice as long. If that is not ready in time, or could not be made, the
//! log makes a short one itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use super::segment::Blank;
use rowkey_model::files::{FileStore, Result, paths};

/// A segment that a thread of its own makes. Dropped, it is given up, and the thread has ended.
#[derive(Debug)]
pub(super) struct Ahead {
    given_up: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Option<Blank>>>>,
}

impl Ahead {
    /// Begins with one of so many bytes. None if the system gives no thread: then it is not made
    /// ahead.
    pub(super) fn begin(store: &Arc<dyn FileStore>, bytes: u64) -> Option<Self> {
        let given_up = Arc::new(AtomicBool::new(false));
        let make = {
            let (store, given_up) = (Arc::clone(store), Arc::clone(&given_up));
            move || Blank::make_synced(&store, paths::NEXT_LOG_SEGMENT, bytes, &given_up)
        };
        let thread = thread::Builder::new().name("rowkey-segment".to_owned()).spawn(make).ok()?;
        Some(Self { given_up, thread: Some(thread) })
    }

    /// Whether it is there, or never will be.
    pub(super) fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// The segment, if it was made. Waits for that.
    pub(super) fn take(mut self) -> Option<Blank> {
        // Without it, the log makes one itself and reports the error that was met here.
        self.thread.take()?.join().ok()?.ok()?
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Its file must not be removed later, when another process may own the folder.
            let _ = thread.join();
        }
    }
}
