//! Cached row locations: where a key lies in run files.

/// The cached locations of a key's rows in the files of a table.
///
/// Files of a table are numbered in the order in which they are committed, one job at a time. So
/// once every file of a manifest was searched, the cache is complete for all numbers up to its
/// last: files that come later have greater ones.
#[derive(Debug, Clone, Default)]
pub struct Locations {
    /// The cache is complete for files with smaller numbers than this: the row is among `searched`,
    /// or there is none.
    known_below: u64,
    /// Files that were searched, and the row found there.
    searched: Vec<(u64, Option<u32>)>,
}

impl Locations {
    /// Nothing is cached yet.
    pub fn unknown() -> Self {
        Self::default()
    }

    /// What a search of every file of a manifest has found.
    pub fn found(known_below: u64, row: Option<(u64, u32)>) -> Self {
        Self { known_below, searched: row.map(|(file, row)| (file, Some(row))).into_iter().collect() }
    }

    /// The row in a file; the outer `None` if that is not cached.
    pub fn row_in(&self, file: u64) -> Option<Option<u32>> {
        let searched = self.searched.iter().find(|(known, _)| *known == file).map(|&(_, row)| row);
        searched.or_else(|| (file < self.known_below).then_some(None))
    }

    /// The cache is complete, for good, for files with smaller numbers than this.
    pub fn known_below(&self) -> u64 {
        self.known_below
    }

    /// Rows that were found, each with the number of its file.
    pub fn rows(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.searched.iter().filter_map(|&(file, row)| Some((file, row?)))
    }

    /// Adds what the search of one file has found.
    pub fn add(&mut self, file: u64, row: Option<u32>) {
        if self.row_in(file).is_none() {
            self.searched.push((file, row));
        }
    }
}
