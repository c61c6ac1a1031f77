//! Entities of a snapshot in key order as encoded rows: no value gets memory of its own.
//!
//! Lanes are those of `read`.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use futures::TryStreamExt;
use futures::future::ready;
use futures::stream::{BoxStream, Stream, try_unfold};

use super::delta::Layers;
use super::error::{Error, Result};
use super::read::{Reading, run_batches};
use super::run::{ColumnSummary, EntityColumns, OpenRun, RunFiles};
use super::snapshot::TableSnapshot;
use rowkey_model::rows::{PropertyId, PropertyNames, RowRef, Rows};
use rowkey_model::{EdmType, KeyRange, ValueRef};

/// Entities decoded at a time.
const BATCH_ROWS: usize = 1024;

/// Batches of entities in key order, none of them empty.
pub(crate) type RowBatches = BoxStream<'static, Result<Rows>>;

impl TableSnapshot {
    /// The properties that entities may have, with their types and whether they may have DateTimes
    /// between microseconds, if that is known without reading files.
    pub fn properties_without_reading(&self) -> Option<Vec<(Arc<str>, EdmType, bool)>> {
        let files = || self.table.manifest.files();
        if files().any(|file| file.other) {
            return None;
        }
        let column = |summary: &ColumnSummary| {
            let column = &summary.column;
            (Arc::clone(&column.property), column.edm, column.tick)
        };
        let mut properties: Vec<(Arc<str>, EdmType, bool)> =
            files().flat_map(|file| &file.columns).map(column).collect();
        if let Some(layers) = self.layers() {
            let mut recent = HashSet::new();
            for version in layers.iter().flat_map(|(layer, _)| layer.versions()) {
                for (id, value) in version.row().iter().flat_map(RowRef::properties) {
                    let ticks = matches!(value, ValueRef::DateTime(at) if at.tick() != 0);
                    recent.insert((id, value.edm_type(), ticks));
                }
            }
            let named = |(id, edm, ticks)| (layers.names().name(id), edm, ticks);
            properties.extend(recent.into_iter().map(named));
        }
        Some(properties)
    }

    /// The entities of a range of keys, in key order, their properties numbered by `names`; a batch
    /// of each lane is in memory.
    pub fn rows(&self, files: &Arc<RunFiles>, range: &KeyRange, names: &Arc<PropertyNames>) -> RowBatches {
        let layers = self.layers();
        let mut lanes: Vec<RowBatches> = Vec::new();
        for runs in self.lanes(range) {
            let batches = run_batches(Arc::clone(files), range.clone(), runs, layers.clone(), Reading::Whole);
            let (range, names) = (range.clone(), Arc::clone(names));
            let rows = batches.and_then(move |(open, batch)| ready(rows_of(&open, &batch, &range, &names)));
            lanes.push(Box::pin(rows.try_filter(|rows| ready(!rows.is_empty()))));
        }
        if let Some(layers) = layers {
            for place in 0..layers.iter().count() {
                lanes.push(Box::pin(recent(Arc::clone(&layers), place, range.clone(), Arc::clone(names))));
            }
        }
        match lanes.len() {
            1 => lanes.remove(0),
            _ => Box::pin(merged(lanes)),
        }
    }
}

/// The entities of a batch whose keys lie in a range: the first and the last page hold others.
fn rows_of(open: &OpenRun, batch: &RecordBatch, range: &KeyRange, names: &PropertyNames) -> Result<Rows> {
    let mut rows = Rows::with_capacity(batch.num_rows(), 0);
    EntityColumns::of(open, batch)?.append_where(|key| range.contains(key), &mut rows, names)?;
    Ok(rows)
}

/// The entities of one layer in a range of keys.
fn recent(
    layers: Arc<Layers>,
    place: usize,
    range: KeyRange,
    names: Arc<PropertyNames>,
) -> impl Stream<Item = Result<Rows>> + Send {
    let from = layers
        .iter()
        .nth(place)
        .map_or(0, |(layer, _)| layer.versions().partition_point(|version| !range.lower().is_below(version.key())));
    let ids: Vec<PropertyId> = layers.names().all().iter().map(|name| names.intern(name)).collect();
    try_unfold((layers, range, names, ids, from), move |(layers, range, names, mut ids, mut at)| async move {
        let mut rows = Rows::new();
        if let Some((layer, hidden)) = layers.iter().nth(place) {
            while let Some(version) = layer.versions().get(at)
                && rows.len() < BATCH_ROWS
                && range.contains(version.key())
            {
                if !hidden.contains(at as u32)
                    && let Some(row) = version.row()
                {
                    renumber(row, layers.names(), &mut ids, &mut rows, &names)?;
                }
                at += 1;
            }
        }
        Ok::<_, Error>((!rows.is_empty()).then_some((rows, (layers, range, names, ids, at))))
    })
}

/// Appends a copy of a row with the numbers of other names. `ids` has the new number by the old
/// one, as far as they are known.
fn renumber(
    row: RowRef<'_>,
    from: &PropertyNames,
    ids: &mut Vec<PropertyId>,
    rows: &mut Rows,
    names: &PropertyNames,
) -> Result<()> {
    for (id, _) in row.properties() {
        // Names may have come since.
        while ids.len() <= id.index() {
            ids.push(names.intern(&from.name(PropertyId(ids.len() as u32))));
        }
    }
    let properties = row.properties().map(|(id, value)| (ids[id.index()], value));
    Ok(rows.push(names, row.key(), row.timestamp(), properties)?)
}

/// Merges lanes, each in key order, no key in two of them.
fn merged(lanes: Vec<RowBatches>) -> impl Stream<Item = Result<Rows>> + Send {
    let lanes: Vec<Lane> = lanes.into_iter().map(|batches| Lane { batches, rows: Rows::new(), next: 0 }).collect();
    try_unfold(lanes, |mut lanes| async move {
        let mut rows = Rows::new();
        while rows.len() < BATCH_ROWS {
            for lane in &mut lanes {
                if lane.next == lane.rows.len()
                    && let Some(batch) = lane.batches.try_next().await?
                {
                    (lane.rows, lane.next) = (batch, 0);
                }
            }
            lanes.retain(|lane| lane.next < lane.rows.len());
            let key = |place: &usize| lanes[*place].rows.get(lanes[*place].next).key_bytes();
            let Some(least) = (0..lanes.len()).min_by(|a, b| key(a).cmp(key(b))) else { break };
            let lane = &mut lanes[least];
            rows.push_ref(lane.rows.get(lane.next));
            lane.next += 1;
        }
        Ok::<_, Error>((!rows.is_empty()).then_some((rows, lanes)))
    })
}

struct Lane {
    batches: RowBatches,
    rows: Rows,
    next: usize,
}
