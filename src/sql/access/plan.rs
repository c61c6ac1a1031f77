//! Claim, key set and residual of a conjunction of filters, decided together.

use datafusion::logical_expr::Expr;

use super::key_region::KeyRegion;
use super::operand::{PARTITION_KEY, ROW_KEY};
use super::path::AccessPath;
use super::predicate;
use super::verdict::Superset;
#[cfg(test)]
use rowkey_model::KeyRef;
use rowkey_model::KeySet;

/// Most ranges of a planned key set; a larger one is widened by joining neighbours.
pub(super) const RANGES_MAX: usize = 10_000;

/// How to read a table for a conjunction of filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessPlan {
    /// Every key that can pass the filters, and possibly others.
    pub keys: KeySet,
    pub path: AccessPath,
    /// Per filter, whether it reads nothing but the key columns and [`AccessPlan::admits`] decides
    /// it exactly. Such a filter may be claimed, provided that the scan evaluates it wherever
    /// `keys_exact` does not spare it that.
    pub exact: Vec<bool>,
    /// Whether every key in `keys` passes every exact filter: what lies inside needs no key
    /// predicate.
    pub keys_exact: bool,
    /// The positions of the filters that are not exact.
    pub residual: Vec<usize>,
    region: KeyRegion,
    /// Whether `keys` is the region and not more.
    ranges_are_region: bool,
    /// The key columns that the residual filters read (PartitionKey, RowKey).
    residual_reads: (bool, bool),
}

/// Plans the read of a table by filters that all have to be TRUE.
///
/// Key columns are columns named exactly `PartitionKey` and `RowKey`, under any qualifier.
pub fn plan_access(filters: &[Expr]) -> AccessPlan {
    let mut exact = Vec::with_capacity(filters.len());
    let (mut claimed, mut others) = (Vec::new(), Vec::new());
    for filter in filters {
        let verdict = predicate::verdict(filter);
        let claim = verdict.truth.exact && verdict.keys_only;
        exact.push(claim);
        if claim { &mut claimed } else { &mut others }.push(verdict.truth);
    }
    let residual: Vec<usize> = (0..).zip(&exact).filter(|(_, exact)| !**exact).map(|(at, _)| at).collect();

    let claimed = Superset::intersection(claimed);
    let region = claimed.and(&Superset::intersection(others)).region;
    let (keys, as_ranges) = bounded_key_set(&region);
    // The region is within the claimed one unless an intersection was too large to carry out
    // exactly.
    let keys_exact = claimed.exact && {
        let (claimed_keys, claimed_as_ranges) = bounded_key_set(&claimed.region);
        claimed_as_ranges && keys.intersect(&claimed_keys) == keys
            || as_ranges && region.intersect(&claimed.region).is_exactly(&region)
    };
    let residual_reads = residual.iter().filter_map(|at| filters.get(*at)).map(reads_keys);
    let residual_reads = residual_reads.fold((false, false), |all, one| (all.0 || one.0, all.1 || one.1));
    AccessPlan {
        path: AccessPath::of(&keys),
        keys,
        exact,
        keys_exact,
        residual,
        region,
        ranges_are_region: as_ranges,
        residual_reads,
    }
}

/// A region as ranges, and whether they hold nothing else; too many of them are widened.
pub(crate) fn bounded_key_set(region: &KeyRegion) -> (KeySet, bool) {
    let (keys, exact) = region.to_key_set();
    if keys.ranges().len() <= RANGES_MAX { (keys, exact) } else { (keys.coarsened(RANGES_MAX), false) }
}

fn reads_keys(filter: &Expr) -> (bool, bool) {
    let columns = filter.column_refs();
    let reads = |name| columns.iter().any(|column| column.name == name);
    (reads(PARTITION_KEY), reads(ROW_KEY))
}

impl AccessPlan {
    /// Whether an entity with this key can pass the filters. At least as strict as membership in
    /// `keys`: RowKeys that are bounded in a span of partitions count here.
    #[cfg(test)]
    pub fn admits(&self, key: KeyRef<'_>) -> bool {
        self.region.contains(key)
    }

    /// The keys that can pass the filters, in two dimensions.
    pub fn region(&self) -> &KeyRegion {
        &self.region
    }

    pub(super) fn ranges_are_region(&self) -> bool {
        self.ranges_are_region
    }

    pub(super) fn residual_reads_partition_key(&self) -> bool {
        self.residual_reads.0
    }

    pub(super) fn residual_reads_row_key(&self) -> bool {
        self.residual_reads.1
    }
}

#[cfg(test)]
mod tests;
