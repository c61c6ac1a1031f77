//! A batch of encoded entities.

use super::row_ref::{HEADER_BYTES, Header, RowRef, TIMESTAMP_AT};
use super::unfinished::Unfinished;
use crate::DateTime;

/// Encoded entities in one arena, with an index that gives their order.
///
/// Rows of equal keys lie in the arena in the order in which they were appended, which is how
/// sorting keeps them in it.
#[derive(Debug, Default, Clone)]
pub struct Rows {
    pub(super) arena: Vec<u8>,
    /// Where the header of each row begins in `arena`.
    pub(super) index: Vec<usize>,
    /// How the order of the index stands.
    order: Order,
    pub(super) unfinished: Unfinished,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    /// Every key greater than the one before.
    #[default]
    Strict,
    /// No key less than the one before.
    Ascending,
    None,
}

impl Rows {
    /// No rows, and no memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// No rows, and memory for so many rows and bytes of their encoding.
    pub fn with_capacity(rows: usize, arena_bytes: usize) -> Self {
        Self { arena: Vec::with_capacity(arena_bytes), index: Vec::with_capacity(rows), ..Self::default() }
    }

    /// Rows written elsewhere, in ascending order.
    pub(super) fn from_sorted(arena: Vec<u8>, index: Vec<usize>) -> Self {
        let is_strict = index.windows(2).all(|pair| key_at(&arena, pair[0]) != key_at(&arena, pair[1]));
        let order = if is_strict { Order::Strict } else { Order::Ascending };
        Self { arena, index, order, ..Self::default() }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Bytes of the arena.
    pub fn bytes(&self) -> usize {
        self.arena.len()
    }

    /// Bytes that the arena takes before it has to grow.
    pub fn arena_bytes_max(&self) -> usize {
        self.arena.capacity()
    }

    /// Bytes of memory held, unused capacity included.
    pub fn memory_bytes(&self) -> usize {
        self.arena.capacity() + self.index.capacity() * size_of::<usize>()
    }

    /// The `i`-th row; panics if there is none.
    pub fn get(&self, i: usize) -> RowRef<'_> {
        RowRef::at(&self.arena, self.index[i])
    }

    /// The first row.
    pub fn first(&self) -> Option<RowRef<'_>> {
        self.index.first().map(|&at| RowRef::at(&self.arena, at))
    }

    /// The last row.
    pub fn last(&self) -> Option<RowRef<'_>> {
        self.index.last().map(|&at| RowRef::at(&self.arena, at))
    }

    /// The rows in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = RowRef<'_>> + Clone {
        self.index.iter().map(|&at| RowRef::at(&self.arena, at))
    }

    /// True if no key is less than the one before it.
    pub fn is_sorted(&self) -> bool {
        self.order <= Order::Ascending
    }

    /// True if every key is greater than the one before it.
    pub fn is_strictly_sorted(&self) -> bool {
        self.order == Order::Strict
    }

    /// Forgets all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.arena.clear();
        self.index.clear();
        self.order = Order::Strict;
    }

    /// Gives all rows this Timestamp.
    pub fn set_timestamps(&mut self, timestamp: DateTime) {
        let ticks = timestamp.ticks().to_le_bytes();
        for header_at in &self.index {
            let at = header_at + TIMESTAMP_AT;
            self.arena[at..at + ticks.len()].copy_from_slice(&ticks);
        }
    }

    /// Appends a copy of a row, which must use the same `PropertyNames`.
    pub fn push_ref(&mut self, row: RowRef<'_>) {
        let header_at = self.arena.len() + row.header_at();
        self.arena.extend_from_slice(row.encoded_bytes());
        self.push_index(header_at);
    }

    /// The same without the row's origin, for rows that are to be kept.
    pub fn push_without_origin(&mut self, row: RowRef<'_>) {
        let header_at = self.arena.len() + row.header_at();
        self.arena.extend_from_slice(row.bytes_without_origin());
        let header = Header { has_origin: false, ..Header::read(&self.arena[header_at..]) };
        self.arena[header_at..header_at + HEADER_BYTES].copy_from_slice(&header.encode());
        self.push_index(header_at);
    }

    /// Notes where the row appended last came from. It goes with the row, and says nothing about
    /// its entity.
    pub fn set_last_origin(&mut self, origin: u64) {
        let Some(&header_at) = self.index.last() else { return };
        let header = Header::read(&self.arena[header_at..]);
        if header.has_origin || header_at + header.bytes_to_end() != self.arena.len() {
            return;
        }
        let header = Header { has_origin: true, ..header };
        self.arena[header_at..header_at + HEADER_BYTES].copy_from_slice(&header.encode());
        self.arena.extend_from_slice(&origin.to_le_bytes());
    }

    /// Sorts by key; rows with equal keys stay in the order in which they were appended.
    pub fn sort(&mut self) {
        if self.is_sorted() {
            return;
        }
        // Keys of a batch mostly begin alike. The eight bytes behind their common beginning decide
        // nearly all comparisons without touching the arena, and among equal keys the position in
        // the arena is the order of arrival.
        let arena = &self.arena;
        let skip = common_beginning(self.index.iter().map(|&at| key_at(arena, at)));
        let mut entries: Vec<(u64, usize)> =
            self.index.iter().map(|&at| (key_prefix(&key_at(arena, at)[skip..]), at)).collect();
        entries.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0)
                .then_with(|| key_at(arena, a.1)[skip..].cmp(&key_at(arena, b.1)[skip..]))
                .then_with(|| a.1.cmp(&b.1))
        });
        let mut strict = true;
        for pair in entries.windows(2) {
            if pair[0].0 == pair[1].0 && key_at(arena, pair[0].1) == key_at(arena, pair[1].1) {
                strict = false;
                break;
            }
        }
        // Rows are moved too, here where they are in the processor's cache: merging reads them in
        // order, many batches at once.
        let mut sorted = Vec::with_capacity(arena.len());
        self.index.clear();
        for &(_, at) in &entries {
            let row = RowRef::at(arena, at);
            self.index.push(sorted.len() + row.header_at());
            sorted.extend_from_slice(row.encoded_bytes());
        }
        self.arena = sorted;
        self.order = if strict { Order::Strict } else { Order::Ascending };
    }

    /// Drops the last row.
    pub fn pop(&mut self) {
        let Some(header_at) = self.index.pop() else { return };
        let header = Header::read(&self.arena[header_at..]);
        let end = header_at + header.bytes_to_end();
        if end == self.arena.len() {
            self.arena.truncate(header_at - header.properties_bytes);
        }
    }

    /// Enters the row whose header lies at `header_at` and whose key ends the arena.
    pub(super) fn push_index(&mut self, header_at: usize) {
        if self.order != Order::None
            && let Some(&last) = self.index.last()
        {
            let order = match key_at(&self.arena, last).cmp(key_at(&self.arena, header_at)) {
                std::cmp::Ordering::Less => Order::Strict,
                std::cmp::Ordering::Equal => Order::Ascending,
                std::cmp::Ordering::Greater => Order::None,
            };
            self.order = self.order.max(order);
        }
        self.index.push(header_at);
    }
}

/// How many bytes all of these keys begin with in common.
pub fn common_beginning<'a>(mut keys: impl Iterator<Item = &'a [u8]>) -> usize {
    let Some(first) = keys.next() else { return 0 };
    keys.fold(first.len(), |common, key| {
        if key.len() >= common && key[..common] == first[..common] {
            return common;
        }
        first.iter().zip(key).take(common).take_while(|(a, b)| a == b).count()
    })
}

/// The bytes of the key whose header lies at `header_at`.
pub(super) fn key_at(arena: &[u8], header_at: usize) -> &[u8] {
    let row = &arena[header_at..];
    &row[HEADER_BYTES..HEADER_BYTES + Header::read(row).key_bytes()]
}

/// The first eight bytes as a number that compares like them; shorter keys are filled with zeros,
/// which is no more than the least byte, so that equal prefixes say nothing and different ones
/// decide.
pub fn key_prefix(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(chunk) => u64::from_be_bytes(*chunk),
        None => {
            let mut bytes = [0; 8];
            bytes[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(bytes)
        }
    }
}

#[cfg(test)]
mod tests;
