//! What maintenance is doing, and how it went.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Maintenance;
use super::jobs::Work;
use crate::log::Durability;
use rowkey_model::DateTime;

/// Of one table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableMaintenance {
    /// What is under way, and since when.
    pub work: Option<(Work, DateTime)>,
    /// Since the data folder was opened.
    pub folds: u64,
    pub compactions: u64,
    pub last_fold: Option<DateTime>,
    pub last_compaction: Option<DateTime>,
    /// Why the last attempt failed, and when; none once one went well.
    pub failure: Option<(Arc<str>, DateTime)>,
}

/// Of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaintenanceStatus {
    /// Bytes of the log on disk.
    pub log_bytes: u64,
    pub durability: Durability,
    /// Why the log could not be shortened when it was tried last.
    pub checkpoint_failure: Option<Arc<str>>,
    /// By id of the table.
    pub tables: BTreeMap<u64, TableMaintenance>,
}

impl Maintenance {
    pub(crate) fn status(&self) -> MaintenanceStatus {
        let mut tables = self.stalls.tables();
        for table in self.state.snapshot().catalog.tables() {
            let entry = tables.entry(table.id).or_default();
            entry.work = self.jobs.of(&table.account, &table.name);
        }
        MaintenanceStatus {
            log_bytes: self.state.log_bytes(),
            durability: self.state.durability(),
            checkpoint_failure: self.state.checkpoint_failure(),
            tables,
        }
    }
}
