//! Versions of one stretch of sequence numbers, as scans read them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow::compute::cast;
use arrow::record_batch::RecordBatch;
use roaring::RoaringBitmap;

use super::version::Version;
use crate::rows::PropertyNames;
use crate::storage::catalog::Table;
use crate::storage::error::{Error, Result};
use crate::storage::run::{Gap, RunFile, RunFiles, batch_of, column_ranks};

/// One version of each key, in key order. Immutable.
#[derive(Debug, Default)]
pub struct Layer {
    versions: Vec<Arc<Version>>,
    batch: OnceLock<LayerBatch>,
    /// By number of the file: its rows that these versions take the place of.
    replaced: Mutex<HashMap<u64, Arc<RoaringBitmap>>>,
}

/// The entities of a layer in Arrow.
#[derive(Debug, Clone)]
pub struct LayerBatch {
    /// With the columns of a run file, as scans read them; one row for each version that is not a deletion.
    pub batch: RecordBatch,
    /// By row: the place of its version.
    pub places: Vec<u32>,
}

impl Layer {
    pub fn new(versions: Vec<Arc<Version>>) -> Self {
        Self { versions, ..Self::default() }
    }

    pub fn versions(&self) -> &[Arc<Version>] {
        &self.versions
    }

    pub fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    /// The version of a key.
    pub fn find(&self, key: &[u8]) -> Option<usize> {
        self.versions.binary_search_by(|version| version.key_bytes().cmp(key)).ok()
    }

    /// The entities in Arrow, made at the first call and kept.
    pub fn batch(&self, table: &Table, names: &PropertyNames) -> Result<&LayerBatch> {
        if let Some(batch) = self.batch.get() {
            return Ok(batch);
        }
        let live = self.versions.iter().zip(0u32..).filter(|(version, _)| !version.is_deleted());
        let places: Vec<u32> = live.map(|(_, place)| place).collect();
        let rows = self.versions.iter().filter_map(|version| version.row());
        let (layout, batch) = batch_of(rows, names, &column_ranks(table, names))?;
        let schema = layout.view_schema();
        let views = batch.columns().iter().zip(schema.fields()).map(|(column, field)| cast(column, field.data_type()));
        let batch = views.collect::<std::result::Result<Vec<_>, _>>().and_then(|c| RecordBatch::try_new(schema, c));
        let batch = batch.map_err(|error| Error::corrupt("recent writes", error))?;
        Ok(self.batch.get_or_init(|| LayerBatch { batch, places }))
    }

    /// The rows of a file that versions of this layer take the place of; some of them may be masked already.
    pub async fn replaced(&self, files: &RunFiles, run: &Arc<RunFile>) -> Result<Arc<RoaringBitmap>> {
        if let Some(known) = self.known(run.id) {
            return Ok(known);
        }
        let from = self.versions.partition_point(|version| version.key() < run.first.as_ref());
        let to = self.versions.partition_point(|version| version.key() <= run.last.as_ref());
        let mut rows = RoaringBitmap::new();
        // Many new keys often lie between two old ones.
        let mut gap: Option<Gap> = None;
        for version in &self.versions[from..to.max(from)] {
            let row = match version.with_locations(|locations| locations.row_in(run.id)) {
                Some(row) => row,
                None if gap.as_ref().is_some_and(|gap| gap.holds(version.key())) => None,
                None => {
                    let found = files.position_or_gap(run, version.key(), &mut gap).await?;
                    version.with_locations(|locations| locations.add(run.id, found));
                    found
                }
            };
            rows.extend(row);
        }
        let rows = Arc::new(rows);
        self.replaced.lock().unwrap_or_else(PoisonError::into_inner).insert(run.id, Arc::clone(&rows));
        Ok(rows)
    }

    fn known(&self, file: u64) -> Option<Arc<RoaringBitmap>> {
        self.replaced.lock().unwrap_or_else(PoisonError::into_inner).get(&file).cloned()
    }
}
