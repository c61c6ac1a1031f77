//! Which keys a generation does not hold.
//!
//! Most writes are of keys that were not written lately, and every generation is asked for each of them. A walk down a list of
//! thousands of entries misses the processor's caches at every step; a Bloom filter of blocks (Putze, Sanders, Singler: Cache-, Hash- and
//! Space-Efficient Bloom Filters, 2007) misses them once.

use std::hash::{Hash, Hasher};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// One line of the processor's cache.
const BLOCK_WORDS: usize = 8;
const BLOCK_BITS: u64 = BLOCK_WORDS as u64 * 64;
/// 32 KiB, 16 bits for each key of a full generation.
const BLOCKS: usize = 512;
/// Bits of each key.
const PROBES: u32 = 5;

/// A set of keys that may take others for its own, and never misses one. Readers and writers do not wait for each other.
#[derive(Debug, Default)]
pub struct KeyFilter {
    /// None while nothing was added.
    blocks: OnceLock<Box<[Block]>>,
}

#[derive(Debug, Default)]
#[repr(align(64))]
struct Block([AtomicU64; BLOCK_WORDS]);

impl KeyFilter {
    pub fn add(&self, KeyHash(hash): KeyHash) {
        let blocks = self.blocks.get_or_init(|| (0..BLOCKS).map(|_| Block::default()).collect());
        let block = &blocks[block_of(hash)];
        for bit in bits_of(hash) {
            let word = &block.0[(bit / 64) as usize];
            let mask = 1 << (bit % 64);
            if word.load(Ordering::Acquire) & mask == 0 {
                word.fetch_or(mask, Ordering::Release);
            }
        }
    }

    /// False only if the key was never added.
    pub fn may_hold(&self, KeyHash(hash): KeyHash) -> bool {
        let Some(blocks) = self.blocks.get() else { return false };
        let block = &blocks[block_of(hash)];
        bits_of(hash).all(|bit| block.0[(bit / 64) as usize].load(Ordering::Acquire) & (1 << (bit % 64)) != 0)
    }
}

/// The hash of a key: worked out once, asked of every generation.
#[derive(Debug, Clone, Copy)]
pub struct KeyHash(u64);

impl KeyHash {
    pub fn of(key: &[u8]) -> Self {
        let mut hasher = std::hash::DefaultHasher::new();
        key.hash(&mut hasher);
        Self(hasher.finish())
    }
}

fn block_of(hash: u64) -> usize {
    (hash % BLOCKS as u64) as usize
}

/// Nine bits of the hash for each, from the upper end; the lower end chose the block.
fn bits_of(hash: u64) -> impl Iterator<Item = u64> {
    (0..PROBES).map(move |probe| (hash >> (64 - 9 * (probe + 1))) % BLOCK_BITS)
}

#[cfg(test)]
mod tests {
    use super::{KeyFilter, KeyHash};

    fn key(number: u32) -> KeyHash {
        KeyHash::of(format!("partition {}\0row {number}", number % 7).as_bytes())
    }

    #[test]
    fn what_was_added_is_never_denied() {
        let filter = KeyFilter::default();
        assert!(!filter.may_hold(key(0)));
        for number in 0..16 * 1024 {
            filter.add(key(number));
            assert!(filter.may_hold(key(number)), "{number}");
        }
        assert!((0..16 * 1024).all(|number| filter.may_hold(key(number))));
    }

    #[test]
    fn a_full_generation_knows_most_keys_that_it_lacks() {
        let filter = KeyFilter::default();
        (0..16 * 1024).for_each(|number| filter.add(key(number)));
        let taken = (20_000..120_000).filter(|number| filter.may_hold(key(*number))).count();
        assert!(taken < 3_000, "{taken} of 100,000");
    }
}
