//! Which run files make up a table, range partition by range partition.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::run::RunFile;
use rowkey_model::{Key, KeyRange, KeyRef, KeySet};

/// Where a range partition begins: unbounded, at the beginning of a partition, or at a key inside a
/// partition that is too large for one range partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RangeStart {
    Unbounded,
    Partition(String),
    Key(String, String),
}

impl RangeStart {
    /// Compares like the starts do.
    fn position(&self) -> Option<(&str, &str)> {
        match self {
            RangeStart::Unbounded => None,
            RangeStart::Partition(partition) => Some((partition, "")),
            RangeStart::Key(partition, row) => Some((partition, row)),
        }
    }

    /// Whether `key` lies at or behind this start.
    pub fn admits(&self, key: KeyRef<'_>) -> bool {
        match self {
            RangeStart::Unbounded => true,
            RangeStart::Partition(partition) => partition.as_str() <= key.partition,
            RangeStart::Key(partition, row) => (partition.as_str(), row.as_str()) <= (key.partition, key.row),
        }
    }
}

/// A contiguous span of keys and the files that hold its entities. It ends where the next one
/// begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RangePartition {
    pub start: RangeStart,
    /// Sorted files of this span; several ones may overlap.
    pub files: Vec<Arc<RunFile>>,
}

impl RangePartition {
    /// Live rows of its files.
    pub fn live_rows(&self) -> u64 {
        self.files.iter().map(|file| file.live_rows()).sum()
    }
}

/// The range partitions of a table in key order: disjoint, and together the whole key space.
/// Immutable; every change makes a new one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    ranges: Arc<Vec<RangePartition>>,
}

impl Default for Manifest {
    fn default() -> Self {
        Self { ranges: Arc::new(vec![RangePartition { start: RangeStart::Unbounded, files: Vec::new() }]) }
    }
}

impl Manifest {
    /// The range partitions in key order.
    pub fn ranges(&self) -> &[RangePartition] {
        &self.ranges
    }

    /// Whether both are the very same version of a table, and not merely equal.
    pub fn is_same(&self, other: &Manifest) -> bool {
        Arc::ptr_eq(&self.ranges, &other.ranges)
    }

    /// The greatest number of a file; 0 if there is none.
    pub fn newest_file_id(&self) -> u64 {
        self.files().map(|file| file.id).max().unwrap_or(0)
    }

    /// All files, in the order of their range partitions.
    pub fn files(&self) -> impl DoubleEndedIterator<Item = &Arc<RunFile>> {
        self.ranges.iter().flat_map(|range| &range.files)
    }

    /// Place of the range partition that `key` belongs to.
    pub fn range_of(&self, key: KeyRef<'_>) -> usize {
        self.ranges.partition_point(|range| range.start.admits(key)).saturating_sub(1)
    }

    /// The range partitions from the one that the lower end of `range` falls into up to the one of
    /// its upper end.
    pub fn ranges_in(&self, range: &KeyRange) -> &[RangePartition] {
        let from = range.lower().partition().map_or(0, |partition| self.range_of(KeyRef { partition, row: "" }));
        let to = range.upper().partition().map_or(self.ranges.len(), |partition| {
            self.ranges.partition_point(|range| range.start.position().is_none_or(|start| start.0 <= partition))
        });
        self.ranges.get(from..to).unwrap_or_default()
    }

    /// The files that may hold a key.
    pub fn files_of(&self, key: KeyRef<'_>) -> impl Iterator<Item = &Arc<RunFile>> {
        self.ranges[self.range_of(key)].files.iter().filter(move |file| file.spans(key))
    }

    /// The files that may hold a key of `keys`, each with the place of its range partition.
    pub fn files_in<'a>(&'a self, keys: &'a KeySet) -> impl DoubleEndedIterator<Item = (usize, &'a Arc<RunFile>)> {
        let files =
            self.ranges.iter().enumerate().flat_map(|(place, range)| range.files.iter().map(move |file| (place, file)));
        files.filter(|(_, file)| keys.overlaps(file.first.as_ref(), file.last.as_ref()))
    }

    /// Entities.
    pub fn live_rows(&self) -> u64 {
        self.ranges.iter().map(RangePartition::live_rows).sum()
    }

    /// Different PartitionKeys, if that is known without reading: no row is masked, and files do
    /// not overlap.
    pub fn partitions(&self) -> Option<u64> {
        let known =
            |range: &RangePartition| range.files.len() <= 1 && range.files.iter().all(|file| file.mask.is_none());
        if !self.ranges.iter().all(known) {
            return None;
        }
        let mut last: Option<&Key> = None;
        let mut partitions = 0;
        for file in self.files() {
            partitions += file.partitions - u64::from(last.is_some_and(|last| last.partition == file.first.partition));
            last = Some(&file.last);
        }
        Some(partitions)
    }

    /// Least and greatest live key, if they are known without reading: no row of the first and of
    /// the last file is masked, and files do not overlap.
    pub fn key_bounds(&self) -> Option<(&Key, &Key)> {
        let one_file_each = self.ranges.iter().all(|range| range.files.len() <= 1);
        let (first, last) = (self.files().next()?, self.files().next_back()?);
        (one_file_each && first.mask.is_none() && last.mask.is_none()).then_some((&first.first, &last.last))
    }

    /// This manifest with the range partitions from place `from` up to place `to` replaced. The
    /// first of `ranges` takes the start of the first replaced one. `None` if they are not places
    /// of this manifest or `ranges` is empty.
    pub fn with_ranges_replaced(&self, from: usize, to: usize, ranges: &[RangePartition]) -> Option<Self> {
        let start = self.ranges.get(from..to)?.first()?.start.clone();
        let mut replaced = self.ranges.as_ref().clone();
        let mut ranges = ranges.to_vec();
        ranges.first_mut()?.start = start;
        replaced.splice(from..to, ranges);
        let replaced = Self { ranges: Arc::new(replaced) };
        replaced.is_sound().then_some(replaced)
    }

    /// This manifest with another mask on one file. `None` if there is no such file.
    pub fn with_mask(&self, file_id: u64, mask: Option<Arc<roaring::RoaringBitmap>>) -> Option<Self> {
        let mut changed = self.clone();
        let slot = Arc::make_mut(&mut changed.ranges)
            .iter_mut()
            .flat_map(|range| &mut range.files)
            .find(|file| file.id == file_id)?;
        *slot = Arc::new(RunFile { mask, ..RunFile::clone(slot) });
        Some(changed)
    }
}

impl Manifest {
    /// Whether starts ascend from the unbounded one and files lie inside their range partition.
    pub fn is_sound(&self) -> bool {
        let files_inside =
            |(place, range): (usize, &RangePartition)| range.files.iter().all(|file| self.holds(place, file));
        self.starts_ascend() && self.ranges.iter().enumerate().all(files_inside)
    }

    /// Whether the range partitions ascend from the unbounded one.
    pub fn starts_ascend(&self) -> bool {
        self.ranges.first().is_some_and(|first| first.start == RangeStart::Unbounded)
            && self.ranges.windows(2).all(|pair| pair[0].start.position() < pair[1].start.position())
    }

    /// Whether the keys of a file lie inside the range partition at this place.
    pub fn holds(&self, place: usize, file: &RunFile) -> bool {
        let next = self.ranges.get(place + 1).map(|next| &next.start);
        file.first <= file.last
            && self.ranges.get(place).is_some_and(|range| range.start.admits(file.first.as_ref()))
            && next.is_none_or(|next| !next.admits(file.last.as_ref()))
    }
}
