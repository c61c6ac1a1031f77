//! VACUUM of one table.

use super::open::Engine;
use rowkey_base::Result;
use rowkey_storage::{FILE_BYTES, VacuumReport};

impl Engine {
    /// Folds a table's recent writes and compacts its run files where that is due; with `full` all
    /// of it is written anew. Blocks.
    pub fn vacuum(&self, table: u64, full: bool) -> Result<VacuumReport> {
        Ok(self.store.vacuum(table, full, FILE_BYTES)?)
    }
}
