//! The session as a statement sees it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::prepared::Prepared;
use crate::export_files::ExportFiles;
use crate::registry::Registry;
use crate::statement_statistics::StatementReads;
use crate::system_catalog::CursorRow;
use rowkey_postgres::settings::Settings;

/// A session as it was when a statement of it began.
#[derive(Debug, Clone)]
pub(crate) struct StatementSession {
    pub settings: Settings,
    pub user: String,
    pub pid: i32,
    pub prepared: Arc<BTreeMap<String, Arc<Prepared>>>,
    pub cursors: Vec<CursorRow>,
    pub registry: Arc<Registry>,
    /// What `set_config` set while the statement ran; the session takes it over afterwards.
    pub changes: SettingChanges,
    /// What the statement reads.
    pub reads: StatementReads,
    /// Exports that it may read as tables; none for sessions that may read no files.
    pub exports: Option<Arc<ExportFiles>>,
}

/// Settings changed by functions, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct SettingChanges(Arc<Mutex<Vec<SettingChange>>>);

#[derive(Debug, Clone)]
pub(crate) struct SettingChange {
    pub name: String,
    pub value: String,
    pub local: bool,
}

impl SettingChanges {
    pub(crate) fn take(&self) -> Vec<SettingChange> {
        std::mem::take(&mut *self.lock())
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<SettingChange>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
