//! The entity that a batch is being given.

use super::names::PropertyId;

/// The entity being appended. It lives in [`Rows`](super::Rows) so that its memory is reused.
#[derive(Debug, Default, Clone)]
pub(super) struct Unfinished {
    /// Number and place of each property in the arena, in the order in which they were set.
    pub(super) properties: Vec<(PropertyId, usize)>,
    /// True while the numbers only grow, which means nothing needs sorting and nothing occurs
    /// twice.
    pub(super) ascending: bool,
    /// Where the entity begins in the arena.
    pub(super) from: usize,
    /// Scratch space for bringing properties into order.
    pub(super) reordered: Vec<u8>,
}
