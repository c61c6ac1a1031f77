//! Commits of catalog edits, alone or with a table's delta.

use std::collections::HashSet;
use std::sync::Arc;

use super::State;
use super::head::Head;
use crate::catalog::{Catalog, Edit};
use crate::delta::TableDelta;
use crate::error::Result;
use crate::records::encode_edits;
use crate::run::RunFile;
use crate::snapshot::Snapshot;

impl State {
    /// Makes edits durable as one record, and publishes the catalog they lead to. They may depend
    /// on the newest state, which stays as it is meanwhile; with them the delta of one table may be
    /// replaced. `build` must not wait. Blocks for the sync.
    pub(crate) fn commit_with(
        &self,
        build: impl FnOnce(&Head) -> Result<(Vec<Edit>, Option<(u64, Arc<TableDelta>)>)>,
    ) -> Result<Snapshot> {
        let (answer, gone, snapshot) = {
            let mut head = self.head()?;
            let (edits, delta) = build(&head)?;
            let before = Arc::clone(&head.catalog);
            let (kind, payload) = encode_edits(&edits)?;
            let answer = head.append(kind, payload, &edits, true, |head, _| {
                if let Some((table, delta)) = delta {
                    Arc::make_mut(&mut head.deltas).insert(table, delta);
                }
            })?;
            (answer, files_gone(&before, &head.catalog), head.snapshot())
        };
        answer.wait()?;
        self.retire(gone);
        Ok(snapshot)
    }

    /// Files that the newest catalog names no more go when no snapshot reads them; a checkpoint is
    /// made if it is time. Blocks for that.
    pub(crate) fn retire(&self, gone: Vec<Arc<RunFile>>) {
        self.retired.add(gone);
        // What is committed stays committed, whatever becomes of the log before it.
        let checkpoint = self.checkpoint_when_due();
        self.checkpoints.note(checkpoint);
        self.remove_retired();
    }

    /// Removes files that no snapshot can reach any more.
    pub(crate) fn remove_retired(&self) {
        self.retired.remove_unreachable(&self.files);
    }
}

/// Files that a catalog names and the one after it does not.
pub(crate) fn files_gone(before: &Catalog, after: &Catalog) -> Vec<Arc<RunFile>> {
    let kept: HashSet<u64> = after.tables().flat_map(|table| table.manifest.files()).map(|file| file.id).collect();
    let files = before.tables().flat_map(|table| table.manifest.files());
    files.filter(|file| !kept.contains(&file.id)).cloned().collect()
}
