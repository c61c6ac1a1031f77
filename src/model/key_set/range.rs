//! Contiguous ranges of composite keys.

use std::cmp::Ordering;
use std::fmt;

use super::interval::{Cut, Interval, Quoted};
use super::spans::Span;
use crate::{Key, KeyRef};

/// A place between composite keys, ordered by PartitionKey, then RowKey.
///
/// Some places have two spellings: before the first key of a partition is before the partition,
/// before partition "" is the start, and before `s\0` is after `s`. A [`KeyRange`] holds one
/// spelling of each, so that places are equal exactly when they compare equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeyCut {
    Start,
    BeforePartition(String),
    Before(Key),
    After(Key),
    AfterPartition(String),
    End,
}

/// Where a cut lies within the partition it names.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Within<'a> {
    BeforeAll,
    At(&'a str, Side),
    AfterAll,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Before,
    After,
}

impl KeyCut {
    /// Whether `key` lies on the upper side of this cut.
    pub fn is_below(&self, key: KeyRef<'_>) -> bool {
        match self {
            KeyCut::Start => true,
            KeyCut::BeforePartition(partition) => partition.as_str() <= key.partition,
            KeyCut::Before(bound) => bound.as_ref() <= key,
            KeyCut::After(bound) => bound.as_ref() < key,
            KeyCut::AfterPartition(partition) => partition.as_str() < key.partition,
            KeyCut::End => false,
        }
    }

    /// The PartitionKey this cut names, `None` for the ends.
    pub fn partition(&self) -> Option<&str> {
        match self {
            KeyCut::Start | KeyCut::End => None,
            KeyCut::BeforePartition(partition) | KeyCut::AfterPartition(partition) => Some(partition),
            KeyCut::Before(key) | KeyCut::After(key) => Some(&key.partition),
        }
    }

    /// The cut between partitions where `cut` lies on the axis of PartitionKeys.
    pub fn of_partitions(cut: &Cut) -> Self {
        match cut {
            Cut::Start => KeyCut::Start,
            Cut::Before(partition) => KeyCut::BeforePartition(partition.clone()),
            Cut::After(partition) => KeyCut::AfterPartition(partition.clone()),
            Cut::End => KeyCut::End,
        }
    }

    fn normal(self) -> Self {
        match self {
            KeyCut::Before(key) if key.row.is_empty() => KeyCut::BeforePartition(key.partition).normal(),
            KeyCut::Before(mut key) if key.row.ends_with('\0') => {
                key.row.pop();
                KeyCut::After(key)
            }
            KeyCut::BeforePartition(partition) if partition.is_empty() => KeyCut::Start,
            KeyCut::BeforePartition(mut partition) if partition.ends_with('\0') => {
                partition.pop();
                KeyCut::AfterPartition(partition)
            }
            cut => cut,
        }
    }

    fn place(&self) -> (u8, &str, Within<'_>) {
        match self {
            KeyCut::Start => (0, "", Within::BeforeAll),
            KeyCut::BeforePartition(partition) => (1, partition, Within::BeforeAll),
            KeyCut::Before(key) => (1, &key.partition, Within::At(&key.row, Side::Before)),
            KeyCut::After(key) => (1, &key.partition, Within::At(&key.row, Side::After)),
            KeyCut::AfterPartition(partition) => (1, partition, Within::AfterAll),
            KeyCut::End => (2, "", Within::AfterAll),
        }
    }
}

impl Ord for KeyCut {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for KeyCut {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The keys between two cuts; never empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyRange {
    lower: KeyCut,
    upper: KeyCut,
}

impl Span for KeyRange {
    type Cut = KeyCut;

    const START: KeyCut = KeyCut::Start;
    const END: KeyCut = KeyCut::End;

    fn between(lower: KeyCut, upper: KeyCut) -> Option<Self> {
        let (lower, upper) = (lower.normal(), upper.normal());
        (lower < upper).then_some(Self { lower, upper })
    }

    fn lower(&self) -> &KeyCut {
        &self.lower
    }

    fn upper(&self) -> &KeyCut {
        &self.upper
    }
}

impl KeyRange {
    /// The keys between two cuts, `None` when there are none.
    pub fn new(lower: KeyCut, upper: KeyCut) -> Option<Self> {
        Self::between(lower, upper)
    }

    /// Every key.
    pub fn all() -> Self {
        Self { lower: KeyCut::Start, upper: KeyCut::End }
    }

    /// One key.
    pub fn point(key: Key) -> Self {
        Self { lower: KeyCut::Before(key.clone()).normal(), upper: KeyCut::After(key) }
    }

    /// Every key of one partition.
    pub fn partition(partition: &str) -> Self {
        Self::partitions(&Interval::point(partition))
    }

    /// Every key of every partition in `partitions`.
    pub fn partitions(partitions: &Interval) -> Self {
        Self {
            lower: KeyCut::of_partitions(partitions.lower()).normal(),
            upper: KeyCut::of_partitions(partitions.upper()).normal(),
        }
    }

    /// The keys of one partition whose RowKey lies in `rows`.
    pub fn rows(partition: &str, rows: &Interval) -> Self {
        let lower = match rows.lower() {
            Cut::Start | Cut::End => KeyCut::BeforePartition(partition.to_owned()),
            Cut::Before(row) => KeyCut::Before(Key::new(partition, row.as_str())),
            Cut::After(row) => KeyCut::After(Key::new(partition, row.as_str())),
        };
        let upper = match rows.upper() {
            Cut::Start | Cut::End => KeyCut::AfterPartition(partition.to_owned()),
            Cut::Before(row) => KeyCut::Before(Key::new(partition, row.as_str())),
            Cut::After(row) => KeyCut::After(Key::new(partition, row.as_str())),
        };
        Self { lower: lower.normal(), upper: upper.normal() }
    }

    /// The lower end.
    pub fn lower(&self) -> &KeyCut {
        &self.lower
    }

    /// The upper end.
    pub fn upper(&self) -> &KeyCut {
        &self.upper
    }

    /// Whether the range holds a key.
    pub fn contains(&self, key: KeyRef<'_>) -> bool {
        self.lower.is_below(key) && !self.upper.is_below(key)
    }

    /// The key, if this range holds exactly one.
    pub fn as_point(&self) -> Option<KeyRef<'_>> {
        let KeyCut::After(last) = &self.upper else { return None };
        let only = match &self.lower {
            KeyCut::Start => last.partition.is_empty() && last.row.is_empty(),
            KeyCut::BeforePartition(partition) => *partition == last.partition && last.row.is_empty(),
            KeyCut::Before(first) => first == last,
            // Lower cuts of keys that end in \0 are held as the cut after the rest.
            KeyCut::After(rest) => rest.partition == last.partition && last.row.strip_suffix('\0') == Some(&rest.row),
            KeyCut::AfterPartition(rest) => last.row.is_empty() && last.partition.strip_suffix('\0') == Some(rest),
            KeyCut::End => false,
        };
        only.then(|| last.as_ref())
    }

    /// The PartitionKey, if every key of this range has the same.
    pub fn single_partition(&self) -> Option<&str> {
        let partition = match &self.upper {
            KeyCut::Before(key) | KeyCut::After(key) => &key.partition,
            KeyCut::AfterPartition(partition) => partition,
            KeyCut::Start | KeyCut::BeforePartition(_) | KeyCut::End => return None,
        };
        let same = match &self.lower {
            KeyCut::Start => partition.is_empty(),
            KeyCut::BeforePartition(first) => first == partition,
            KeyCut::Before(first) | KeyCut::After(first) => first.partition == *partition,
            KeyCut::AfterPartition(rest) => partition.strip_suffix('\0') == Some(rest),
            KeyCut::End => false,
        };
        same.then_some(partition)
    }

    /// Whether this range is every key of one partition.
    pub fn is_whole_partition(&self) -> bool {
        matches!(self.upper, KeyCut::AfterPartition(_))
            && matches!(self.lower, KeyCut::Start | KeyCut::BeforePartition(_) | KeyCut::AfterPartition(_))
            && self.single_partition().is_some()
    }
}

/// The condition that holds for exactly the keys of the range, as one would write it in SQL.
impl fmt::Display for KeyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(partition) = self.single_partition() {
            write!(f, "PartitionKey = {}", Quoted(partition))?;
            if let Some(key) = self.as_point() {
                return write!(f, " AND RowKey = {}", Quoted(key.row));
            }
            match &self.lower {
                KeyCut::Before(key) => write!(f, " AND RowKey >= {}", Quoted(&key.row))?,
                KeyCut::After(key) => write!(f, " AND RowKey > {}", Quoted(&key.row))?,
                _ => {}
            }
            return match &self.upper {
                KeyCut::Before(key) => write!(f, " AND RowKey < {}", Quoted(&key.row)),
                KeyCut::After(key) => write!(f, " AND RowKey <= {}", Quoted(&key.row)),
                _ => Ok(()),
            };
        }
        if (&self.lower, &self.upper) == (&KeyCut::Start, &KeyCut::End) {
            return f.write_str("all keys");
        }
        match &self.lower {
            KeyCut::Start | KeyCut::End => {}
            KeyCut::BeforePartition(partition) => write!(f, "PartitionKey >= {}", Quoted(partition))?,
            KeyCut::AfterPartition(partition) => write!(f, "PartitionKey > {}", Quoted(partition))?,
            KeyCut::Before(key) => write!(f, "(PartitionKey, RowKey) >= {}", Pair(key))?,
            KeyCut::After(key) => write!(f, "(PartitionKey, RowKey) > {}", Pair(key))?,
        }
        if self.lower != KeyCut::Start && self.upper != KeyCut::End {
            f.write_str(" AND ")?;
        }
        match &self.upper {
            KeyCut::Start | KeyCut::End => Ok(()),
            KeyCut::BeforePartition(partition) => write!(f, "PartitionKey < {}", Quoted(partition)),
            KeyCut::AfterPartition(partition) => write!(f, "PartitionKey <= {}", Quoted(partition)),
            KeyCut::Before(key) => write!(f, "(PartitionKey, RowKey) < {}", Pair(key)),
            KeyCut::After(key) => write!(f, "(PartitionKey, RowKey) <= {}", Pair(key)),
        }
    }
}

struct Pair<'a>(&'a Key);

impl fmt::Display for Pair<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", Quoted(&self.0.partition), Quoted(&self.0.row))
    }
}
