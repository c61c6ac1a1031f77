//! A Bloom filter of the keys of a generation, or of a file that was folded lately.
//!
//! Most writes are of keys that were not written lately, and every generation and every file is
//! asked for each of them. A walk down a list of thousands of entries misses the processor's caches
//! at every step, and a file has to decode a page; a Bloom filter of blocks (Putze, Sanders,
//! Singler: Cache-, Hash- and Space-Efficient Bloom Filters, 2007) misses the caches once.

use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::quality::FixedState;

/// One line of the processor's cache.
const BLOCK_WORDS: usize = 8;
const BLOCK_BITS: u64 = BLOCK_WORDS as u64 * 64;
/// Keys of a block, each with 25 bits.
const BLOCK_KEYS: usize = 20;
/// Bits of each key that are set.
const PROBES: u32 = 5;
/// Bits of a hash that choose the block; they are others than those that choose bits in it.
const BLOCK_HASH_BITS: u32 = 64 - 9 * PROBES;

/// A set of keys with false positives and no false negatives. Readers and writers do not wait for
/// each other.
#[derive(Debug)]
pub(crate) struct KeyFilter {
    block_count: usize,
    /// None while nothing was added.
    blocks: OnceLock<Box<[Block]>>,
}

#[derive(Debug, Default)]
#[repr(align(64))]
struct Block([AtomicU64; BLOCK_WORDS]);

impl KeyFilter {
    /// A filter for about so many keys: about one in 2,000 others is taken for one of them.
    pub(crate) fn with_room_for(keys: usize) -> Self {
        Self { block_count: keys.div_ceil(BLOCK_KEYS).clamp(1, 1 << BLOCK_HASH_BITS), blocks: OnceLock::new() }
    }

    pub(crate) fn add(&self, hash: KeyHash) {
        let blocks = self.blocks.get_or_init(|| (0..self.block_count).map(|_| Block::default()).collect());
        let block = &blocks[hash.block(blocks.len())];
        for bit in hash.bits() {
            let word = &block.0[(bit / 64) as usize];
            let mask = 1 << (bit % 64);
            if word.load(Ordering::Acquire) & mask == 0 {
                word.fetch_or(mask, Ordering::Release);
            }
        }
    }

    /// False only if the key was never added.
    pub(crate) fn may_hold(&self, hash: KeyHash) -> bool {
        let Some(blocks) = self.blocks.get() else { return false };
        let block = &blocks[hash.block(blocks.len())];
        hash.bits().all(|bit| block.0[(bit / 64) as usize].load(Ordering::Acquire) & (1 << (bit % 64)) != 0)
    }
}

/// The hash of a key: worked out once, asked of every generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyHash(u64);

impl KeyHash {
    /// The hash of a key as
    /// [`RowRef::key_bytes`](rowkey_model::rows::RowRef::key_bytes) encodes it.
    pub fn of(key: &[u8]) -> Self {
        Self(FixedState::default().hash_one(key))
    }

    /// One of so many buckets, which are a power of two.
    pub fn bucket(self, count: usize) -> usize {
        self.0 as usize & (count - 1)
    }

    fn block(self, count: usize) -> usize {
        let chosen = self.0 % (1 << BLOCK_HASH_BITS);
        ((chosen * count as u64) >> BLOCK_HASH_BITS) as usize
    }

    /// Nine bits of the hash for each, from the upper end; the lower end chooses the block.
    fn bits(self) -> impl Iterator<Item = u64> {
        (0..PROBES).map(move |probe| (self.0 >> (64 - 9 * (probe + 1))) % BLOCK_BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyFilter, KeyHash};

    fn key(number: u32) -> KeyHash {
        KeyHash::of(format!("partition {}\0row {number}", number % 7).as_bytes())
    }

    #[test]
    fn what_was_added_is_never_denied() {
        for room in [1, 1000, 16 * 1024, 100_000] {
            let filter = KeyFilter::with_room_for(room);
            assert!(!filter.may_hold(key(0)));
            for number in 0..16 * 1024 {
                filter.add(key(number));
                assert!(filter.may_hold(key(number)), "{number}");
            }
            assert!((0..16 * 1024).all(|number| filter.may_hold(key(number))));
        }
    }

    #[test]
    fn a_full_filter_knows_most_keys_that_it_lacks() {
        for count in [100, 16 * 1024, 300_000] {
            let filter = KeyFilter::with_room_for(count as usize);
            (0..count).for_each(|number| filter.add(key(number)));
            let taken = (400_000..500_000).filter(|number| filter.may_hold(key(*number))).count();
            assert!(taken < 150, "{taken} of 100,000 by a filter of {count}");
        }
    }
}
