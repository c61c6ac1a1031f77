//! What is known of statements that differ in their literals only.

use std::sync::Arc;

use quick_cache::sync::Cache;

use super::prepared::Prepared;
use crate::planner::PlanningSettings;

/// Forms of statements that are remembered as no reads or writes of few keys.
const OTHERS_MAX: usize = 4096;
/// Forms of writes that are kept with what was found out of them, some KiB each.
const WRITES_MAX: usize = 1024;

/// What is known of forms of statements, by their texts.
#[derive(Debug)]
pub(crate) struct Forms {
    /// Those that are no reads or writes of few keys.
    pub others: Cache<Box<str>, ()>,
    pub writes: Cache<(Box<str>, PlanningSettings), Arc<Prepared>>,
}

impl Forms {
    pub(crate) fn new() -> Self {
        Self { others: Cache::new(OTHERS_MAX), writes: Cache::new(WRITES_MAX) }
    }
}
