//! What statements have read, in sums.

use std::collections::HashSet;
use std::ops::AddAssign;
use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;

use super::scan_counts::ScanCounts;
use super::scan_exec::EntityScanExec;
use crate::access::AccessPath;

/// How often tables were read by each access path, and how much that was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ReadTotals {
    pub point_queries: u64,
    pub range_queries: u64,
    pub partition_scans: u64,
    pub table_scans: u64,
    /// That came out of the reads: filters in them leave out others.
    pub entities: u64,
    /// Of files.
    pub bytes: u64,
}

impl ReadTotals {
    /// A read by key, in which so many entities were found.
    pub(crate) fn by_key(path: AccessPath, entities: u64) -> Self {
        let mut totals = Self { entities, ..Self::default() };
        totals.count(path);
        totals
    }

    /// What scans have read, once their plan has run.
    pub(crate) fn of_scans(scans: &[Arc<dyn ExecutionPlan>]) -> Self {
        let mut totals = Self::default();
        for scan in scans.iter().filter_map(|scan| scan.downcast_ref::<EntityScanExec>()) {
            let read = ScanCounts::of(scan);
            totals.count(scan.scan().access.path);
            totals.entities += read.rows;
            totals.bytes += read.bytes;
        }
        totals
    }

    fn count(&mut self, path: AccessPath) {
        match path {
            AccessPath::Point => self.point_queries += 1,
            AccessPath::Range => self.range_queries += 1,
            AccessPath::Partition => self.partition_scans += 1,
            AccessPath::Table => self.table_scans += 1,
        }
    }
}

impl AddAssign for ReadTotals {
    fn add_assign(&mut self, other: Self) {
        self.point_queries += other.point_queries;
        self.range_queries += other.range_queries;
        self.partition_scans += other.partition_scans;
        self.table_scans += other.table_scans;
        self.entities += other.entities;
        self.bytes += other.bytes;
    }
}

/// The scans of a plan, each once: its nodes may have inputs in common.
pub(crate) fn scans_of(plan: &Arc<dyn ExecutionPlan>) -> Vec<Arc<dyn ExecutionPlan>> {
    let (mut scans, mut seen) = (Vec::new(), HashSet::new());
    let mut nodes = vec![plan];
    while let Some(node) = nodes.pop() {
        if !seen.insert(Arc::as_ptr(node).addr()) {
            continue;
        }
        match node.is::<EntityScanExec>() {
            true => scans.push(Arc::clone(node)),
            false => nodes.extend(node.children()),
        }
    }
    scans
}
