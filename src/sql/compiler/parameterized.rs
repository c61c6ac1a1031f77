//! What is known of parameterized statements, by their texts.

use std::sync::Arc;

use quick_cache::sync::Cache;

use super::prepared::Prepared;
use crate::planner::PlanningSettings;

/// Texts that are remembered as no statements by key.
const NOT_BY_KEY_MAX: usize = 4096;
/// Writes by key that are kept prepared, some KiB each.
const WRITES_MAX: usize = 1024;

/// Statements whose literals were replaced by parameters, by their texts. Reads by key are kept in
/// the plan cache.
#[derive(Debug)]
pub(crate) struct ParameterizedStatements {
    /// Those that are no statements by key.
    pub not_by_key: Cache<Box<str>, ()>,
    /// Writes by key.
    pub writes: Cache<(Box<str>, PlanningSettings), Arc<Prepared>>,
}

impl ParameterizedStatements {
    pub(crate) fn new() -> Self {
        Self { not_by_key: Cache::new(NOT_BY_KEY_MAX), writes: Cache::new(WRITES_MAX) }
    }
}
