//! How hard writes press: what a delta has gathered, in parts of a fold.

use std::sync::Arc;

use super::plan::Compaction;
use crate::delta::TableDelta;

/// A table with this much in its delta is folded.
const FOLD_VERSIONS: usize = 128 * 1024;
const FOLD_BYTES: u64 = 64 << 20;

/// This part of a fold is much for the time that one takes: few seconds bring the next one.
const PRESSING_PART: usize = 16;
/// With this part, the next one is near.
const HARD_PRESSING_PART: usize = 4;

/// Whether there is enough to fold.
pub(super) fn is_due(delta: &Arc<TableDelta>) -> bool {
    !delta.sealed_generations().is_empty() && (delta.len() >= FOLD_VERSIONS || delta.memory_bytes() >= FOLD_BYTES)
}

/// What a compaction should do: it depends on how much has come while a fold was at work, which
/// takes some tenths of a second.
pub(super) fn compaction_beside(delta: &Arc<TableDelta>) -> Compaction {
    let has = |part: usize| delta.len() >= FOLD_VERSIONS / part || delta.memory_bytes() >= FOLD_BYTES / part as u64;
    if has(HARD_PRESSING_PART) {
        Compaction::HardPressed
    } else if has(PRESSING_PART) {
        Compaction::Pressed
    } else {
        Compaction::Thorough
    }
}
