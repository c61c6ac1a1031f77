//! A stretch of writes of one table.
//!
//! Versions lie in the order in which they came, and are found by the hashes of their keys. For
//! scans they are sorted by key: that is done once for a generation that takes no more writes, and
//! costs less than to keep each new one in its place.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, OnceLock};

use super::append_list::AppendList;
use super::heads::{Heads, Place};
use super::key_order;
use super::layer::Layer;
use super::version::Version;
use crate::key_filter::{KeyFilter, KeyHash};

/// Versions with their sequence numbers, which never descend. Writers add under the store's commit
/// lock; readers never wait.
#[derive(Debug)]
pub struct Generation {
    entries: AppendList<Entry>,
    heads: Heads,
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
            entries: AppendList::default(),
            heads: Heads::default(),
            keys: Arc::new(KeyFilter::with_room_for(FULL_VERSIONS)),
            layer: OnceLock::new(),
            last_sequence: AtomicU64::new(0),
            first_sequence: AtomicU64::new(u64::MAX),
            memory_bytes: AtomicU64::new(0),
        }
    }
}

#[derive(Debug)]
struct Entry {
    sequence: u64,
    /// Of the key.
    hash: KeyHash,
    /// The place of an older entry of the same bucket.
    older: Option<Place>,
    version: Arc<Version>,
}

/// A generation with this much in it takes no more writes: what is sealed is sorted once, what is
/// active with every scan.
const FULL_VERSIONS: usize = 16 * 1024;
const FULL_BYTES: u64 = 16 << 20;

/// What an entry takes beside its version, free room behind the last one and its part of the
/// buckets among it.
const ENTRY_BYTES: usize = 72;

impl Generation {
    /// Adds a version; `sequence` is not below any before, `hash` is that of the key.
    pub fn add(&self, sequence: u64, hash: KeyHash, version: Arc<Version>) {
        let bytes = (version.memory_bytes() + ENTRY_BYTES) as u64;
        // Before the version is there: a reader that may see it finds its key in the filter.
        self.keys.add(hash);
        let head = self.heads.of_next(self.entries.len(), hash);
        let place = self.entries.push(Entry { sequence, hash, older: Heads::get(head), version });
        Heads::set(head, place);
        self.memory_bytes.fetch_add(bytes, Relaxed);
        self.first_sequence.fetch_min(sequence, Release);
        self.last_sequence.fetch_max(sequence, Release);
    }

    /// The newest version of a key that a snapshot at `sequence` sees, with its sequence number;
    /// `hash` is that of the key.
    pub fn newest(&self, key: &[u8], hash: KeyHash, sequence: u64) -> Option<(u64, Arc<Version>)> {
        if !self.keys.may_hold(hash) {
            return None;
        }
        self.heads.newest_first(self.entries.len(), hash).find_map(|mut head| {
            while let Some(entry) = head.and_then(|place| self.entries.get(place.get() as usize - 1)) {
                if entry.hash == hash && entry.sequence <= sequence && entry.version.key_bytes() == key {
                    return Some((entry.sequence, Arc::clone(&entry.version)));
                }
                head = entry.older;
            }
            None
        })
    }

    /// The newest visible version of every key, in key order.
    pub fn visible(&self, sequence: u64) -> Vec<Arc<Version>> {
        key_order::newest_of(self.newest_first(sequence))
    }

    /// Versions that a snapshot at `sequence` sees, older ones of a key among them.
    fn newest_first(&self, sequence: u64) -> impl Iterator<Item = &Arc<Version>> {
        self.entries.iter().rev().filter(move |entry| entry.sequence <= sequence).map(|entry| &entry.version)
    }

    /// What a snapshot at `sequence` sees, as scans read it.
    pub fn layer(&self, sequence: u64) -> Arc<Layer> {
        Arc::new(Layer::of_generation(self.visible(sequence), Arc::clone(&self.keys)))
    }

    /// The same of a generation that takes no more writes: made once for all snapshots that see all
    /// of it.
    pub fn sealed_layer(&self, sequence: u64) -> Arc<Layer> {
        match self.last_sequence() <= sequence {
            true => Arc::clone(self.layer.get_or_init(|| self.layer(sequence))),
            false => self.layer(sequence),
        }
    }

    /// Whether it holds no version.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Versions, older ones of a key included.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of memory that its versions hold.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes.load(Relaxed)
    }

    /// Whether it is time for another one.
    pub fn is_full(&self) -> bool {
        self.len() >= FULL_VERSIONS || self.memory_bytes() >= FULL_BYTES
    }

    /// The versions above a sequence number, in a generation of their own.
    pub(super) fn above(&self, sequence: u64) -> Self {
        self.of_those(|entry| entry.sequence > sequence)
    }

    /// The versions up to a sequence number, in a generation of their own: those above it are taken
    /// back.
    pub fn up_to(&self, sequence: u64) -> Self {
        self.of_those(|entry| entry.sequence <= sequence)
    }

    fn of_those(&self, belongs: impl Fn(&Entry) -> bool) -> Self {
        let those = Self::default();
        for entry in self.entries.iter().filter(|entry| belongs(entry)) {
            those.add(entry.sequence, entry.hash, Arc::clone(&entry.version));
        }
        those
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

/// The newest visible version of every key of several generations, the newest of them last, in key
/// order.
pub fn visible_of(generations: &[Arc<Generation>], sequence: u64) -> Vec<Arc<Version>> {
    key_order::newest_of(generations.iter().rev().flat_map(|generation| generation.newest_first(sequence)))
}
