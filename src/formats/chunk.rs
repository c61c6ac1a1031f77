//! What decoding gives to its caller, piece by piece.

use super::error::Reject;
use rowkey_model::rows::Rows;

/// Most rejects that a chunk lists; beyond it they are only counted.
pub const REJECTS_LISTED_MAX: usize = 1000;

/// A stretch of the input, decoded. The rows are sorted by key (ties in the order of the input).
#[derive(Debug, Default)]
pub struct Chunk {
    pub rows: Rows,
    /// The first [`REJECTS_LISTED_MAX`] entities not taken, in the order of the input.
    pub rejects: Vec<Reject>,
    /// All entities not taken.
    pub rejected: u64,
    /// All of them as lines of JSON, if they are to be kept.
    pub reject_lines: Vec<u8>,
}

impl Chunk {
    /// Counts a reject; `line` writes it where rejects are kept.
    pub(super) fn reject(
        &mut self,
        keep: bool,
        reject: impl FnOnce() -> Reject,
        line: impl FnOnce(&Reject, &mut Vec<u8>),
    ) {
        self.rejected += 1;
        let listed = self.rejects.len() < REJECTS_LISTED_MAX;
        if !listed && !keep {
            return;
        }
        let reject = reject();
        if keep {
            line(&reject, &mut self.reject_lines);
        }
        if listed {
            self.rejects.push(reject);
        }
    }
}
