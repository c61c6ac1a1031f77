//! Maintenance of a store's tables: asked for, in the background, and what it is doing.

use std::sync::Arc;

use super::Store;
use crate::catalog::{Edit, Table};
use crate::error::Result;
use crate::maintenance::{
    CompactReport, Compaction, FoldReport, Maintainer, MaintenanceStatus, TableJob, VacuumReport, Work, commit_job,
};
use crate::snapshot::Snapshot;

impl Store {
    /// Claims a table for a fold.
    #[cfg(any(test, feature = "testing"))]
    pub fn begin_job(&self, account: &str, table: &str) -> Result<TableJob> {
        self.begin_work(account, table, Work::Fold)
    }

    /// Claims a table, existing or not, for a job.
    ///
    /// # Errors
    /// [`Error::Busy`](crate::Error::Busy) while another job is under way on it.
    pub fn begin_work(&self, account: &str, table: &str, work: Work) -> Result<TableJob> {
        self.maintenance.claim(account, table, work, false)
    }

    /// The same, and waits while the job under way is one of the background. Blocks.
    pub fn wait_for_job(&self, account: &str, table: &str, work: Work) -> Result<TableJob> {
        self.maintenance.claim(account, table, work, true)
    }

    /// Commits the edits of a job that began with the table as `base` says, or that make the table.
    /// Columns that single writes have added since then stay; if the run files are others than
    /// then, nothing is done.
    pub fn commit_job(&self, base: &Table, edits: Vec<Edit>) -> Result<Snapshot> {
        commit_job(&self.state, base, edits)
    }

    /// Folds the whole delta of a table. Blocks for its reads, writes and syncs; the caller holds
    /// the table's job.
    pub fn fold(&self, table: u64) -> Result<FoldReport> {
        self.maintenance.fold(table)
    }

    /// Takes the next step of a compaction, if one is due: files are cut at `file_bytes` encoded
    /// bytes. Blocks; the caller holds the table's job. `None` if none is due.
    pub fn compact_step(&self, table: u64, file_bytes: usize, compaction: Compaction) -> Result<Option<CompactReport>> {
        self.maintenance.compact_step(table, file_bytes, compaction)
    }

    /// Folds a table, and compacts what is due; with `full` all of it is written anew, one file a
    /// range partition. Waits for jobs of the background. Blocks.
    pub fn vacuum(&self, table: u64, full: bool, file_bytes: usize) -> Result<VacuumReport> {
        self.maintenance.vacuum(table, full, file_bytes)
    }

    /// What maintenance does now, and what it has done.
    pub fn maintenance_status(&self) -> MaintenanceStatus {
        self.maintenance.status()
    }

    /// Ends the maintenance of this store for good.
    pub fn stop_maintenance(&self) {
        self.maintenance.stop();
    }
}

impl Maintainer {
    /// The background maintenance of a store.
    pub fn new(store: Arc<Store>) -> Self {
        Self::of(store.maintenance.clone(), store.file_bytes)
    }
}
