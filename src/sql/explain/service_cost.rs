//! What a read costs against the Table service: the requests that a client sends, and the entities
//! that the service reads for them.

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

/// A question as the service may be asked it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ServiceQuery {
    pub point_keys: Option<u64>,
    /// Ranges of keys.
    pub ranges: u64,
    pub range_partitions: u64,
    /// Between the keys, at most.
    pub rows_max: u64,
    pub has_residual: bool,
    pub order: Option<Direction>,
    pub limit: Option<u64>,
}

impl ServiceQuery {
    /// A point is a request. Each range of keys is a query, whose pages end at 1,000 entities and
    /// at a boundary of range partitions. The service filters while it reads and knows one order:
    /// where a filter is left, or the last ones are asked for, all within the keys is read.
    pub(super) fn cost(&self) -> ServiceCost {
        if let Some(keys) = self.point_keys {
            return ServiceCost { requests_max: keys, entities_max: keys.min(self.rows_max) };
        }
        if self.ranges == 0 {
            return ServiceCost::default();
        }
        let stops = !self.has_residual && self.order != Some(Direction::Backward);
        let entities_max = self.limit.filter(|_| stops).map_or(self.rows_max, |limit| limit.min(self.rows_max));
        let boundaries = self.range_partitions.saturating_sub(1);
        let requests_max = self.ranges + boundaries + entities_max.saturating_sub(1) / PAGE_ENTITIES;
        ServiceCost { requests_max, entities_max }
    }
}
