//! How many entities a table has.

use super::error::Result;
use super::run::RunFiles;
use super::snapshot::TableSnapshot;

impl TableSnapshot {
    /// Entities, exactly: live rows of files that nothing recent takes the place of, and recent
    /// writes.
    pub async fn live_entities(&self, files: &RunFiles) -> Result<u64> {
        let Some(layers) = self.layers() else { return Ok(self.table.manifest.live_rows()) };
        let mut entities = layers.live_rows();
        for run in self.table.manifest.files() {
            entities += layers.masked(files, run).await?.map_or(0, |masked| masked.live_rows());
        }
        Ok(entities)
    }
}
