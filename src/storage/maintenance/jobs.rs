//! Job locks: one job works on a table at a time.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::Maintenance;
use crate::error::{Error, Result};
use rowkey_model::DateTime;

/// What a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    Import,
    Fold,
    Compaction,
    Vacuum,
}

impl Work {
    /// The name in `rowkey.maintenance` and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Work::Import => "import",
            Work::Fold => "fold",
            Work::Compaction => "compaction",
            Work::Vacuum => "vacuum",
        }
    }

    /// Whether the maintenance thread does it unasked: a statement may wait until it is done.
    fn is_background(self) -> bool {
        match self {
            Work::Fold | Work::Compaction => true,
            Work::Import | Work::Vacuum => false,
        }
    }
}

/// Account and folded name of a table, existing or not.
type Place = (String, String);

/// Jobs under way, by table.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    running: Mutex<BTreeMap<Place, (Work, DateTime)>>,
    ended: Condvar,
}

impl Jobs {
    fn running(&self) -> MutexGuard<'_, BTreeMap<Place, (Work, DateTime)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is done to a table, and since when.
    pub(super) fn of(&self, account: &str, table: &str) -> Option<(Work, DateTime)> {
        self.running().get(&place(account, table)).copied()
    }
}

/// Held while a job (an import, a fold, a compaction) works on a table.
#[derive(Debug)]
pub struct TableJob {
    jobs: Arc<Jobs>,
    place: Place,
}

impl TableJob {
    /// The job goes on with other work.
    pub(super) fn goes_on_with(&self, work: Work, now: DateTime) {
        self.jobs.running().insert(self.place.clone(), (work, now));
    }
}

impl Drop for TableJob {
    fn drop(&mut self) {
        self.jobs.running().remove(&self.place);
        self.jobs.ended.notify_all();
    }
}

fn place(account: &str, table: &str) -> Place {
    (account.to_owned(), table.to_ascii_lowercase())
}

impl Maintenance {
    /// Claims a table, existing or not, for a job; refused while another one is under way, unless
    /// that is one of the background and it is to `wait` for it; VACUUM waits for another VACUUM.
    /// Blocks then.
    pub(crate) fn claim(&self, account: &str, table: &str, work: Work, wait: bool) -> Result<TableJob> {
        // A job ends in a commit: better refused now than after the work.
        self.state.refuse_if_read_only()?;
        let (jobs, place) = (&self.jobs, place(account, table));
        let mut running = jobs.running();
        while let Some((other, _)) = running.get(&place) {
            let is_same = (work, *other) == (Work::Vacuum, Work::Vacuum);
            if !wait || !(other.is_background() || is_same) {
                return Err(Error::Busy(table.to_owned()));
            }
            running = jobs.ended.wait(running).unwrap_or_else(PoisonError::into_inner);
        }
        running.insert(place.clone(), (work, self.state.clock().now()));
        drop(running);
        Ok(TableJob { jobs: Arc::clone(jobs), place })
    }
}
