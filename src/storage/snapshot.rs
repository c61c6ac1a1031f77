//! What a reader sees.

use std::sync::Arc;

use super::catalog::{Catalog, Edit, Table};
use super::delta::{Deltas, Generation, Layer, Layers, TableDelta, Version, follow_edits};
use super::error::{Error, Result};
use super::key_filter::KeyHash;
use super::manifest::Manifest;
use super::operation::Operation;
use super::run::{Gap, RunFiles};
use rowkey_model::rows::{PropertyNames, key_bytes};
use rowkey_model::{Entity, Key, KeyRange, KeyRef};

/// The state after one record of the log: catalog, run files and recent writes of one moment. What
/// it names stays readable while it is held.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Sequence number of that record.
    pub sequence: u64,
    pub catalog: Arc<Catalog>,
    pub(super) deltas: Arc<Deltas>,
    /// Uncommitted writes of the transaction that reads this snapshot.
    own: Option<Arc<OwnWrites>>,
    /// Whether the catalog has uncommitted edits of that transaction.
    is_private: bool,
}

/// What a transaction has written so far, by table.
pub type OwnWrites = std::collections::BTreeMap<u64, Arc<Generation>>;

impl Snapshot {
    pub(super) fn new(sequence: u64, catalog: Arc<Catalog>, deltas: Arc<Deltas>) -> Self {
        Self { sequence, catalog, deltas, own: None, is_private: false }
    }

    /// The table of an id.
    pub fn table(&self, id: u64) -> Option<&Arc<Table>> {
        self.catalog.table_by_id(id)
    }

    /// The tables that operations write to, as they are here; those that are not are left out.
    pub fn tables_of(&self, operations: &[Operation<'_>]) -> Vec<Arc<Table>> {
        let mut tables: Vec<u64> = operations.iter().map(|operation| operation.table).collect();
        tables.dedup();
        tables.into_iter().filter_map(|table| self.table(table).cloned()).collect()
    }

    /// A table of this snapshot with everything that belongs to it.
    pub fn table_snapshot(&self, table: &Arc<Table>) -> TableSnapshot {
        TableSnapshot {
            table: Arc::clone(table),
            sequence: self.sequence,
            delta: self.deltas.get(&table.id).cloned(),
            own: self.own.as_ref().and_then(|own| own.get(&table.id)).cloned(),
        }
    }

    /// This snapshot as a transaction sees it that has written `own`.
    pub fn with_own_writes(&self, own: Arc<OwnWrites>) -> Self {
        Self { own: Some(own), ..self.clone() }
    }

    /// This snapshot as a transaction sees it that has made these edits.
    pub fn with_edits(&self, edits: &[Edit]) -> Result<Self> {
        let catalog = Arc::new(self.catalog.apply(edits).map_err(Error::Conflict)?);
        let mut deltas = Arc::clone(&self.deltas);
        follow_edits(Arc::make_mut(&mut deltas), edits);
        Ok(Self { sequence: self.sequence, catalog, deltas, own: None, is_private: true })
    }

    /// Whether the catalog has uncommitted edits.
    pub fn is_private(&self) -> bool {
        self.is_private
    }

    /// This snapshot with another catalog.
    #[cfg(any(test, feature = "testing"))]
    pub fn with_catalog(&self, catalog: Arc<Catalog>) -> Self {
        Self { catalog, ..self.clone() }
    }
}

/// One table of a [`Snapshot`].
#[derive(Debug, Clone)]
pub struct TableSnapshot {
    pub table: Arc<Table>,
    sequence: u64,
    delta: Option<Arc<TableDelta>>,
    own: Option<Arc<Generation>>,
}

impl TableSnapshot {
    /// The same table with nothing in it: what is kept for later must not keep files from being
    /// removed.
    pub fn without_content(&self) -> Self {
        let table = Table { manifest: Manifest::default(), ..Table::clone(&self.table) };
        Self { table: Arc::new(table), sequence: 0, delta: None, own: None }
    }

    /// The most bytes that a page of keys in a range has once it is decoded, about.
    pub fn page_bytes_max(&self, range: &KeyRange) -> u64 {
        let ranges = self.table.manifest.ranges_in(range);
        ranges.iter().flat_map(|range| &range.files).map(|file| file.page_bytes()).max().unwrap_or(0)
    }

    /// Whether run files are all there is.
    pub fn is_settled(&self) -> bool {
        self.delta.as_ref().is_none_or(|delta| delta.is_empty()) && self.own.as_ref().is_none_or(|own| own.is_empty())
    }

    /// The numbers of properties in recent writes.
    pub fn names(&self) -> Arc<PropertyNames> {
        self.delta.as_ref().map(|delta| Arc::clone(delta.names())).unwrap_or_default()
    }

    /// The delta, if there is one.
    pub fn delta(&self) -> Option<&Arc<TableDelta>> {
        self.delta.as_ref()
    }

    /// Recent writes as scans read them; `None` if there are none.
    pub fn layers(&self) -> Option<Arc<Layers>> {
        let layers = match &self.delta {
            Some(delta) => delta.layers(self.sequence),
            None => Arc::new(Layers::new(Vec::new(), self.names())),
        };
        let layers = match &self.own {
            Some(own) if !own.is_empty() => Arc::new(layers.under(Layer::new(own.visible(u64::MAX)))),
            _ => layers,
        };
        (!layers.is_empty()).then_some(layers)
    }

    /// Live entities. Looks recent writes up in run files where their rows are not cached.
    pub async fn live_rows(&self, files: &RunFiles) -> Result<u64> {
        let Some(layers) = self.layers() else { return Ok(self.table.manifest.live_rows()) };
        let mut live = layers.live_rows();
        for run in self.table.manifest.files() {
            live += layers.masked(files, run).await?.map_or(0, |run| run.live_rows());
        }
        Ok(live)
    }

    /// The recent writes of some keys, which ascend, as scans read them; `None` if there are none.
    /// Those of other keys are left out, and what they take the place of is not masked.
    pub fn layers_of<'k>(&self, keys: impl Iterator<Item = KeyRef<'k>>) -> Option<Arc<Layers>> {
        let versions: Vec<Arc<Version>> = keys.filter_map(|key| self.recent(key)).collect();
        (!versions.is_empty()).then(|| Arc::new(Layers::new(vec![Arc::new(Layer::new(versions))], self.names())))
    }

    /// The newest version of a key among recent writes.
    pub fn recent(&self, key: KeyRef<'_>) -> Option<Arc<Version>> {
        if self.is_settled() {
            return None;
        }
        let key = key_bytes(key);
        self.newest(&key, KeyHash::of(&key))
    }

    /// Whether there is a recent version of a key, given as bytes that compare like it, and with
    /// their hash.
    pub fn has_recent(&self, key: &[u8], hash: KeyHash) -> bool {
        self.newest(key, hash).is_some()
    }

    fn newest(&self, key: &[u8], hash: KeyHash) -> Option<Arc<Version>> {
        let own = self.own.as_ref().and_then(|own| own.newest(key, hash, u64::MAX));
        let newest = own.or_else(|| self.delta.as_ref()?.newest(key, hash, self.sequence));
        newest.map(|(_, version)| version)
    }

    /// Whether the transaction that sees this snapshot has written the entity of a key itself.
    pub fn has_own_version(&self, key: KeyRef<'_>) -> bool {
        let key = key_bytes(key);
        self.own.as_ref().is_some_and(|own| own.newest(&key, KeyHash::of(&key), u64::MAX).is_some())
    }

    /// The entity of a key.
    pub async fn get(&self, files: &RunFiles, key: KeyRef<'_>) -> Result<Option<Arc<Entity>>> {
        if let Some(version) = self.recent(key) {
            return Ok(version.row().map(|row| Arc::new(row.to_entity(&self.names()))));
        }
        let mut hash = None;
        for run in self.table.manifest.files_of(key) {
            if run.keys.are_known() {
                let hash = *hash.get_or_insert_with(|| KeyHash::of(&key_bytes(key)));
                if !run.keys.may_hold(hash) {
                    continue;
                }
            }
            if let Some(entity) = files.get(run, key).await? {
                return Ok(Some(entity));
            }
        }
        Ok(None)
    }

    /// The entity of a key in run files, whatever has been written since, and where it lies; `hash`
    /// is that of the key.
    pub async fn find_in_files(
        &self,
        files: &RunFiles,
        key: KeyRef<'_>,
        hash: KeyHash,
        gaps: &mut Gaps,
    ) -> Result<Option<(Arc<Entity>, u64, u32)>> {
        let range = self.table.manifest.range_of(key);
        if gaps.common_holds(range, key) {
            return Ok(None);
        }
        let files_of_range = &self.table.manifest.ranges()[range].files;
        // Where files know their keys, a look for one key is quicker than one for the keys around
        // it.
        let filtered = files_of_range.iter().any(|run| run.keys.are_known());
        let is_worth_it = !filtered || gaps.may_be_of_use();
        let mut common = is_worth_it.then(|| CommonGap { range, from: key.to_key(), to: None });
        for run in files_of_range {
            if !run.keys.may_hold(hash) {
                match common.as_ref().and_then(|_| run.keys.next_behind(key)) {
                    Some(Some(next)) => common.iter_mut().for_each(|common| common.ends_before(next)),
                    Some(None) => {}
                    None => common = None,
                }
                continue;
            }
            if !run.spans(key) {
                if key < run.first.as_ref()
                    && let Some(common) = &mut common
                {
                    common.ends_before(run.first.as_ref());
                }
                continue;
            }
            let gap = gaps.of(run.id);
            if !gap.as_ref().is_some_and(|gap| gap.holds(key))
                && let Some(row) = files.position_or_gap(run, key, gap).await?
                && let Some(entity) = files.get(run, key).await?
            {
                return Ok(Some((entity, run.id, row)));
            }
            match (&mut common, gap.as_ref().filter(|gap| gap.holds(key))) {
                (Some(common), Some(gap)) => common.ends_before(gap.end()),
                _ => common = None,
            }
        }
        gaps.looked(common);
        Ok(None)
    }
}

/// A negative cache of one write's lookups in one table: gaps in which no file has a key. The keys
/// of a write often lie together, at the end of a partition.
#[derive(Debug, Default)]
pub struct Gaps {
    files: Vec<(u64, Option<Gap>)>,
    common: Option<CommonGap>,
    /// Keys in it since it was found.
    hits: usize,
    has_looked: bool,
    is_of_no_use: bool,
}

/// A common gap that spares fewer looks is not worth finding.
const COMMON_GAP_HITS_MIN: usize = 8;

/// Keys of a range partition that no file of it has.
#[derive(Debug)]
struct CommonGap {
    range: usize,
    from: Key,
    /// Behind the last one; none if there is no end.
    to: Option<Key>,
}

impl CommonGap {
    fn holds(&self, range: usize, key: KeyRef<'_>) -> bool {
        range == self.range && self.from.as_ref() <= key && self.to.as_ref().is_none_or(|to| key < to.as_ref())
    }

    fn ends_before(&mut self, key: KeyRef<'_>) {
        if self.to.as_ref().is_none_or(|to| key < to.as_ref()) {
            self.to = Some(key.to_key());
        }
    }
}

impl Gaps {
    fn common_holds(&mut self, range: usize, key: KeyRef<'_>) -> bool {
        let Some(common) = &self.common else { return false };
        let holds = common.holds(range, key);
        self.hits += usize::from(holds);
        self.is_of_no_use |= !holds && self.hits < COMMON_GAP_HITS_MIN;
        holds
    }

    /// Whether there have been keys before, and none of their gaps has turned out to be small.
    fn may_be_of_use(&self) -> bool {
        self.has_looked && !self.is_of_no_use
    }

    fn looked(&mut self, common: Option<CommonGap>) {
        (self.common, self.hits, self.has_looked) = (common, 0, true);
    }

    /// The last gap in a file, by its number.
    fn of(&mut self, file: u64) -> &mut Option<Gap> {
        let at = self.files.iter().position(|(known, _)| *known == file).unwrap_or_else(|| {
            self.files.push((file, None));
            self.files.len() - 1
        });
        &mut self.files[at].1
    }
}
