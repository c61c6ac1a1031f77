//! Entities of a snapshot in key order, without a query.
//!
//! Files of one range partition may overlap. The first files of all range partitions make a *lane*,
//! so do the second ones, and so on: range partitions follow one another, so each lane is in key
//! order, and at most as many files are open as one range partition has. Recent writes are further
//! lanes. A key is live in one lane only.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray};
use arrow::compute::filter_record_batch;
use arrow::record_batch::RecordBatch;
use futures::future::ready;
use futures::stream::{BoxStream, Stream, try_unfold};
use futures::{StreamExt, TryStreamExt};

use super::delta::{Layer, Layers, Version};
use super::error::{Error, Result};
use super::run::{Columns, EntityColumns, OpenRun, PageBudget, RunFile, RunFiles};
use super::snapshot::TableSnapshot;
use rowkey_model::columns::{PARTITION_KEY, PropertyLookup, ROW_KEY};
use rowkey_model::{Entity, KeyRange, KeyRef};

/// More recent versions in a range are merged by a scan.
const RECENT_MAX: usize = 256;
/// Entities decoded at a time.
pub(super) const BATCH_ROWS: usize = 1024;

/// What of an entity has to hold.
pub type EntityFilter = Arc<dyn Fn(&dyn PropertyLookup) -> bool + Send + Sync>;

/// How run files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// All of a range, once.
    Whole,
    /// The first rows of a range, whose pages stay in the cache.
    First,
}

/// Batches of entities in key order.
pub(crate) type EntityBatches = BoxStream<'static, Result<Vec<Entity>>>;

/// Rows of a few pages: batches with all columns of a run file each, whose schemas differ from file
/// to file.
#[derive(Debug)]
pub struct FewRows {
    /// Each is in key order.
    pub batches: Vec<RecordBatch>,
    /// Entities written recently, which are in none of them, in key order.
    pub recent: Vec<Entity>,
    /// Whether each batch follows those before it in key order, and nothing is recent.
    pub in_key_order: bool,
}

impl TableSnapshot {
    /// The entities of a range of keys, in key order; a batch of each lane is in memory.
    pub fn range(&self, files: Arc<RunFiles>, range: KeyRange) -> EntityBatches {
        self.entities(files, range, Reading::Whole, None)
    }

    /// The same, without some that a filter does not hold for; the last of a batch is always there.
    pub(super) fn entities(
        &self,
        files: Arc<RunFiles>,
        range: KeyRange,
        reading: Reading,
        filter: Option<EntityFilter>,
    ) -> EntityBatches {
        let layers = self.layers();
        let mut lanes: Vec<EntityBatches> = Vec::new();
        for runs in self.lanes(&range) {
            let batches = run_batches(Arc::clone(&files), range.clone(), runs, layers.clone(), reading);
            let (range, filter) = (range.clone(), filter.clone());
            let entities =
                batches.and_then(move |(open, batch)| ready(entities_of(&open, &batch, &range, filter.as_ref())));
            lanes.push(Box::pin(entities.try_filter(|entities| ready(!entities.is_empty()))));
        }
        if let Some(layers) = layers {
            for place in 0..layers.iter().count() {
                lanes.push(Box::pin(recent(Arc::clone(&layers), place, range.clone())));
            }
        }
        match lanes.len() {
            1 => lanes.remove(0),
            _ => Box::pin(merged(lanes)),
        }
    }

    /// The rows of a range of keys, where that is a matter of a few pages, which are taken from
    /// `budget` as the bytes of recent writes are. `None` where there is more to read.
    pub async fn few_rows(
        &self,
        files: &RunFiles,
        range: &KeyRange,
        budget: &mut PageBudget,
    ) -> Result<Option<FewRows>> {
        let layers = self.layers();
        let recent = match &layers {
            Some(layers) => layers.newest_in(range, RECENT_MAX),
            None => Some(Vec::new()),
        };
        let Some(recent) = recent else { return Ok(None) };
        let bytes: u64 = recent.iter().map(|version| version.memory_bytes() as u64).sum();
        let Some(bytes_left) = budget.bytes.checked_sub(bytes) else { return Ok(None) };
        budget.bytes = bytes_left;
        let mut found = FewRows { batches: Vec::new(), recent: Vec::new(), in_key_order: recent.is_empty() };
        if let Some(layers) = &layers {
            let live = recent.iter().filter_map(|version| version.row());
            found.recent.extend(live.map(|row| row.to_entity(layers.names())));
        }
        for partition in self.table.manifest.ranges_in(range) {
            let mut batches_before = 0;
            for run in partition.files.iter().filter(|run| meets(run, range)) {
                let Some(rows) = files.rows_in(run, range, budget).await? else { return Ok(None) };
                // A key is live in one of the files only, but they may overlap.
                found.in_key_order &= batches_before == 0 || rows.is_empty();
                batches_before += rows.len();
                for rows in rows {
                    let Some(rows) = without(&recent, rows) else { return Ok(None) };
                    found.batches.extend((rows.num_rows() > 0).then_some(rows));
                }
            }
        }
        Ok(Some(found))
    }

    /// The files that may hold keys of a range, lane by lane.
    pub(super) fn lanes(&self, range: &KeyRange) -> Vec<VecDeque<Arc<RunFile>>> {
        let mut lanes: Vec<VecDeque<Arc<RunFile>>> = Vec::new();
        for partition in self.table.manifest.ranges() {
            for (place, run) in partition.files.iter().filter(|run| meets(run, range)).enumerate() {
                if lanes.len() <= place {
                    lanes.push(VecDeque::new());
                }
                lanes[place].push_back(Arc::clone(run));
            }
        }
        lanes
    }
}

/// Rows without those that recent versions take the place of; `None` if they have no keys as views.
fn without(recent: &[Arc<Version>], rows: RecordBatch) -> Option<RecordBatch> {
    if recent.is_empty() {
        return Some(rows);
    }
    let key_column = |name: &str| rows.column_by_name(name)?.as_string_view_opt();
    let (partitions, row_keys) = (key_column(PARTITION_KEY)?, key_column(ROW_KEY)?);
    let is_kept = |at: usize| {
        let key = KeyRef { partition: partitions.value(at), row: row_keys.value(at) };
        recent.binary_search_by(|version| version.key().cmp(&key)).is_err()
    };
    let kept: BooleanArray = (0..rows.num_rows()).map(|at| Some(is_kept(at))).collect();
    filter_record_batch(&rows, &kept).ok()
}

/// Whether a file may hold keys of a range, by its bounds.
fn meets(run: &RunFile, range: &KeyRange) -> bool {
    range.lower().is_below(run.last.as_ref()) && !range.upper().is_below(run.first.as_ref())
}

/// Batches of the files of one lane, with all their columns, those of a range of keys and some
/// around it. What recent writes take the place of is left out.
pub(super) fn run_batches(
    files: Arc<RunFiles>,
    range: KeyRange,
    runs: VecDeque<Arc<RunFile>>,
    layers: Option<Arc<Layers>>,
    reading: Reading,
) -> impl Stream<Item = Result<(Arc<OpenRun>, RecordBatch)>> + Send {
    type Open = (Arc<OpenRun>, BoxStream<'static, Result<RecordBatch>>);
    let state: (_, _, Option<Open>) = ((files, range, layers), runs, None);
    try_unfold(state, move |((files, range, layers), mut runs, mut open)| async move {
        loop {
            let Some((run, stream)) = &mut open else {
                let Some(mut run) = runs.pop_front() else { return Ok(None) };
                if let Some(layers) = &layers {
                    let Some(masked) = layers.masked(&files, &run).await? else { continue };
                    run = masked;
                }
                let run = files.open(&run).await?;
                let stream = match reading {
                    Reading::Whole => run.read(run.rows_in(&range), Columns::All, BATCH_ROWS)?,
                    Reading::First => files.read_by_pages(&run, &range, BATCH_ROWS),
                };
                open = Some((run, stream));
                continue;
            };
            match stream.next().await.transpose()? {
                Some(batch) => {
                    let found = (Arc::clone(run), batch);
                    return Ok(Some((found, ((files, range, layers), runs, open))));
                }
                None => open = None,
            }
        }
    })
}

/// The entities of a batch whose keys lie in a range: the first and the last page hold others.
fn entities_of(
    open: &OpenRun,
    batch: &RecordBatch,
    range: &KeyRange,
    filter: Option<&EntityFilter>,
) -> Result<Vec<Entity>> {
    let columns = EntityColumns::of(open, batch)?;
    let in_range = (0..columns.len()).filter(|&i| range.contains(columns.key(i)));
    let Some(filter) = filter else { return in_range.map(|i| columns.entity(i)).collect() };
    let (mut entities, mut last) = (Vec::new(), None);
    for i in in_range {
        last = if filter(&columns.row(i)?) {
            entities.push(columns.entity(i)?);
            None
        } else {
            Some(i)
        };
    }
    if let Some(i) = last {
        entities.push(columns.entity(i)?);
    }
    Ok(entities)
}

/// The entities of one layer in a range of keys.
fn recent(layers: Arc<Layers>, place: usize, range: KeyRange) -> impl Stream<Item = Result<Vec<Entity>>> + Send {
    let from = layers
        .iter()
        .nth(place)
        .map_or(0, |(layer, _)| layer.versions().partition_point(|version| !range.lower().is_below(version.key())));
    try_unfold((layers, range, from), move |(layers, range, mut at)| async move {
        let mut entities = Vec::new();
        if let Some((layer, hidden)) = layers.iter().nth(place) {
            at = collect(&layers, layer, hidden, &range, at, &mut entities);
        }
        Ok::<_, Error>((!entities.is_empty()).then_some((entities, (layers, range, at))))
    })
}

/// Collects the next entities from place `at` on; gives the place to go on at.
fn collect(
    layers: &Layers,
    layer: &Layer,
    hidden: &roaring::RoaringBitmap,
    range: &KeyRange,
    mut at: usize,
    entities: &mut Vec<Entity>,
) -> usize {
    while let Some(version) = layer.versions().get(at)
        && entities.len() < BATCH_ROWS
        && range.contains(version.key())
    {
        if !hidden.contains(at as u32) {
            entities.extend(version.row().map(|row| row.to_entity(layers.names())));
        }
        at += 1;
    }
    at
}

/// Merges lanes, each in key order, no key in two of them.
fn merged(lanes: Vec<EntityBatches>) -> impl Stream<Item = Result<Vec<Entity>>> + Send {
    let lanes: Vec<Lane> = lanes.into_iter().map(|batches| Lane { batches, entities: VecDeque::new() }).collect();
    try_unfold(lanes, |mut lanes| async move {
        let mut entities = Vec::new();
        while entities.len() < BATCH_ROWS {
            for lane in &mut lanes {
                if lane.entities.is_empty()
                    && let Some(batch) = lane.batches.try_next().await?
                {
                    lane.entities = batch.into();
                }
            }
            lanes.retain(|lane| !lane.entities.is_empty());
            let key = |place: &usize| lanes[*place].entities.front().map(|entity| &entity.key);
            let Some(least) = (0..lanes.len()).min_by(|a, b| key(a).cmp(&key(b))) else { break };
            entities.extend(lanes[least].entities.pop_front());
        }
        Ok::<_, Error>((!entities.is_empty()).then_some((entities, lanes)))
    })
}

struct Lane {
    batches: EntityBatches,
    entities: VecDeque<Entity>,
}
