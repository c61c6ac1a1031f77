//! A Bloom filter and the partition spans of a file's keys: of files that this process has folded
//! itself.
//!
//! Many of those may lie beside each other while writes come fast, and every new key would have to
//! be looked for in each.

use std::sync::Arc;

use crate::key_filter::{KeyFilter, KeyHash};
use rowkey_model::KeyRef;

/// Spans are kept if partitions have so many rows on average: else they would take as much memory
/// as the keys themselves.
const PARTITION_ROWS_MIN: usize = 16;

/// Keys that a file may hold.
#[derive(Debug, Clone, Default)]
pub struct KnownKeys(Option<Arc<Known>>);

#[derive(Debug)]
struct Known {
    filter: KeyFilter,
    /// In the order of their keys; none if they are not kept.
    partitions: Vec<PartitionSpan>,
}

/// The first and the last RowKey of a partition in a file.
#[derive(Debug)]
struct PartitionSpan {
    partition: Box<str>,
    first: Box<str>,
    last: Box<str>,
}

impl PartitionSpan {
    fn first_key(&self) -> KeyRef<'_> {
        KeyRef { partition: &self.partition, row: &self.first }
    }
}

impl KnownKeys {
    /// Of a file that holds no other keys than these, which ascend.
    pub fn of<'k>(hashes: impl ExactSizeIterator<Item = KeyHash>, keys: impl Iterator<Item = KeyRef<'k>>) -> Self {
        let partitions_max = hashes.len() / PARTITION_ROWS_MIN;
        let filter = KeyFilter::with_room_for(hashes.len());
        hashes.for_each(|hash| filter.add(hash));
        Self(Some(Arc::new(Known { filter, partitions: spans(keys, partitions_max) })))
    }

    /// Whether the keys of the file are known: those of files that this process wrote.
    pub fn are_known(&self) -> bool {
        self.0.is_some()
    }

    /// False only if the file does not hold the key of this hash, masked or not.
    pub fn may_hold(&self, hash: KeyHash) -> bool {
        self.0.as_ref().is_none_or(|known| known.filter.may_hold(hash))
    }

    /// The least key that the file may hold behind one that it does not hold, the inner `None` if
    /// there is no such key: the outer if that is not known.
    pub fn next_behind(&self, key: KeyRef<'_>) -> Option<Option<KeyRef<'_>>> {
        let partitions = self.0.as_ref().map(|known| &known.partitions).filter(|partitions| !partitions.is_empty())?;
        let at = partitions.partition_point(|span| *span.partition < *key.partition);
        let behind = match partitions.get(at) {
            Some(span) if *span.partition == *key.partition && *span.first <= *key.row => {
                if *key.row <= *span.last {
                    return None;
                }
                partitions.get(at + 1)
            }
            next => next,
        };
        Some(behind.map(PartitionSpan::first_key))
    }
}

/// The spans of the partitions of some keys, which ascend; none if there are more than so many.
fn spans<'k>(keys: impl Iterator<Item = KeyRef<'k>>, partitions_max: usize) -> Vec<PartitionSpan> {
    let mut spans: Vec<PartitionSpan> = Vec::new();
    let mut keys = keys.peekable();
    while let Some(first) = keys.next() {
        if spans.len() >= partitions_max {
            return Vec::new();
        }
        let mut last = first;
        while let Some(next) = keys.next_if(|next| next.partition == first.partition) {
            last = next;
        }
        spans.push(PartitionSpan { partition: first.partition.into(), first: first.row.into(), last: last.row.into() });
    }
    spans
}

/// What is known of a file says nothing of what is in it.
impl PartialEq for KnownKeys {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::KnownKeys;
    use crate::key_filter::KeyHash;
    use rowkey_base::testing::Dice;
    use rowkey_model::rows::key_bytes;
    use rowkey_model::{Key, KeyRef};

    fn known(keys: &[Key]) -> KnownKeys {
        let hashes: Vec<KeyHash> = keys.iter().map(|key| KeyHash::of(&key_bytes(key.as_ref()))).collect();
        KnownKeys::of(hashes.into_iter(), keys.iter().map(Key::as_ref))
    }

    #[test]
    fn no_key_lies_between_one_that_is_not_there_and_the_next_that_may_be() {
        for seed in 0..20 {
            let mut dice = Dice(seed);
            let any = |dice: &mut Dice| Key::new(format!("p{}", dice.below(6)), format!("{:03}", dice.below(400)));
            let mut keys: Vec<Key> = (0..200).map(|_| any(&mut dice)).filter(|key| key.partition != "p3").collect();
            keys.sort();
            keys.dedup();
            let known = known(&keys);
            let (mut told, mut asked) = (0, 0);
            for _ in 0..500 {
                let key = any(&mut dice);
                if keys.contains(&key) {
                    continue;
                }
                asked += 1;
                let next: Option<KeyRef<'_>> = keys.iter().find(|other| **other > key).map(Key::as_ref);
                let of_partition = || keys.iter().filter(|other| other.partition == key.partition);
                let is_within = of_partition().any(|other| *other < key) && of_partition().any(|other| *other > key);
                match known.next_behind(key.as_ref()) {
                    Some(behind) => assert_eq!(behind, next, "seed {seed}, {key:?}"),
                    None => assert!(is_within, "seed {seed}, {key:?}"),
                }
                told += usize::from(!is_within);
            }
            assert!(told > 0 && told < asked, "seed {seed}");
        }
    }

    #[test]
    fn of_many_small_partitions_nothing_is_told() {
        let keys: Vec<Key> = (0..100).map(|number| Key::new(format!("{number:03}"), "")).collect();
        assert_eq!(known(&keys).next_behind(Key::new("050", "1").as_ref()), None);
        assert_eq!(KnownKeys::default().next_behind(Key::new("050", "1").as_ref()), None);
        assert_eq!(known(&[]).next_behind(Key::new("050", "1").as_ref()), None);
    }
}
