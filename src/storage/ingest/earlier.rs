//! Distinguishes entities that this ingest brought from those that the table had before it.

use std::sync::Arc;

use super::existing::Existing;
use crate::catalog::Table;
use crate::error::Result;
use crate::manifest::Manifest;
use crate::run::RunFiles;
use rowkey_model::rows::{PropertyNames, RowRef};

/// The table as it was before, read in key order beside the one that is merged into.
pub(super) struct Earlier {
    files: Arc<RunFiles>,
    names: Arc<PropertyNames>,
    manifest: Manifest,
    /// The range partition that is open.
    range: Option<usize>,
    existing: Existing,
}

impl Earlier {
    pub(super) fn new(files: &Arc<RunFiles>, names: &Arc<PropertyNames>, before: &Table) -> Self {
        Self {
            files: Arc::clone(files),
            names: Arc::clone(names),
            manifest: before.manifest.clone(),
            range: None,
            existing: Existing::none(),
        }
    }

    /// True if the table had this version, also if the ingest brought it another time: that changed
    /// nothing, and is not distinguished. Keys ascend from call to call.
    pub(super) fn had(&mut self, row: RowRef<'_>) -> Result<bool> {
        let range = self.manifest.range_of(row.key());
        if self.range != Some(range) {
            self.range = Some(range);
            self.existing = Existing::open(&self.files, &self.manifest.ranges()[range].files, &self.names)?;
        }
        while self.existing.peek().is_some_and(|had| had.key_bytes() < row.key_bytes()) {
            self.existing.advance()?;
        }
        Ok(self.existing.peek().is_some_and(|had| had.key_bytes() == row.key_bytes() && had.same_version(row)))
    }
}
