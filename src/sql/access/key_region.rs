//! Sets of keys in two dimensions: from PartitionKey to a set of RowKeys.

use std::collections::BTreeMap;

#[cfg(test)]
use rowkey_model::KeyRef;
use rowkey_model::{Cut, Interval, IntervalSet, KeyRange, KeySet};

/// Most row intervals a region holds, over all its slabs; operations that would exceed it answer
/// with a superset.
pub(super) const PIECES_MAX: usize = 40_000;

/// Most row intervals one operation looks at, its bound in time.
const WORK_MAX: usize = 100 * PIECES_MAX;

/// A set of keys, piecewise constant over PartitionKey.
///
/// Closed and exact under union, intersection and complement, which a list of ranges in key order
/// is not: the keys with RowKey 'x' are one slab here, and no finite list of ranges. Slabs are
/// sorted and disjoint, have rows, and neighbours that touch have different rows, so equal sets
/// have equal slabs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyRegion {
    slabs: Vec<Slab>,
}

/// The partitions of an interval, of each the same RowKeys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slab {
    pub partitions: Interval,
    pub rows: IntervalSet,
}

/// The outcome of an operation, which may have been too large to carry out exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Bounded {
    Exact(KeyRegion),
    /// Holds every key of the exact outcome, and more.
    Superset(KeyRegion),
}

impl Bounded {
    /// Whether this is an exact outcome, equal to `region`.
    pub(super) fn is_exactly(&self, region: &KeyRegion) -> bool {
        matches!(self, Bounded::Exact(outcome) if outcome == region)
    }
}

impl KeyRegion {
    pub fn all() -> Self {
        Self { slabs: vec![Slab { partitions: Interval::all(), rows: IntervalSet::all() }] }
    }

    pub fn empty() -> Self {
        Self::default()
    }

    /// Every key whose PartitionKey is in `partitions`.
    pub fn with_partitions(partitions: &IntervalSet) -> Self {
        let slab = |partitions: &Interval| Slab { partitions: partitions.clone(), rows: IntervalSet::all() };
        Self { slabs: partitions.intervals().iter().map(slab).collect() }
    }

    /// Every key whose RowKey is in `rows`.
    pub fn with_rows(rows: IntervalSet) -> Self {
        let mut region = Self::empty();
        region.push(Interval::all(), rows);
        region
    }

    /// Single keys, given by PartitionKey and RowKey in any order.
    pub(super) fn of_keys<'a>(keys: impl Iterator<Item = (&'a str, &'a str)>) -> Bounded {
        let mut partitions: BTreeMap<&str, Vec<Interval>> = BTreeMap::new();
        for (partition, row) in keys {
            partitions.entry(partition).or_default().push(Interval::point(row));
        }
        let mut region = Self::empty();
        for (partition, rows) in partitions {
            region.push(Interval::point(partition), IntervalSet::from_intervals(rows));
        }
        region.bounded()
    }

    pub fn is_empty(&self) -> bool {
        self.slabs.is_empty()
    }

    pub fn is_all(&self) -> bool {
        matches!(self.slabs.as_slice(), [only] if only.partitions == Interval::all() && only.rows.is_all())
    }

    #[cfg(test)]
    pub fn contains(&self, key: KeyRef<'_>) -> bool {
        let at = self.slabs.partition_point(|slab| slab.partitions.upper().is_below(key.partition));
        let slab = self.slabs.get(at);
        slab.is_some_and(|slab| slab.partitions.contains(key.partition) && slab.rows.contains(key.row))
    }

    pub(super) fn slabs(&self) -> &[Slab] {
        &self.slabs
    }

    /// The region as ranges in key order, and whether they hold nothing else.
    ///
    /// RowKeys that are bounded in a span of partitions cannot be told as ranges: such a slab
    /// widens to the whole span.
    pub fn to_key_set(&self) -> (KeySet, bool) {
        let mut exact = true;
        let mut ranges = Vec::new();
        for slab in &self.slabs {
            if let Some(partition) = slab.partitions.as_point() {
                ranges.extend(slab.rows.intervals().iter().map(|rows| KeyRange::rows(partition, rows)));
            } else {
                exact &= slab.rows.is_all();
                ranges.push(KeyRange::partitions(&slab.partitions));
            }
        }
        (KeySet::from_ranges(ranges), exact)
    }

    pub(super) fn intersect(&self, other: &Self) -> Bounded {
        if self.is_all() || other.is_empty() {
            return Bounded::Exact(other.clone());
        }
        if other.is_all() || self.is_empty() {
            return Bounded::Exact(self.clone());
        }
        self.combine_bounded(other, IntervalSet::intersect)
    }

    pub(super) fn union(&self, other: &Self) -> Bounded {
        if self.is_all() || other.is_empty() {
            return Bounded::Exact(self.clone());
        }
        if other.is_all() || self.is_empty() {
            return Bounded::Exact(other.clone());
        }
        self.combine_bounded(other, IntervalSet::union)
    }

    pub(super) fn complement(&self) -> Bounded {
        let mut outside = Self::empty();
        let mut from = Cut::Start;
        for slab in &self.slabs {
            if let Some(gap) = Interval::new(from, slab.partitions.lower().clone()) {
                outside.push(gap, IntervalSet::all());
            }
            outside.push(slab.partitions.clone(), slab.rows.complement());
            from = slab.partitions.upper().clone();
        }
        if let Some(gap) = Interval::new(from, Cut::End) {
            outside.push(gap, IntervalSet::all());
        }
        outside.bounded()
    }

    /// The region, or a superset where it has too many pieces.
    fn bounded(self) -> Bounded {
        if self.pieces() <= PIECES_MAX {
            return Bounded::Exact(self);
        }
        let slabs_max = PIECES_MAX / 4;
        let rows_max = PIECES_MAX / self.slabs.len().min(slabs_max);
        Bounded::Superset(self.coarsened(slabs_max, rows_max))
    }

    fn pieces(&self) -> usize {
        self.slabs.iter().map(|slab| slab.rows.intervals().len()).sum()
    }

    /// Appends a slab above all others.
    fn push(&mut self, partitions: Interval, rows: IntervalSet) {
        if rows.is_empty() {
            return;
        }
        if let Some(last) = self.slabs.last_mut()
            && last.partitions.upper() == partitions.lower()
            && last.rows == rows
            && let Some(joined) = Interval::new(last.partitions.lower().clone(), partitions.upper().clone())
        {
            last.partitions = joined;
            return;
        }
        self.slabs.push(Slab { partitions, rows });
    }

    fn combine_bounded(&self, other: &Self, rows: fn(&IntervalSet, &IntervalSet) -> IntervalSet) -> Bounded {
        if let Some(exact) = self.combine(other, rows, PIECES_MAX, WORK_MAX) {
            return Bounded::Exact(exact);
        }
        // Operands so coarse that their combination cannot exceed the bounds; both operations keep
        // supersets.
        let slabs_max = PIECES_MAX / 8;
        let (a, b) = (self.slabs.len().min(slabs_max), other.slabs.len().min(slabs_max));
        let rows_max = (PIECES_MAX / (2 * (2 * (a + b) + 1))).max(1);
        let (a, b) = (self.coarsened(slabs_max, rows_max), other.coarsened(slabs_max, rows_max));
        Bounded::Superset(a.combine(&b, rows, usize::MAX, usize::MAX).unwrap_or_else(Self::all))
    }

    /// Sweeps both regions from cut to cut. `None` when the outcome, or the way there, is larger
    /// than allowed.
    fn combine(
        &self,
        other: &Self,
        rows: fn(&IntervalSet, &IntervalSet) -> IntervalSet,
        pieces_max: usize,
        work_max: usize,
    ) -> Option<Self> {
        let none = IntervalSet::empty();
        let (mut a, mut b) = (Sweep::new(self), Sweep::new(other));
        let (mut pieces, mut work) = (0usize, 0usize);
        let mut combined = Self::empty();
        let mut from = Cut::Start;
        while from < Cut::End {
            let (in_a, a_until) = a.at(&from);
            let (in_b, b_until) = b.at(&from);
            let until = a_until.min(b_until).clone();
            let (in_a, in_b) = (in_a.unwrap_or(&none), in_b.unwrap_or(&none));
            let here = rows(in_a, in_b);
            pieces += here.intervals().len();
            work += in_a.intervals().len() + in_b.intervals().len();
            if pieces > pieces_max || work > work_max {
                return None;
            }
            if let Some(partitions) = Interval::new(from, until.clone()) {
                combined.push(partitions, here);
            }
            from = until;
        }
        Some(combined)
    }

    /// A superset in at most `slabs_max` slabs of at most `rows_max` row intervals each.
    fn coarsened(&self, slabs_max: usize, rows_max: usize) -> Self {
        let run = self.slabs.len().div_ceil(slabs_max.max(1)).max(1);
        let mut coarse = Self::empty();
        for run in self.slabs.chunks(run) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let hull = Interval::new(first.partitions.lower().clone(), last.partitions.upper().clone());
            let rows = run.iter().flat_map(|slab| slab.rows.intervals()).cloned();
            if let Some(hull) = hull {
                coarse.push(hull, IntervalSet::from_intervals(rows).coarsened(rows_max));
            }
        }
        coarse
    }
}

/// A walk over the slabs of a region, from cut to cut upwards.
struct Sweep<'a> {
    slabs: std::iter::Peekable<std::slice::Iter<'a, Slab>>,
}

impl<'a> Sweep<'a> {
    fn new(region: &'a KeyRegion) -> Self {
        Self { slabs: region.slabs.iter().peekable() }
    }

    /// The rows just above `from`, and the cut up to which they stay the same.
    fn at(&mut self, from: &Cut) -> (Option<&'a IntervalSet>, &'a Cut) {
        while self.slabs.next_if(|slab| slab.partitions.upper() <= from).is_some() {}
        match self.slabs.peek() {
            Some(slab) if slab.partitions.lower() <= from => (Some(&slab.rows), slab.partitions.upper()),
            Some(slab) => (None, slab.partitions.lower()),
            None => (None, &Cut::End),
        }
    }
}

#[cfg(test)]
mod tests;
