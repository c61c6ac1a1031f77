//! The hash table of a generation.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::key_filter::KeyHash;

/// Buckets of the first table; each further one has four times as many.
const FIRST_BUCKETS: usize = 1 << 10;
const TABLES: usize = 12;

/// Where an entry lies in its generation.
pub(super) type Place = std::num::NonZero<u32>;

/// By bucket of the hash, the newest entry, from which it goes on to older ones. Entries are added
/// in the order of their places: the first to the first table, and when there are as many as it has
/// buckets, to the next. So the entries of a later table are newer.
#[derive(Debug, Default)]
pub(super) struct Heads {
    tables: [OnceLock<Box<[AtomicU32]>>; TABLES],
}

impl Heads {
    /// The bucket of an entry that is to be added at a place.
    pub(super) fn of_next(&self, place: usize, hash: KeyHash) -> &AtomicU32 {
        let table = table_of(place);
        let count = FIRST_BUCKETS << (2 * table);
        let buckets = self.tables[table].get_or_init(|| (0..count).map(|_| AtomicU32::new(0)).collect());
        &buckets[hash.bucket(buckets.len())]
    }

    pub(super) fn get(bucket: &AtomicU32) -> Option<Place> {
        Place::new(bucket.load(Ordering::Acquire))
    }

    /// Makes the entry at a place the newest of a bucket.
    pub(super) fn set(bucket: &AtomicU32, place: usize) {
        // There is no memory for so many.
        bucket.store(u32::try_from(place + 1).unwrap_or(0), Ordering::Release);
    }

    /// The newest entries of the buckets of a hash, the newest table first, where there are so many
    /// entries.
    pub(super) fn newest_first(&self, entries: usize, hash: KeyHash) -> impl Iterator<Item = Option<Place>> {
        let tables = &self.tables[..=table_of(entries)];
        tables
            .iter()
            .rev()
            .filter_map(OnceLock::get)
            .map(move |buckets| Self::get(&buckets[hash.bucket(buckets.len())]))
    }
}

fn table_of(place: usize) -> usize {
    let times = place / FIRST_BUCKETS;
    let table = if times == 0 { 0 } else { times.ilog2() as usize / 2 + 1 };
    table.min(TABLES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_taken_one_after_another() {
        let tables: Vec<usize> = [0, 1023, 1024, 4095, 4096, 16_383, 16_384, 65_536].map(table_of).to_vec();
        assert_eq!(tables, [0, 0, 1, 1, 2, 2, 3, 4]);
        assert_eq!(table_of(usize::MAX), TABLES - 1);
        for place in 0..200_000 {
            let table = table_of(place);
            assert!(place < FIRST_BUCKETS << (2 * table), "{place} in table {table}");
            assert!(table == 0 || place >= FIRST_BUCKETS << (2 * table - 2), "{place} in table {table}");
        }
    }
}
