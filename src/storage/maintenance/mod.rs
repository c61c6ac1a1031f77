//! What keeps a table in shape while it is written to: folds of its delta into run files,
//! compactions of run files, the thread that runs both, and the stalls of writers that outrun them.

mod commit;
mod compact;
mod fold;
mod jobs;
mod plan;
mod pressure;
mod stalls;
mod status;
mod vacuum;
mod worker;

use std::sync::Arc;

use super::catalog::Table;
use super::error::{Error, Result};
use super::state::State;
pub(crate) use commit::commit_job;
pub(crate) use compact::CompactReport;
pub(crate) use fold::FoldReport;
use jobs::Jobs;
pub(crate) use jobs::TableJob;
pub use jobs::Work;
pub(crate) use plan::Compaction;
pub(crate) use stalls::WriteStalls;
pub use status::MaintenanceStatus;
pub use vacuum::VacuumReport;
pub use worker::Maintainer;

/// Maintenance of the tables of a store. Clones share everything.
#[derive(Debug, Clone)]
pub(crate) struct Maintenance {
    state: Arc<State>,
    stalls: Arc<WriteStalls>,
    jobs: Arc<Jobs>,
}

impl Maintenance {
    pub(crate) fn new(state: Arc<State>, stalls: Arc<WriteStalls>) -> Self {
        Self { state, stalls, jobs: Arc::default() }
    }

    /// Ends maintenance for good.
    pub(crate) fn stop(&self) {
        self.stalls.stop();
    }

    /// The table that a job works on, as it is now.
    fn table(&self, table: u64) -> Result<Arc<Table>> {
        let snapshot = self.state.snapshot();
        snapshot.table(table).cloned().ok_or_else(|| Error::NoSuchTable(table.to_string()))
    }
}

#[cfg(test)]
mod tests;
