//! The delta of one table.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::generation::Generation;
use super::layers::Layers;
use super::version::Version;
use crate::key_filter::KeyHash;
use rowkey_model::rows::PropertyNames;

/// The deltas of all tables that have one, by id.
pub type Deltas = BTreeMap<u64, Arc<TableDelta>>;

/// Generations of one table. The list never changes: sealing and folding make another one; the last
/// generation takes writes.
#[derive(Debug)]
pub struct TableDelta {
    /// Sealed ones, the oldest first.
    sealed: Vec<Arc<Generation>>,
    active: Arc<Generation>,
    names: Arc<PropertyNames>,
    /// The last view that was asked for, and the sequence number it is of.
    view: Mutex<Option<(u64, Arc<Layers>)>>,
}

impl TableDelta {
    /// A delta without versions.
    pub fn new() -> Self {
        Self::of(Vec::new(), Arc::default(), Arc::default())
    }

    fn of(sealed: Vec<Arc<Generation>>, active: Arc<Generation>, names: Arc<PropertyNames>) -> Self {
        Self { sealed, active, names, view: Mutex::new(None) }
    }

    /// This delta with an empty generation that takes the writes from now on.
    pub fn sealed(&self) -> Self {
        let mut sealed = self.sealed.clone();
        sealed.push(Arc::clone(&self.active));
        Self::of(sealed, Arc::default(), Arc::clone(&self.names))
    }

    /// This delta without the oldest `count` sealed generations, which are in run files now.
    pub fn folded(&self, count: usize) -> Self {
        Self::of(self.sealed.iter().skip(count).cloned().collect(), Arc::clone(&self.active), Arc::clone(&self.names))
    }

    /// The versions of a delta above a sequence number.
    pub fn above(delta: &Self, sequence: u64) -> Self {
        let above = |generation: &Arc<Generation>| Arc::new(generation.above(sequence));
        let sealed = delta.sealed.iter().map(above).filter(|generation| !generation.is_empty()).collect();
        Self::of(sealed, above(&delta.active), Arc::clone(&delta.names))
    }

    /// This delta without the versions above a sequence number, of which no snapshot can know; none
    /// of them was sealed.
    pub fn up_to(self: &Arc<Self>, sequence: u64) -> Arc<Self> {
        if self.active.last_sequence() <= sequence {
            return Arc::clone(self);
        }
        Arc::new(Self::of(self.sealed.clone(), Arc::new(self.active.up_to(sequence)), Arc::clone(&self.names)))
    }

    /// The generation that takes writes.
    pub fn active(&self) -> &Arc<Generation> {
        &self.active
    }

    /// The generations that take no more writes, the oldest first.
    pub fn sealed_generations(&self) -> &[Arc<Generation>] {
        &self.sealed
    }

    /// All generations, the oldest first.
    pub fn generations(&self) -> impl DoubleEndedIterator<Item = &Arc<Generation>> {
        self.sealed.iter().chain(std::iter::once(&self.active))
    }

    /// The names of the property numbers in the versions.
    pub fn names(&self) -> &Arc<PropertyNames> {
        &self.names
    }

    /// The newest version of a key that a snapshot at `sequence` sees, with its sequence number.
    pub fn newest(&self, key: &[u8], hash: KeyHash, sequence: u64) -> Option<(u64, Arc<Version>)> {
        self.generations().rev().find_map(|generation| generation.newest(key, hash, sequence))
    }

    /// The newest version of a key, if there is one with a sequence number above this, up to which
    /// it was looked up before.
    pub fn newest_above(&self, key: &[u8], hash: KeyHash, sequence: u64) -> Option<Arc<Version>> {
        let mut later = self.generations().rev().filter(|generation| generation.last_sequence() > sequence);
        let (at, version) = later.find_map(|generation| generation.newest(key, hash, u64::MAX))?;
        (at > sequence).then_some(version)
    }

    /// Whether it holds no version.
    pub fn is_empty(&self) -> bool {
        self.generations().all(|generation| generation.is_empty())
    }

    /// Versions, older ones of a key included.
    pub fn len(&self) -> usize {
        self.generations().map(|generation| generation.len()).sum()
    }

    /// Bytes of memory that its versions hold.
    pub fn memory_bytes(&self) -> u64 {
        self.generations().map(|generation| generation.memory_bytes()).sum()
    }

    /// Sequence number of the oldest version, if there is one.
    pub fn first_sequence(&self) -> Option<u64> {
        self.generations().filter_map(|generation| generation.first_sequence()).min()
    }

    /// Sequence number of the newest version; 0 while there is none.
    pub fn last_sequence(&self) -> u64 {
        self.generations().map(|generation| generation.last_sequence()).max().unwrap_or(0)
    }

    /// What a snapshot at `sequence` sees, as scans read it. The layer of a sealed generation is
    /// made once and kept, that of the active one until something is written: a scan pays for what
    /// is new since the last one.
    pub fn layers(&self, sequence: u64) -> Arc<Layers> {
        // A snapshot later than all there is here sees the same as one at the last version. Asked
        // before the versions are read, so that what is added meanwhile is not taken for part of
        // it.
        let sequence = sequence.min(self.last_sequence());
        if let Some((of, layers)) = self.view.lock().unwrap_or_else(PoisonError::into_inner).as_ref()
            && *of == sequence
        {
            return Arc::clone(layers);
        }
        let active = std::iter::once(self.active.layer(sequence));
        let sealed = self.sealed.iter().rev().map(|generation| generation.sealed_layer(sequence));
        let layers = Arc::new(Layers::new(active.chain(sealed).collect(), Arc::clone(&self.names)));
        *self.view.lock().unwrap_or_else(PoisonError::into_inner) = Some((sequence, Arc::clone(&layers)));
        layers
    }
}

impl Default for TableDelta {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
