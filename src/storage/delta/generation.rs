//! A stretch of writes of one table.

use std::borrow::Borrow;
use std::cmp::{Ordering, Reverse};
use std::ops::Bound;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, OnceLock};

use crossbeam_skiplist::SkipMap;

use super::layer::Layer;
use super::version::Version;
use crate::rows::EncodedKey;
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

/// Where a version lies: by key, of one key the newest first.
#[derive(Debug)]
struct Place {
    key: EncodedKey,
    sequence: u64,
}

/// A [`Place`], or one that is looked for.
trait Placed {
    fn place(&self) -> (&[u8], Reverse<u64>);
}

impl Placed for Place {
    fn place(&self) -> (&[u8], Reverse<u64>) {
        (self.key.bytes(), Reverse(self.sequence))
    }
}

impl Placed for (&[u8], u64) {
    fn place(&self) -> (&[u8], Reverse<u64>) {
        (self.0, Reverse(self.1))
    }
}

impl<'a> Borrow<dyn Placed + 'a> for Place {
    fn borrow(&self) -> &(dyn Placed + 'a) {
        self
    }
}

impl Ord for dyn Placed + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for dyn Placed + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for dyn Placed + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for dyn Placed + '_ {}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Place {}

/// A generation with this much in it takes no more writes: what is sealed is sorted once, what is active with every scan.
const FULL_VERSIONS: usize = 16 * 1024;
const FULL_BYTES: u64 = 16 << 20;

/// What an entry takes beside its version: the place, the node of the list.
const ENTRY_BYTES: usize = 112;

impl Generation {
    /// Adds a version; `sequence` is not below any before, `hash` is that of the key.
    pub fn add(&self, sequence: u64, hash: KeyHash, version: Arc<Version>) {
        let bytes = (version.memory_bytes() + ENTRY_BYTES) as u64;
        // Before the version is there, so that whoever may see it is not told that it is not.
        self.keys.add(hash);
        self.versions.insert(Place { key: version.encoded_key(), sequence }, version);
        self.memory_bytes.fetch_add(bytes, Relaxed);
        self.first_sequence.fetch_min(sequence, Release);
        self.last_sequence.fetch_max(sequence, Release);
    }

    /// The newest version of a key that a snapshot at `sequence` sees, with its sequence number; `hash` is that of the key.
    pub fn newest(&self, key: &[u8], hash: KeyHash, sequence: u64) -> Option<(u64, Arc<Version>)> {
        if !self.keys.may_hold(hash) {
            return None;
        }
        let entry = self.versions.lower_bound(Bound::Included(&(key, sequence) as &dyn Placed))?;
        (entry.key().key.bytes() == key).then(|| (entry.key().sequence, Arc::clone(entry.value())))
    }

    /// The least key of a version that is not below this one.
    pub fn next_key(&self, key: &[u8]) -> Option<Vec<u8>> {
        let entry = self.versions.lower_bound(Bound::Included(&(key, u64::MAX) as &dyn Placed))?;
        Some(entry.key().key.bytes().to_vec())
    }

    /// The newest visible version of every key, in key order.
    pub fn visible(&self, sequence: u64) -> impl Iterator<Item = Arc<Version>> + '_ {
        let mut last: Option<Arc<Version>> = None;
        self.versions.iter().filter_map(move |entry| {
            let seen = last.as_ref().is_some_and(|last| last.key_bytes() == entry.key().key.bytes());
            if seen || entry.key().sequence > sequence {
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
        for entry in self.versions.iter().filter(|entry| entry.key().sequence > sequence) {
            let bytes = entry.value().memory_bytes() + ENTRY_BYTES;
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
        for entry in self.versions.iter().filter(|entry| entry.key().sequence > sequence) {
            let Place { key, sequence } = entry.key();
            above.add(*sequence, KeyHash::of(key.bytes()), Arc::clone(entry.value()));
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
    let mut ends: Vec<Arc<Version>> = Vec::new();
    for generation in generations.iter().rev() {
        let from = versions.len();
        versions.extend(generation.visible(sequence));
        ends.extend(versions.get(from).cloned());
        ends.extend(versions[from..].last().cloned());
    }
    if generations.len() < 2 {
        return versions;
    }
    // All keys lie between the ends, so they begin as those do.
    let first = ends.first().map_or(&[][..], |version| version.key_bytes());
    let alike = |key: &[u8]| first.iter().zip(key).take_while(|(a, b)| a == b).count();
    let shared = ends.iter().map(|version| alike(version.key_bytes())).min().unwrap_or_default();
    let key = |place: usize| &versions[place].key_bytes()[shared..];
    // What comes next tells most keys apart without a look at them.
    let mut order: Vec<(u64, usize)> = (0..versions.len()).map(|place| (leading(key(place)), place)).collect();
    // Each generation is in order already, which this sort makes use of; of one key the newest stays first.
    order.sort_by(|(a, one), (b, other)| a.cmp(b).then_with(|| key(*one).cmp(key(*other))));
    order.dedup_by(|(a, one), (b, other)| a == b && key(*one) == key(*other));
    let mut versions: Vec<Option<Arc<Version>>> = versions.into_iter().map(Some).collect();
    order.into_iter().filter_map(|(_, place)| versions[place].take()).collect()
}

/// The first bytes as a number that is in the order of the texts, as far as it goes.
fn leading(text: &[u8]) -> u64 {
    let mut leading = [0; 8];
    leading.iter_mut().zip(text).for_each(|(byte, of)| *byte = *of);
    u64::from_be_bytes(leading)
}
