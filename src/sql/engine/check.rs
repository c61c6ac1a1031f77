//! What is wrong with a data folder, and what was done about it.

use std::path::Path;

use rowkey_storage::{CheckReport, DamagedFile, Quarantined};

use super::open::Engine;
use rowkey_base::Result;

impl Engine {
    /// What opening had to mend: the log ended in a record that a crash had left half written, so
    /// it was never acknowledged. It was cut, and a copy kept; or passed over, where nothing may be
    /// written.
    pub fn mended(&self) -> Option<String> {
        let torn = self.store.torn_tail()?;
        let done = if self.is_read_only() { "is passed over" } else { "was cut" };
        let copy = torn.copy.as_deref().map_or(String::new(), |copy| format!("; a copy is in {copy}"));
        Some(format!(
            "{} ended in an unfinished record at byte {} ({}), which {done}{copy}",
            torn.path, torn.offset, torn.reason
        ))
    }

    /// Files below `tables/` that no table names, of a database opened to keep them.
    pub fn unnamed_files(&self) -> &[String] {
        self.store.unnamed_files()
    }

    /// Verifies every file of every table against the manifest. A file that cannot be read now, for
    /// want of permission, descriptors or memory or because the disk fails, is no finding: it ends
    /// the check with that error.
    pub async fn check(&self) -> Result<CheckReport> {
        let snapshot = self.store.snapshot();
        Ok(rowkey_storage::check(self.store.files(), &snapshot).await?)
    }

    /// Takes damaged files out of use: they are moved to the folder `quarantine`, and their
    /// entities are gone from their tables.
    pub async fn quarantine(&self, damaged: &[DamagedFile]) -> Result<Vec<Quarantined>> {
        Ok(self.store.quarantine(damaged).await?)
    }

    /// Refuses a path that lies in the data folder: what is written there would be taken for the
    /// database's own.
    pub fn expect_outside(&self, path: &Path) -> Result<()> {
        Ok(self.store.expect_outside(path)?)
    }
}
