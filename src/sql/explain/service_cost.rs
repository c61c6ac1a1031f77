//! What the same read costs against the Table service: the requests that a client sends, and the
//! entities that the service reads for them.

use super::read::TableRead;
use crate::provider::Direction;

#[cfg(test)]
mod tests;

/// Entities that the service returns in one page ("Query Timeout and Pagination").
const PAGE_ENTITIES: u64 = 1_000;

/// Upper bounds, as those of the read are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ServiceCost {
    pub requests_max: u64,
    pub entities_max: u64,
}

impl ServiceCost {
    /// A point is a request. Each range of keys is a query, whose pages end at 1,000 entities and at
    /// a boundary of range partitions. The service filters while it reads, and knows one order:
    /// entities of the bounds are read until a filter has passed enough, or all of them for the last.
    ///
    /// `ranges`: of keys; `rows_in_bounds`: between them, at most.
    pub(super) fn of(read: &TableRead, ranges: usize, rows_in_bounds: u64, order: Option<Direction>) -> Self {
        if let Some(keys) = read.point_keys {
            let keys = keys as u64;
            return Self { requests_max: keys, entities_max: keys.min(rows_in_bounds) };
        }
        if ranges == 0 {
            return Self::default();
        }
        let stops = read.residual.is_empty() && order != Some(Direction::Backward);
        let entities_max = match read.limit {
            Some(limit) if stops => rows_in_bounds.min(limit as u64),
            _ => rows_in_bounds,
        };
        let ranges = ranges as u64;
        let boundaries = read.range_partitions.part.saturating_sub(1);
        // The last page of a range may be full to the last entity.
        let requests_max = ranges + boundaries + entities_max.saturating_sub(1) / PAGE_ENTITIES;
        Self { requests_max, entities_max }
    }
}
