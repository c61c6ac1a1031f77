//! A stretch of writes of one table.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Bound;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, OnceLock};

use crossbeam_skiplist::SkipMap;

use super::layer::Layer;
use super::version::Version;
use crate::storage::key_filter::{KeyFilter, KeyHash};

/// Versions by key, of one key the newest first. Writers add under the store's commit lock; readers never wait.
#[derive(Debug)]
pub struct Generation {
    versions: SkipMap<Place, Arc<Version>>,
    keys: Arc<KeyFilter>,
    /// Everything in here, once it takes no more writes.
    layer: OnceLock<Arc<Layer>>,
    /// Of the newest version; 0 while there is none.
    last_sequence: AtomicU64,
    /// Of the oldest version; the greatest number while there is none.
    first_sequence: AtomicU64,
    memory_bytes: AtomicU64,
}

impl Default for Generation {
    fn default() -> Self {
        Self {
            versions: SkipMap::new(),
            keys: Arc::new(KeyFilter::with_room_for(FULL_VERSIONS)),
            layer: OnceLock::new(),
            last_sequence: AtomicU64::new(0),
            first_sequence: AtomicU64::new(u64::MAX),
            memory_bytes: AtomicU64::new(0),
        }
    }
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    key: Box<[u8]>,
    sequence: Reverse<u64>,
}

/// A generation with this much in it takes no more writes: what is sealed is sorted once, what is active with every scan.
const FULL_VERSIONS: usize = 16 * 1024;
const FULL_BYTES: u64 = 16 << 20;

/// What an entry takes beside its version: the place, the node of the list.
const ENTRY_BYTES: usize = 96;

impl Generation {
    /// Adds a version; `sequence` is not below any before, `hash` is that of the key.
    pub fn add(&self, sequence: u64, hash: KeyHash, version: Arc<Version>) {
        let key: Box<[u8]> = Box::from(version.key_bytes());
        let bytes = (version.memory_bytes() + key.len() + ENTRY_BYTES) as u64;
        // Before the version is there, so that whoever may see it is not told that it is not.
        self.keys.add(hash);
        self.versions.insert(Place { key, sequence: Reverse(sequence) }, version);
        self.memory_bytes.fetch_add(bytes, Relaxed);
        self.first_sequence.fetch_min(sequence, Release);
        self.last_sequence.fetch_max(sequence, Release);
    }

    /// The newest version of a key that a snapshot at `sequence` sees, with its sequence number; `hash` is that of the key.
    pub fn newest(&self, key: &[u8], hash: KeyHash, sequence: u64) -> Option<(u64, Arc<Version>)> {
        if !self.keys.may_hold(hash) {
            return None;
        }
        let from = Place { key: Box::from(key), sequence: Reverse(sequence) };
        let entry = self.versions.lower_bound(Bound::Included(&from))?;
        (*entry.key().key == *key).then(|| (entry.key().sequence.0, Arc::clone(entry.value())))
    }

    /// The least key of a version that is not below this one.
    pub fn next_key(&self, key: &[u8]) -> Option<Vec<u8>> {
        let from = Place { key: Box::from(key), sequence: Reverse(u64::MAX) };
        Some(self.versions.lower_bound(Bound::Included(&from))?.key().key.to_vec())
    }

    /// The newest visible version of every key, in key order.
    pub fn visible(&self, sequence: u64) -> impl Iterator<Item = Arc<Version>> + '_ {
        let mut last: Option<Arc<Version>> = None;
        self.versions.iter().filter_map(move |entry| {
            let seen = last.as_ref().is_some_and(|last| last.key_bytes() == &*entry.key().key);
            if seen || entry.key().sequence.0 > sequence {
                return None;
            }
            last = Some(Arc::clone(entry.value()));
            last.clone()
        })
    }

    /// What a snapshot at `sequence` sees, as scans read it.
    pub fn layer(&self, sequence: u64) -> Arc<Layer> {
        Arc::new(Layer::of_generation(self.visible(sequence).collect(), Arc::clone(&self.keys)))
    }

    /// The same of a generation that takes no more writes: made once for all snapshots that see all of it.
    pub fn sealed_layer(&self, sequence: u64) -> Arc<Layer> {
        match self.last_sequence() <= sequence {
            true => Arc::clone(self.layer.get_or_init(|| self.layer(sequence))),
            false => self.layer(sequence),
        }
    }

    /// Takes back every version above `sequence`, of which no snapshot can know.
    pub fn roll_back(&self, sequence: u64) {
        if self.last_sequence() <= sequence {
            return;
        }
        for entry in self.versions.iter().filter(|entry| entry.key().sequence.0 > sequence) {
            let bytes = entry.value().memory_bytes() + entry.key().key.len() + ENTRY_BYTES;
            if entry.remove() {
                self.memory_bytes.fetch_sub(bytes as u64, Relaxed);
            }
        }
        self.last_sequence.fetch_min(sequence, Release);
        if self.versions.is_empty() {
            self.first_sequence.store(u64::MAX, Release);
            self.last_sequence.store(0, Release);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    /// Versions, older ones of a key included.
    pub fn len(&self) -> usize {
        self.versions.len()
    }

    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes.load(Relaxed)
    }

    /// Whether it is time for another one.
    pub fn is_full(&self) -> bool {
        self.len() >= FULL_VERSIONS || self.memory_bytes() >= FULL_BYTES
    }

    /// The versions above a sequence number, in a generation of their own.
    pub(super) fn above(&self, sequence: u64) -> Self {
        let above = Self::default();
        for entry in self.versions.iter().filter(|entry| entry.key().sequence.0 > sequence) {
            let Place { key, sequence } = entry.key();
            above.add(sequence.0, KeyHash::of(key), Arc::clone(entry.value()));
        }
        above
    }

    /// Sequence number of the oldest version, if there is one.
    pub fn first_sequence(&self) -> Option<u64> {
        let first = self.first_sequence.load(Acquire);
        (first != u64::MAX).then_some(first)
    }

    /// Sequence number of the newest version; 0 while there is none.
    pub fn last_sequence(&self) -> u64 {
        self.last_sequence.load(Acquire)
    }
}

/// The newest visible version of every key of several generations, the newest of them last, in key order.
pub fn visible_of(generations: &[Arc<Generation>], sequence: u64) -> Vec<Arc<Version>> {
    let mut versions: Vec<Arc<Version>> = Vec::with_capacity(generations.iter().map(|g| g.len()).sum());
    if let [one] = generations {
        versions.extend(one.visible(sequence));
        return versions;
    }
    let mut rest: Vec<_> = generations.iter().map(|generation| generation.visible(sequence)).collect();
    let head = |(age, rest): (usize, &mut _)| Iterator::next(rest).map(|version| Head { version, age });
    let mut heads: BinaryHeap<Head> = rest.iter_mut().enumerate().filter_map(head).collect();
    while let Some(mut head) = heads.peek_mut() {
        let next = rest[head.age].next();
        let version = match next {
            Some(next) => std::mem::replace(&mut head.version, next),
            None => PeekMut::pop(head).version,
        };
        // Of one key the newest comes first.
        if versions.last().is_none_or(|last| last.key_bytes() != version.key_bytes()) {
            versions.push(version);
        }
    }
    versions
}

/// The next version of a generation, by its place among the others. The greatest has the least key, and of one key it is the newest.
struct Head {
    version: Arc<Version>,
    age: usize,
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        other.version.key_bytes().cmp(self.version.key_bytes()).then(self.age.cmp(&other.age))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}
