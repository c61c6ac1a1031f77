//! What a scan has counted while it ran.

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::{MetricValue, MetricsSet};

use super::scan_exec::{EntityScanExec, MASKED_ROWS, RECENT_ROWS};

/// What a scan has read: zero before its plan has run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ScanCounts {
    /// That came out of it.
    pub rows: u64,
    /// Of files.
    pub bytes: u64,
}

impl ScanCounts {
    pub(crate) fn of(scan: &EntityScanExec) -> Self {
        let (mut counts, mut masked) = (Self::default(), 0);
        for metric in scan.metrics().iter().flat_map(MetricsSet::iter) {
            match metric.value() {
                MetricValue::OutputRows(count) => counts.rows += count.value() as u64,
                MetricValue::Count { name, count } if name == RECENT_ROWS => counts.rows += count.value() as u64,
                MetricValue::Count { name, count } if name == MASKED_ROWS => masked += count.value() as u64,
                MetricValue::Count { name, count } if name == "bytes_scanned" => counts.bytes += count.value() as u64,
                _ => {}
            }
        }
        counts.rows = counts.rows.saturating_sub(masked);
        counts
    }
}
