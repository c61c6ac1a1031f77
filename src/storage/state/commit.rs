//! Commits of catalog edits, alone or with a table's delta.

use std::sync::Arc;

use super::State;
use super::head::Head;
use super::reclaimer::Unlinked;
use crate::catalog::Edit;
use crate::delta::TableDelta;
use crate::error::Result;
use crate::records::encode_edits;
use crate::snapshot::Snapshot;

impl State {
    /// Makes edits durable as one record, and publishes the catalog they lead to. They may depend
    /// on the newest state, which stays as it is meanwhile; with them the delta of one table may be
    /// replaced. `build` must not wait. Blocks for the sync.
    pub(crate) fn commit_with(
        &self,
        build: impl FnOnce(&Head) -> Result<(Vec<Edit>, Option<(u64, Arc<TableDelta>)>)>,
    ) -> Result<Snapshot> {
        let (answer, unlinked, snapshot) = {
            let mut head = self.head()?;
            let (edits, delta) = build(&head)?;
            let before = (Arc::clone(&head.catalog), Arc::clone(&head.deltas));
            let (kind, payload) = encode_edits(&edits)?;
            let answer = head.append(kind, payload, &edits, true, |head, _| {
                if let Some((table, delta)) = delta {
                    Arc::make_mut(&mut head.deltas).insert(table, delta);
                }
            })?;
            (answer, head.unlinked_since(&before), head.snapshot())
        };
        answer.wait()?;
        self.retire(unlinked);
        Ok(snapshot)
    }

    /// What the newest state has no more goes when no snapshot reads it; a checkpoint is made if it
    /// is time. Blocks for that.
    pub(crate) fn retire(&self, unlinked: Unlinked) {
        self.reclaimer.retire(unlinked);
        // What is committed stays committed, whatever becomes of the log before it.
        let checkpoint = self.checkpoint_when_due();
        self.checkpoints.note(checkpoint);
        self.reclaim();
    }

    /// Removes files and frees writes that no snapshot can reach any more.
    pub(crate) fn reclaim(&self) {
        self.reclaimer.reclaim(&self.files);
    }

    /// Whether writes that are in files by now wait for snapshots to end.
    pub(crate) fn holds_retired_memory(&self) -> bool {
        self.reclaimer.holds_memory()
    }
}
