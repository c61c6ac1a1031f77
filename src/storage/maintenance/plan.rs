//! What a compaction would do next.
//!
//! Within a range partition files are tiers by size: four or more, of which the largest is at most
//! twice as large as the others together, become one. So those that stay grow threefold from one to
//! the next, and a range partition has few of them. A file of which more than a third is masked is
//! written anew, with those that are not larger. What has outgrown a file is cut into new range
//! partitions; small neighbours become one. Sizes are those of live entities as they are encoded,
//! which is what files are cut by.
//!
//! While writes come about as fast as they are folded, every rewrite is taken from them, and no
//! fold can begin before one has ended. Then range partitions are left alone until they have many
//! files, so that a row is written anew less often, and then some of the smallest become one. While
//! writes press hard, a small table is cut into several range partitions early, so that later
//! rewrites are short.

use std::ops::Range;
use std::sync::Arc;

use crate::manifest::{Manifest, RangePartition, RangeStart};
use crate::run::RunFile;

/// Files that are merged at least.
const TIER_FILES_MIN: usize = 4;
/// While writes press, a range partition is left alone if it has fewer files; one that has outgrown
/// a file, if it has fewer than the second number.
const PRESSED_FILES_MIN: usize = 32;
const PRESSED_OUTGROWN_FILES_MIN: usize = 12;
/// While writes press, so much is merged at a time, in parts of a full file, unless that is fewer
/// files than are merged at least.
const PRESSED_PART: u64 = 8;
/// While writes press hard, a table has so many range partitions, unless there is little in it or
/// much.
const PRESSED_RANGES_MIN: usize = 8;
/// What is little, in parts of a full file, and in entities.
const LITTLE_PART: u64 = 64;
const LITTLE_ROWS: u64 = 4096;
/// What is much, in parts of a full file: then there is no more to be cut than one rewrite may
/// take.
const MUCH_PART: u64 = 4;
/// Files below this part of a full one count as equally small.
const SMALL_PART: u64 = 512;

/// What compactions are there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compaction {
    /// Whatever is worth it.
    Thorough,
    /// What cannot wait until writes press no more.
    Pressed,
    /// The same, and what makes later steps shorter: writes press so hard that it is soon made up
    /// for.
    HardPressed,
}

/// Files that become others.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rewrite {
    /// Places of the range partitions that are replaced.
    pub ranges: Range<usize>,
    /// By range partition, the files that are written anew; others stay, and then it is one range
    /// partition.
    pub files: Vec<Vec<Arc<RunFile>>>,
    /// What is written is cut into range partitions of so many encoded bytes, or becomes one.
    pub cut_bytes: Option<u64>,
}

impl Rewrite {
    /// All files of some range partitions.
    pub(super) fn whole(manifest: &Manifest, ranges: Range<usize>, cut_bytes: Option<u64>) -> Self {
        let files = manifest.ranges()[ranges.clone()].iter().map(|range| range.files.clone()).collect();
        Self { ranges, files, cut_bytes }
    }
}

/// The next thing worth doing, if there is one; `file_bytes` is the size of a full file.
pub(super) fn next_rewrite(manifest: &Manifest, file_bytes: u64, compaction: Compaction) -> Option<Rewrite> {
    let ranges = manifest.ranges();
    let waits = |range: &RangePartition| match compaction {
        Compaction::Thorough => false,
        _ if has_outgrown(range, file_bytes) => range.files.len() < PRESSED_OUTGROWN_FILES_MIN,
        _ => range.files.len() < PRESSED_FILES_MIN,
    };
    let within = ranges.iter().enumerate().filter(|(_, range)| !waits(range)).find_map(|(place, range)| {
        let (mut files, cut) = within(range, file_bytes)?;
        if compaction != Compaction::Thorough && !cut {
            keep_smallest(&mut files, file_bytes / PRESSED_PART);
        }
        Some(Rewrite { ranges: place..place + 1, files: vec![files], cut_bytes: cut.then_some(file_bytes) })
    });
    within.or_else(|| match compaction {
        Compaction::Thorough => neighbours(ranges, file_bytes).map(|ranges| Rewrite::whole(manifest, ranges, None)),
        Compaction::Pressed => None,
        Compaction::HardPressed => {
            let (place, cut_bytes) = early_cut(ranges, file_bytes)?;
            Some(Rewrite::whole(manifest, place..place + 1, Some(cut_bytes)))
        }
    })
}

/// The largest range partition of a table that has few of them, and the bytes of the pieces that it
/// should be cut into.
fn early_cut(ranges: &[RangePartition], file_bytes: u64) -> Option<(usize, u64)> {
    if ranges.len() >= PRESSED_RANGES_MIN {
        return None;
    }
    let (place, largest) = ranges.iter().enumerate().max_by_key(|(_, range)| live_bytes(range))?;
    let bytes = live_bytes(largest);
    let worth_it = file_bytes / LITTLE_PART..=file_bytes / MUCH_PART;
    let cut_bytes = bytes / PRESSED_RANGES_MIN as u64;
    (worth_it.contains(&bytes) && largest.live_rows() >= LITTLE_ROWS && cut_bytes > 0).then_some((place, cut_bytes))
}

/// Whether a range partition should be cut. A single file cut by this size is never twice as large,
/// unless by a single entity.
fn has_outgrown(range: &RangePartition, file_bytes: u64) -> bool {
    let total = live_bytes(range);
    match range.files.len() {
        0 => false,
        1 => total > file_bytes.saturating_mul(2) && range.live_rows() > 1,
        _ => total > file_bytes.saturating_add(file_bytes / 2),
    }
}

/// The files of a range partition that should be written anew, and whether they are cut.
fn within(range: &RangePartition, file_bytes: u64) -> Option<(Vec<Arc<RunFile>>, bool)> {
    if has_outgrown(range, file_bytes) {
        return Some((range.files.clone(), true));
    }
    let tier = tier(range, file_bytes);
    let chosen = |(place, file): (usize, &Arc<RunFile>)| {
        (tier.contains(&place) || file.masked_rows() * 3 > file.rows).then(|| file.live_encoded_bytes())
    };
    // What is not larger than the largest of them costs little more, and is one file less.
    let largest = range.files.iter().enumerate().filter_map(chosen).max()?;
    let chosen = |file: &&Arc<RunFile>| file.live_encoded_bytes() <= largest;
    Some((range.files.iter().filter(chosen).cloned().collect(), false))
}

/// Places of the files that are merged because they are of similar size: as many as possible, the
/// smallest first.
fn tier(range: &RangePartition, file_bytes: u64) -> Vec<usize> {
    let small = (file_bytes / SMALL_PART).max(1);
    let mut sizes: Vec<(u64, usize)> =
        range.files.iter().enumerate().map(|(place, file)| (file.live_encoded_bytes().max(small), place)).collect();
    sizes.sort_unstable();
    let (mut sum, mut count) = (0, 0);
    for (before, (bytes, _)) in sizes.iter().enumerate() {
        if before + 1 >= TIER_FILES_MIN && *bytes <= 2 * sum {
            count = before + 1;
        }
        sum += bytes;
    }
    sizes.into_iter().take(count).map(|(_, place)| place).collect()
}

/// Leaves the smallest files, of at most so many bytes or no more than are merged at least.
fn keep_smallest(files: &mut Vec<Arc<RunFile>>, bytes_max: u64) {
    files.sort_by_key(|file| file.live_encoded_bytes());
    let mut sum = 0;
    let fits = |file: &Arc<RunFile>| {
        sum += file.live_encoded_bytes();
        sum <= bytes_max
    };
    let count = files.iter().map(fits).take_while(|fits| *fits).count();
    files.truncate(count.max(TIER_FILES_MIN));
}

fn live_bytes(range: &RangePartition) -> u64 {
    range.files.iter().map(|file| file.live_encoded_bytes()).sum()
}

/// Neighbours that are small, also together. A partition that has several range partitions shares
/// none of them with others, unless all of it becomes one.
fn neighbours(ranges: &[RangePartition], file_bytes: u64) -> Option<Range<usize>> {
    let mut families: Vec<Range<usize>> = Vec::new();
    for (place, range) in ranges.iter().enumerate() {
        match families.last_mut() {
            Some(family) if matches!(range.start, RangeStart::Key(..)) => family.end = place + 1,
            _ => families.push(place..place + 1),
        }
    }
    let bytes = |places: &Range<usize>| ranges[places.clone()].iter().map(live_bytes).sum::<u64>();
    let family_bytes: Vec<u64> = families.iter().map(bytes).collect();
    if let Some(small) = small_run(&family_bytes, file_bytes) {
        return Some(families[small.start].start..families[small.end - 1].end);
    }
    families.iter().filter(|family| family.len() > 1).find_map(|family| {
        let range_bytes: Vec<u64> = ranges[family.clone()].iter().map(live_bytes).collect();
        if range_bytes.iter().sum::<u64>() <= file_bytes / 2 {
            return Some(family.clone());
        }
        small_run(&range_bytes, file_bytes).map(|small| family.start + small.start..family.start + small.end)
    })
}

/// The first run of several that are each smaller than an eighth of a file and together at most
/// half of one.
fn small_run(bytes: &[u64], file_bytes: u64) -> Option<Range<usize>> {
    let is_small = |bytes: u64| bytes < (file_bytes / 8).max(1);
    let mut run = 0..0;
    let mut sum = 0;
    for (place, &bytes) in bytes.iter().enumerate() {
        if is_small(bytes) && sum + bytes <= file_bytes / 2 {
            sum += bytes;
            run.end = place + 1;
            continue;
        }
        if run.len() > 1 {
            return Some(run);
        }
        // This one may begin the next run.
        (run, sum) = if is_small(bytes) { (place..place + 1, bytes) } else { (place + 1..place + 1, 0) };
    }
    (run.len() > 1).then_some(run)
}

#[cfg(test)]
mod tests;
