//! Versions of one stretch of sequence numbers, as scans read them.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use arrow::record_batch::RecordBatch;
use futures::TryStreamExt;
use roaring::RoaringBitmap;

use super::version::Version;
use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::key_filter::{KeyFilter, KeyHash};
use crate::run::{Columns, Gap, RunFile, RunFiles, batch_of};
use rowkey_model::columns::KeyReader;
use rowkey_model::rows::PropertyNames;

/// Reading the keys of so many rows takes about as long as looking one of them up.
const ROWS_PER_LOOKUP: u64 = 30;
/// So many keys are asked of a filter while one is looked for among thousands.
const VERSIONS_PER_SEARCH: usize = 16;
/// Keys decoded at a time.
const KEYS_AT_ONCE: usize = 8192;

/// One version of each key, in key order. Immutable.
#[derive(Debug, Default)]
pub struct Layer {
    versions: Vec<Arc<Version>>,
    /// What its generation knows of its keys, if it comes from one.
    keys: Option<Arc<KeyFilter>>,
    hashes: OnceLock<Vec<KeyHash>>,
    live: OnceLock<u64>,
    /// By newer layer: the places of the versions that it hides.
    hidden: Mutex<Vec<Hidden>>,
    batch: OnceLock<LayerBatch>,
    found: OnceLock<Found>,
    /// By number of the file: its rows that these versions take the place of.
    replaced: Mutex<HashMap<u64, Arc<RoaringBitmap>>>,
}

/// The row locations that are cached in the versions, by file.
#[derive(Debug)]
struct Found {
    /// All is known about files with smaller numbers.
    known_below: u64,
    /// By number of the file.
    rows: HashMap<u64, Arc<RoaringBitmap>>,
}

/// What one newer layer hides of another.
#[derive(Debug)]
struct Hidden {
    /// Not held: it goes with its generation.
    by: Weak<Layer>,
    places: Arc<RoaringBitmap>,
}

/// The entities of a layer in Arrow.
#[derive(Debug, Clone)]
pub struct LayerBatch {
    /// With the columns of a run file, as scans read them; one row for each version that is not a
    /// deletion.
    pub batch: RecordBatch,
    /// By row: the place of its version.
    pub places: Vec<u32>,
}

impl Layer {
    /// A layer of versions in ascending order of their keys, one for each key.
    pub fn new(versions: Vec<Arc<Version>>) -> Self {
        Self { versions, ..Self::default() }
    }

    /// A layer of versions whose keys are all in the filter of their generation.
    pub(super) fn of_generation(versions: Vec<Arc<Version>>, keys: Arc<KeyFilter>) -> Self {
        Self { versions, keys: Some(keys), ..Self::default() }
    }

    /// The versions in ascending order of their keys.
    pub fn versions(&self) -> &[Arc<Version>] {
        &self.versions
    }

    /// Whether there are no versions.
    pub fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    /// The version of a key.
    pub fn find(&self, key: &[u8]) -> Option<usize> {
        self.versions.binary_search_by(|version| version.key_bytes().cmp(key)).ok()
    }

    /// Entities, hidden ones among them; deletions do not count.
    pub fn live_rows(&self) -> u64 {
        *self.live.get_or_init(|| self.versions.iter().filter(|version| !version.is_deleted()).count() as u64)
    }

    /// Places of the versions whose keys a newer layer has. Known once it was asked for.
    pub fn hidden_by(&self, newer: &Arc<Layer>) -> Arc<RoaringBitmap> {
        let known = |hidden: &&Hidden| std::ptr::eq(hidden.by.as_ptr(), Arc::as_ptr(newer));
        if let Some(known) = self.all_hidden().iter().find(known) {
            return Arc::clone(&known.places);
        }
        let places = Arc::new(self.places_in(newer));
        let mut hidden = self.all_hidden();
        hidden.retain(|hidden| hidden.by.strong_count() > 0);
        hidden.push(Hidden { by: Arc::downgrade(newer), places: Arc::clone(&places) });
        places
    }

    fn all_hidden(&self) -> MutexGuard<'_, Vec<Hidden>> {
        self.hidden.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Places of the versions whose keys another layer has.
    fn places_in(&self, other: &Layer) -> RoaringBitmap {
        if self.versions.len() * VERSIONS_PER_SEARCH < other.versions.len() {
            let places = self.versions.iter().zip(0u32..);
            return places.filter(|(version, _)| other.find(version.key_bytes()).is_some()).map(|(_, at)| at).collect();
        }
        let found = |version: &Arc<Version>| self.find(version.key_bytes()).map(|place| place as u32);
        let Some(keys) = &self.keys else { return other.versions.iter().filter_map(found).collect() };
        let may_be_here = other.versions.iter().zip(other.hashes()).filter(|(_, hash)| keys.may_hold(**hash));
        may_be_here.filter_map(|(version, _)| found(version)).collect()
    }

    /// Of the keys, by place.
    pub fn hashes(&self) -> &[KeyHash] {
        self.hashes.get_or_init(|| self.versions.iter().map(|version| KeyHash::of(version.key_bytes())).collect())
    }

    /// The entities in Arrow, made at the first call and kept.
    pub fn batch(&self, table: &Table, names: &PropertyNames) -> Result<&LayerBatch> {
        if let Some(batch) = self.batch.get() {
            return Ok(batch);
        }
        let live = self.versions.iter().zip(0u32..).filter(|(version, _)| !version.is_deleted());
        let places: Vec<u32> = live.map(|(_, place)| place).collect();
        let rows = self.versions.iter().filter_map(|version| version.row());
        let batch = batch_of(rows, names, &table.column_ranks(names))?;
        Ok(self.batch.get_or_init(|| LayerBatch { batch, places }))
    }

    /// The rows of a file that versions of this layer take the place of; some of them may be masked
    /// already.
    pub async fn replaced(&self, files: &RunFiles, run: &Arc<RunFile>) -> Result<Arc<RoaringBitmap>> {
        if let Some(known) = self.known(run.id) {
            return Ok(known);
        }
        let found = self.found();
        if run.id < found.known_below {
            return Ok(found.rows.get(&run.id).cloned().unwrap_or_default());
        }
        let from = self.versions.partition_point(|version| version.key() < run.first.as_ref());
        let to = self.versions.partition_point(|version| version.key() <= run.last.as_ref());
        let mut rows = RoaringBitmap::new();
        let mut unknown = Vec::new();
        for place in from..to.max(from) {
            let version = &self.versions[place];
            match version.with_locations(|locations| locations.row_in(run.id)) {
                Some(row) => rows.extend(row),
                None if run.keys.are_known() && !run.keys.may_hold(self.hashes()[place]) => {}
                None => unknown.push(version),
            }
        }
        if unknown.len() as u64 * ROWS_PER_LOOKUP > run.rows {
            find_among_all_keys(files, run, &unknown, &mut rows).await?;
        } else {
            look_up(files, run, &unknown, &mut rows).await?;
        }
        let rows = Arc::new(rows);
        self.replaced.lock().unwrap_or_else(PoisonError::into_inner).insert(run.id, Arc::clone(&rows));
        Ok(rows)
    }

    fn found(&self) -> &Found {
        self.found.get_or_init(|| {
            let mut known_below = u64::MAX;
            let mut rows: HashMap<u64, RoaringBitmap> = HashMap::new();
            for version in &self.versions {
                version.with_locations(|locations| {
                    known_below = known_below.min(locations.known_below());
                    for (file, row) in locations.rows() {
                        rows.entry(file).or_default().insert(row);
                    }
                });
            }
            Found { known_below, rows: rows.into_iter().map(|(file, rows)| (file, Arc::new(rows))).collect() }
        })
    }

    fn known(&self, file: u64) -> Option<Arc<RoaringBitmap>> {
        self.replaced.lock().unwrap_or_else(PoisonError::into_inner).get(&file).cloned()
    }
}

/// Finds the rows of some versions, which ascend, one by one.
async fn look_up(
    files: &RunFiles,
    run: &Arc<RunFile>,
    versions: &[&Arc<Version>],
    rows: &mut RoaringBitmap,
) -> Result<()> {
    // Many new keys often lie between two old ones.
    let mut gap: Option<Gap> = None;
    for version in versions {
        if gap.as_ref().is_some_and(|gap| gap.holds(version.key())) {
            continue;
        }
        let found = files.position_or_gap(run, version.key(), &mut gap).await?;
        version.with_locations(|locations| locations.add(run.id, found));
        rows.extend(found);
    }
    Ok(())
}

/// The same by going through all keys of the file once.
async fn find_among_all_keys(
    files: &RunFiles,
    run: &Arc<RunFile>,
    versions: &[&Arc<Version>],
    rows: &mut RoaringBitmap,
) -> Result<()> {
    let mut batches = files.open(run).await?.read(0..run.rows, Columns::Keys, KEYS_AT_ONCE)?;
    let mut rest = versions.iter().peekable();
    let mut first_row: u32 = 0;
    while let (Some(wanted), Some(batch)) = (rest.peek(), batches.try_next().await?) {
        let mut wanted = wanted.key();
        let keys =
            KeyReader::new(batch.columns()).ok_or_else(|| Error::corrupt(&run.path, "its keys are not texts"))?;
        let count = keys.len();
        let mut at = if count > 0 && keys.get(count - 1) < wanted { count } else { 0 };
        while at < count {
            match keys.get(at).cmp(&wanted) {
                Ordering::Less => {
                    at += 1;
                    continue;
                }
                Ordering::Equal => {
                    let row = first_row + at as u32;
                    rows.insert(row);
                    if let Some(version) = rest.peek() {
                        version.with_locations(|locations| locations.add(run.id, Some(row)));
                    }
                }
                Ordering::Greater => {}
            }
            rest.next();
            match rest.peek() {
                Some(next) => wanted = next.key(),
                None => return Ok(()),
            }
        }
        first_row += count as u32;
    }
    Ok(())
}
