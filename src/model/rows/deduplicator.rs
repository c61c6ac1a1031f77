//! One row of each key, out of rows in key order.
//!
//! Of rows with one key the one with the newest Timestamp stays, without such (or among equal ones)
//! the one that came last ([`RowRef::replaces`]). The others are counted by what became of them: a
//! row that was there again, one that a later Timestamp supersedes, and one that is lost although
//! nothing says which is newer, a [`Conflict`]. That is decided by all rows of a key together, so
//! that it does not depend on how the input was cut and sorted.

use super::arena::Rows;
use super::encoded_row::EncodedRow;
use super::row_ref::RowRef;

/// Rows that were dropped without loss.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Duplicates {
    /// The same version was there another time.
    pub equal: u64,
    /// Another one of the same key has a later Timestamp.
    pub superseded: u64,
}

impl std::ops::AddAssign for Duplicates {
    fn add_assign(&mut self, more: Self) {
        self.equal += more.equal;
        self.superseded += more.superseded;
    }
}

/// A row that was dropped for a different one of its key, although their Timestamps do not say
/// which is newer.
#[derive(Debug, Clone)]
pub struct Conflict {
    pub lost: EncodedRow,
    /// Where the row came from that stays.
    pub kept_origin: Option<u64>,
}

/// Different rows of one key that are held until all of it were seen. Of more the first ones are
/// lost before, even if one that is still to come would have superseded them.
const GROUP_ROWS_MAX: usize = 16;

/// Drops all rows of a key but one; see the module.
#[derive(Debug, Default)]
pub struct Deduplicator {
    /// The rows of the last key so far: no two are the same version, and of those with a Timestamp
    /// all have the same.
    group: Vec<EncodedRow>,
    duplicates: Duplicates,
    conflicts: Vec<Conflict>,
}

impl Deduplicator {
    /// A deduplicator that has seen no rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next rows, which are in ascending order and none before those of the last call.
    /// Returns those whose keys are through, strictly ascending within and across calls.
    pub fn push(&mut self, mut rows: Rows) -> Vec<Rows> {
        debug_assert!(rows.is_sorted());
        let mut done = Vec::new();
        let Some(first) = rows.first() else { return done };
        let begins_key = self.group.first().is_none_or(|held| held.as_ref().key_bytes() != first.key_bytes());
        if begins_key && rows.is_strictly_sorted() {
            // Nothing is copied but the last row, whose key may go on.
            done.extend(self.finish());
            self.group.extend(rows.last().map(EncodedRow::from));
            rows.pop();
        } else {
            rows = self.deduplicated(&rows);
        }
        if !rows.is_empty() {
            done.push(rows);
        }
        done
    }

    /// The row of the last key.
    pub fn finish(&mut self) -> Option<Rows> {
        let mut last = Rows::new();
        self.finish_key(&mut last);
        (!last.is_empty()).then_some(last)
    }

    /// The rows dropped so far, but for conflicts.
    pub fn duplicates(&self) -> Duplicates {
        self.duplicates
    }

    /// The conflicts since the last call; they are fewer than the rows pushed since and those of a
    /// group.
    pub fn take_conflicts(&mut self) -> Vec<Conflict> {
        std::mem::take(&mut self.conflicts)
    }

    fn deduplicated(&mut self, rows: &Rows) -> Rows {
        let mut distinct = Rows::with_capacity(rows.len(), rows.bytes());
        let mut rows = rows.iter().peekable();
        while let Some(row) = rows.next() {
            if self.group.first().is_some_and(|held| held.as_ref().key_bytes() != row.key_bytes()) {
                self.finish_key(&mut distinct);
            }
            let is_alone = rows.peek().is_some_and(|next| next.key_bytes() != row.key_bytes());
            if self.group.is_empty() && is_alone {
                distinct.push_ref(row);
            } else {
                self.add(row);
            }
        }
        distinct
    }

    /// Adds a row to the group.
    fn add(&mut self, row: RowRef<'_>) {
        if let Some(at) = self.group.iter().position(|held| held.as_ref().same_version(row)) {
            // The later one of them is kept, as it may be the last of all.
            self.group.remove(at);
            self.duplicates.equal += 1;
        } else if let Some(at) = row.timestamp() {
            let held_at = self.group.iter().filter_map(|held| held.as_ref().timestamp()).max();
            if held_at.is_some_and(|held_at| held_at > at) {
                self.duplicates.superseded += 1;
                return;
            }
            let before = self.group.len();
            self.group.retain(|held| held.as_ref().timestamp().is_none_or(|held_at| held_at == at));
            self.duplicates.superseded += (before - self.group.len()) as u64;
        }
        self.group.push(EncodedRow::from(row));
        if self.group.len() > GROUP_ROWS_MAX {
            let kept = self.kept();
            self.lose(usize::from(kept == 0), kept);
        }
    }

    /// Which of the group stays.
    fn kept(&self) -> usize {
        let later = |kept: usize, at: usize| match self.group[at].as_ref().replaces(self.group[kept].as_ref()) {
            true => at,
            false => kept,
        };
        (0..self.group.len()).reduce(later).unwrap_or_default()
    }

    fn lose(&mut self, lost: usize, kept: usize) {
        let kept_origin = self.group[kept].as_ref().origin();
        let lost = self.group.remove(lost);
        self.conflicts.push(Conflict { lost, kept_origin });
    }

    fn finish_key(&mut self, to: &mut Rows) {
        if self.group.is_empty() {
            return;
        }
        let kept = self.kept();
        to.push_ref(self.group[kept].as_ref());
        let kept_origin = self.group[kept].as_ref().origin();
        for (at, lost) in self.group.drain(..).enumerate() {
            if at != kept {
                self.conflicts.push(Conflict { lost, kept_origin });
            }
        }
    }
}

#[cfg(test)]
mod tests;
