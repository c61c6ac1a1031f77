//! COPY TO STDOUT in a format of entities, under way.

use std::sync::Arc;

use bytes::Bytes;
use datafusion::execution::memory_pool::MemoryReservation;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::output_flow::OutputFlow;
use rowkey_base::{Error, Result, SqlState};

/// What an export gives at its end: entities, or rows of a query, and what its format lost.
pub(super) type Exported = (u64, Vec<String>);

/// An export whose output goes to a client. It runs on compute threads, a little ahead of what is
/// taken, and ends when this is dropped.
#[derive(Debug)]
pub struct EntitiesOut {
    pub(super) chunks: mpsc::UnboundedReceiver<Bytes>,
    pub(super) export: JoinHandle<Result<Exported>>,
    pub(super) flow: Arc<OutputFlow>,
    pub(super) is_binary: bool,
    /// What its format gathers.
    pub(super) _memory: Option<MemoryReservation>,
}

impl EntitiesOut {
    /// Whether bytes are no text.
    pub fn is_binary(&self) -> bool {
        self.is_binary
    }

    /// Entities, or rows of a query, written so far.
    pub fn rows(&self) -> u64 {
        self.flow.entities()
    }

    /// The next bytes, cut anywhere; `None` behind the last ones, and where the export has failed.
    pub async fn next(&mut self) -> Option<Bytes> {
        let chunk = self.chunks.recv().await?;
        self.flow.take(chunk.len());
        Some(chunk)
    }

    /// How many entities, or rows of a query, all of it was, and what the format could not keep.
    ///
    /// # Errors
    /// Of the export, which ended at it.
    pub(super) async fn finish(mut self) -> Result<(u64, Vec<Error>)> {
        let ended = (&mut self.export).await;
        let (count, notes) = ended.map_err(|error| Error::new(SqlState::INTERNAL_ERROR, error.to_string()))??;
        let notice = |note: String| Error::new(SqlState::SUCCESSFUL_COMPLETION, note);
        Ok((count, notes.into_iter().map(notice).collect()))
    }
}

impl Drop for EntitiesOut {
    fn drop(&mut self) {
        self.export.abort();
    }
}
