//! Where a key lies in run files, as far as somebody has looked.

/// The rows of a key in the files of a table.
///
/// Files of a table are numbered in the order in which they are committed, one job at a time. So
/// who has looked into every file of a manifest knows of all files below the number after its last:
/// files that come later have greater ones.
#[derive(Debug, Clone, Default)]
pub struct Locations {
    /// All is known about files with smaller numbers than this: the row is among `looked`, or there
    /// is none.
    known_below: u64,
    /// Files that were looked into, and the row found there.
    looked: Vec<(u64, Option<u32>)>,
}

impl Locations {
    /// Nobody has looked yet.
    pub fn unknown() -> Self {
        Self::default()
    }

    /// What a look into every file of a manifest has found.
    pub fn found(known_below: u64, row: Option<(u64, u32)>) -> Self {
        Self { known_below, looked: row.map(|(file, row)| (file, Some(row))).into_iter().collect() }
    }

    /// The row in a file; the outer `None` if nobody has looked.
    pub fn row_in(&self, file: u64) -> Option<Option<u32>> {
        let looked = self.looked.iter().find(|(known, _)| *known == file).map(|&(_, row)| row);
        looked.or_else(|| (file < self.known_below).then_some(None))
    }

    /// All is known about files with smaller numbers than this, for good.
    pub fn known_below(&self) -> u64 {
        self.known_below
    }

    /// Rows that were found, each with the number of its file.
    pub fn rows(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.looked.iter().filter_map(|&(file, row)| Some((file, row?)))
    }

    /// Adds what a look into one file has found.
    pub fn add(&mut self, file: u64, row: Option<u32>) {
        if self.row_in(file).is_none() {
            self.looked.push((file, row));
        }
    }
}
