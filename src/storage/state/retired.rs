//! Files that no newer catalog names, which older snapshots may still read.

use std::sync::{Arc, Mutex, PoisonError};

use crate::run::{RunFile, RunFiles};

/// Files that go once no snapshot can reach them.
#[derive(Debug, Default)]
pub(super) struct RetiredFiles(Mutex<Vec<Arc<RunFile>>>);

impl RetiredFiles {
    pub(super) fn add(&self, files: Vec<Arc<RunFile>>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(files);
    }

    /// Removes those that no snapshot can reach any more. One that cannot be removed now is swept
    /// at the next opening.
    pub(super) fn remove_unreachable(&self, files: &RunFiles) {
        let mut retired = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        retired.retain(|file| {
            files.forget(file.id);
            // The same description, or another one of the file.
            let reachable = Arc::strong_count(file) > 1 || file.holders.count() > 1;
            if !reachable {
                let _ = files.store().remove(&file.path);
            }
            reachable
        });
    }
}
