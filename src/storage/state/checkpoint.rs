//! When the log is shortened: a checkpoint is due once it would free enough.

use std::sync::{Arc, Mutex, PoisonError};

use super::State;
use crate::error::{Error, Result};
use crate::recovery::{CHECKPOINT_WITH_SEQUENCE, CheckpointContent};
use crate::snapshot::Snapshot;

/// What checkpoints cover, and how the last one went.
#[derive(Debug)]
pub(super) struct Checkpoints {
    after_bytes: u64,
    /// Of the last checkpoint; held while one is made.
    covered: Mutex<u64>,
    failure: Mutex<Option<Arc<str>>>,
}

impl Checkpoints {
    /// A checkpoint is made once this many bytes of records follow the last one.
    pub(super) fn new(after_bytes: u64, covered: u64) -> Self {
        Self { after_bytes, covered: Mutex::new(covered), failure: Mutex::default() }
    }

    /// Remembers how it went.
    pub(super) fn note(&self, outcome: Result<()>) {
        let failure = outcome.err().map(|error| Arc::from(error.to_string()));
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }
}

impl State {
    /// Writes a checkpoint if enough of the log could go.
    pub(super) fn checkpoint_when_due(&self) -> Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        let mut last = self.checkpoints.covered.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = self.snapshot();
        let covered = covered_by(&snapshot);
        if covered <= *last {
            return Ok(());
        }
        // Either there is much behind the last checkpoint, or much before it that a table had held
        // back.
        let held_back = log.bytes_up_to(covered).saturating_sub(log.bytes_up_to(*last));
        let much = self.head()?.log_bytes.max(held_back);
        if much < self.checkpoints.after_bytes {
            return Ok(());
        }
        let content = CheckpointContent { sequence: snapshot.sequence, catalog: snapshot.catalog.as_ref() };
        let content = serde_json::to_vec(&content).map_err(|error| Error::corrupt("catalog", error))?;
        // It must not know of records that a crash could still take away.
        if log.durable() < snapshot.sequence {
            log.sync()?;
        }
        log.checkpoint(covered, CHECKPOINT_WITH_SEQUENCE, &content)?;
        *last = covered;
        self.head()?.log_bytes = 0;
        Ok(())
    }

    /// Bytes of the log that no checkpoint covers: writes that are not in run files hold them back.
    pub(crate) fn uncovered_log_bytes(&self) -> u64 {
        let covered = *self.checkpoints.covered.lock().unwrap_or_else(PoisonError::into_inner);
        self.log.as_ref().map_or(0, |log| log.bytes().saturating_sub(log.bytes_up_to(covered)))
    }

    /// Why the log could not be shortened when it was tried last, if it could not.
    pub(crate) fn checkpoint_failure(&self) -> Option<Arc<str>> {
        self.checkpoints.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The last record that need not be replayed: all entity writes up to it are in run files.
fn covered_by(snapshot: &Snapshot) -> u64 {
    let first = snapshot.deltas.values().filter_map(|delta| delta.first_sequence()).min();
    first.map_or(snapshot.sequence, |first| snapshot.sequence.min(first - 1))
}
