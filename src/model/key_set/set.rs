//! Sets of composite keys.

use super::range::{KeyCut, KeyRange};
use super::spans;
use crate::KeyRef;

/// A set of composite keys: sorted, disjoint, non-adjacent ranges.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct KeySet {
    ranges: Vec<KeyRange>,
}

impl KeySet {
    /// Every key.
    pub fn all() -> Self {
        KeyRange::all().into()
    }

    /// No key.
    pub fn empty() -> Self {
        Self::default()
    }

    /// The union of `ranges`, in any order, overlapping or not.
    pub fn from_ranges(ranges: impl IntoIterator<Item = KeyRange>) -> Self {
        Self { ranges: spans::normalise(ranges.into_iter().collect()) }
    }

    /// The ranges in key order.
    pub fn ranges(&self) -> &[KeyRange] {
        &self.ranges
    }

    /// Whether it holds every key.
    pub fn is_all(&self) -> bool {
        match self.ranges.as_slice() {
            [only] => *only.lower() == KeyCut::Start && *only.upper() == KeyCut::End,
            _ => false,
        }
    }

    /// Whether it holds no key.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether the set holds a key.
    pub fn contains(&self, key: KeyRef<'_>) -> bool {
        self.covers(key, key)
    }

    /// The ranges that reach into the span from `first` to `last`, both included, in key order;
    /// none when the span is empty because `last` is below `first`.
    pub fn overlapping(&self, first: KeyRef<'_>, last: KeyRef<'_>) -> &[KeyRange] {
        if last < first {
            return &[];
        }
        let from = self.ranges.partition_point(|range| range.upper().is_below(first));
        let until = self.ranges.partition_point(|range| range.lower().is_below(last));
        self.ranges.get(from..until).unwrap_or_default()
    }

    /// Whether any key of the span from `first` to `last`, both included, may be in the set.
    pub fn overlaps(&self, first: KeyRef<'_>, last: KeyRef<'_>) -> bool {
        !self.overlapping(first, last).is_empty()
    }

    /// Whether every key of the span from `first` to `last`, both included, is in the set.
    pub fn covers(&self, first: KeyRef<'_>, last: KeyRef<'_>) -> bool {
        // Ranges do not touch, so a span without a hole lies in a single one.
        matches!(self.overlapping(first, last), [only] if only.contains(first) && only.contains(last))
    }

    /// The keys in both sets.
    pub fn intersect(&self, other: &Self) -> Self {
        Self { ranges: spans::intersect(&self.ranges, &other.ranges) }
    }

    /// The keys in either set.
    pub fn union(&self, other: &Self) -> Self {
        Self { ranges: spans::union(&self.ranges, &other.ranges) }
    }

    /// The keys that are not in the set.
    pub fn complement(&self) -> Self {
        Self { ranges: spans::complement(&self.ranges) }
    }

    /// A superset in at most `ranges_max` ranges (at least one).
    pub fn coarsened(&self, ranges_max: usize) -> Self {
        Self { ranges: spans::coarsen(&self.ranges, ranges_max) }
    }
}

impl From<KeyRange> for KeySet {
    fn from(range: KeyRange) -> Self {
        Self { ranges: vec![range] }
    }
}
