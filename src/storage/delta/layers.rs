//! All of a table's delta that one snapshot sees.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use roaring::RoaringBitmap;

use super::layer::{Layer, LayerBatch};
use super::version::Version;
use crate::catalog::Table;
use crate::error::Result;
use crate::run::{LiveRows, RunFile, RunFiles};
use rowkey_model::KeyRange;
use rowkey_model::rows::PropertyNames;

/// Layers, the newest first, and which versions of each are hidden by newer ones. What is not
/// hidden is the newest visible version of its key, whether it is an entity or a deletion.
#[derive(Debug, Clone)]
pub struct Layers {
    layers: Vec<Arc<Layer>>,
    /// By layer: places of the versions that a newer layer hides.
    hidden: Vec<Arc<RoaringBitmap>>,
    names: Arc<PropertyNames>,
    live_rows: OnceLock<u64>,
    /// By layer: rows of its batch that are not hidden.
    shown: Vec<OnceLock<Arc<[u32]>>>,
    /// By number of a file, and the description that it is of: its mask with what these layers take
    /// the place of. The file is not held.
    masks: Arc<Mutex<HashMap<u64, FileMask>>>,
}

#[derive(Debug, Clone)]
struct FileMask {
    of: Weak<RunFile>,
    mask: Arc<RoaringBitmap>,
    live: LiveRows,
}

impl Layers {
    /// Of layers from the newest to the oldest, whose property numbers are those of `names`.
    pub fn new(layers: Vec<Arc<Layer>>, names: Arc<PropertyNames>) -> Self {
        let layers: Vec<Arc<Layer>> = layers.into_iter().filter(|layer| !layer.is_empty()).collect();
        let hidden = (0..layers.len()).map(|place| Arc::new(hidden(&layers[..place], &layers[place]))).collect();
        let shown = layers.iter().map(|_| OnceLock::new()).collect();
        Self { layers, hidden, names, live_rows: OnceLock::new(), shown, masks: Arc::default() }
    }

    /// These layers under one more, which is newer than all of them.
    pub fn under(&self, top: Layer) -> Self {
        let mut layers = vec![Arc::new(top)];
        layers.extend(self.layers.iter().cloned());
        Self::new(layers, Arc::clone(&self.names))
    }

    /// Each layer with the places of its hidden versions, the newest layer first.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<Layer>, &RoaringBitmap)> {
        self.layers.iter().zip(self.hidden.iter().map(Arc::as_ref))
    }

    /// The batch of a layer, and those of its rows that are not hidden, ascending. Both are made
    /// once: every scan wants them.
    pub fn batch(&self, place: usize, table: &Table) -> Result<(&LayerBatch, &[u32])> {
        let stored = self.layers[place].batch(table, &self.names)?;
        let shown = self.shown[place].get_or_init(|| {
            // Places ascend with the rows: both lists are gone through once.
            let mut hidden = self.hidden[place].iter().peekable();
            let shown = stored.places.iter().zip(0u32..).filter_map(|(&at, row)| {
                while hidden.next_if(|&hidden| hidden < at).is_some() {}
                (hidden.peek() != Some(&at)).then_some(row)
            });
            shown.collect()
        });
        Ok((stored, shown))
    }

    /// The names of the property numbers in the versions.
    pub fn names(&self) -> &Arc<PropertyNames> {
        &self.names
    }

    /// Whether there are no versions.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// Entities that are visible here: deletions and hidden versions do not count. Every scan asks;
    /// they are counted once.
    pub fn live_rows(&self) -> u64 {
        let live = |(layer, hidden): (&Arc<Layer>, &RoaringBitmap)| {
            let versions = layer.versions();
            layer.live_rows() - hidden.iter().filter(|&place| !versions[place as usize].is_deleted()).count() as u64
        };
        *self.live_rows.get_or_init(|| self.iter().map(live).sum())
    }

    /// The newest version of each key in a range, deletions among them, in key order; `None` where
    /// more than `most` versions lie in it.
    pub fn newest_in(&self, range: &KeyRange, most: usize) -> Option<Vec<Arc<Version>>> {
        let places: Vec<_> = self.places_in(range).collect();
        if places.iter().map(|(_, from, to)| to - from).sum::<usize>() > most {
            return None;
        }
        let mut newest = Vec::new();
        for (place, from, to) in places {
            let versions = self.layers[place].versions()[from..to].iter().zip(from..);
            let shown = versions.filter(|(_, at)| !self.hidden[place].contains(*at as u32));
            newest.extend(shown.map(|(version, _)| Arc::clone(version)));
        }
        newest.sort_by(|a, b| a.key_bytes().cmp(b.key_bytes()));
        Some(newest)
    }

    /// Each layer by its number, with the places of the first of its versions in a range and of the
    /// first behind it.
    pub fn places_in(&self, range: &KeyRange) -> impl Iterator<Item = (usize, usize, usize)> {
        self.layers.iter().enumerate().map(|(place, layer)| {
            let from = layer.versions().partition_point(|version| !range.lower().is_below(version.key()));
            let to = layer.versions().partition_point(|version| !range.upper().is_below(version.key()));
            (place, from, to.max(from))
        })
    }

    /// The newest visible version of a key.
    #[cfg(test)]
    pub fn find(&self, key: &[u8]) -> Option<&Arc<Version>> {
        self.layers.iter().find_map(|layer| layer.find(key).map(|place| &layer.versions()[place]))
    }

    /// A file described with a mask of all its rows that are not live here: masked ones, and those
    /// whose place a version takes. `None` if no row is left.
    pub async fn masked(&self, files: &RunFiles, run: &Arc<RunFile>) -> Result<Option<Arc<RunFile>>> {
        let known = self.masks.lock().unwrap_or_else(PoisonError::into_inner).get(&run.id).cloned();
        if let Some(known) = known.filter(|known| std::ptr::eq(known.of.as_ptr(), Arc::as_ptr(run))) {
            return Ok(with_mask(run, known.mask, known.live));
        }
        let mut mask: Option<RoaringBitmap> = None;
        for layer in &self.layers {
            let replaced = layer.replaced(files, run).await?;
            if !replaced.is_empty() {
                *mask.get_or_insert_with(|| run.mask.as_deref().cloned().unwrap_or_default()) |= replaced.as_ref();
            }
        }
        let Some(mask) = mask else { return Ok(Some(Arc::clone(run))) };
        let (mask, live) = (Arc::new(mask), LiveRows::default());
        let known = FileMask { of: Arc::downgrade(run), mask: Arc::clone(&mask), live: live.clone() };
        self.masks.lock().unwrap_or_else(PoisonError::into_inner).insert(run.id, known);
        Ok(with_mask(run, mask, live))
    }
}

fn with_mask(run: &Arc<RunFile>, mask: Arc<RoaringBitmap>, live: LiveRows) -> Option<Arc<RunFile>> {
    let left = mask.len() < run.rows;
    left.then(|| Arc::new(RunFile { mask: Some(mask), live, ..RunFile::clone(run) }))
}

/// Places of the versions of `layer` whose keys newer layers have.
fn hidden(newer: &[Arc<Layer>], layer: &Layer) -> RoaringBitmap {
    let mut hidden = RoaringBitmap::new();
    for above in newer {
        hidden |= layer.hidden_by(above).as_ref();
    }
    hidden
}
