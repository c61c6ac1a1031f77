//! What a scan of a table reads.

use super::pages::PagesOfFiles;
use super::service_cost::ServiceCost;
use crate::access::AccessPath;

/// How many of how many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub part: u64,
    pub whole: u64,
}

/// One table read: the access path, why, and at most how much. Before the plan runs these are upper
/// bounds: filters on other properties, and filters that come from joins at run time, leave out
/// more.
#[derive(Debug, Clone, Default)]
pub(super) struct TableRead {
    pub table: String,
    pub path: AccessPath,
    /// A scan between bounds of PartitionKey.
    pub is_partition_range: bool,
    pub point_keys: Option<usize>,
    pub keys: String,
    pub residual: Vec<String>,
    pub order: Option<String>,
    pub limit: Option<usize>,
    pub range_partitions: Share,
    pub files: Share,
    pub row_groups: Share,
    pub pages: Share,
    /// The same one by one.
    pub pages_of_files: PagesOfFiles,
    /// Of `rows_max`, those that were written recently and are not in files yet.
    pub recent_rows_max: u64,
    pub rows_max: u64,
    pub bytes_max: u64,
    pub hint: Option<String>,
    pub service_cost: ServiceCost,
    /// Bounds that operators above find out while they run: on which columns, from where, and once
    /// the plan has run, which they were.
    pub run_time_bounds: Option<String>,
    pub actual: Option<ActualRead>,
}

/// What a scan really read, from its counters.
#[derive(Debug, Clone, Default)]
pub(super) struct ActualRead {
    pub rows: u64,
    pub bytes: u64,
    pub row_groups: Share,
    pub pages: Share,
    pub pages_of_files: PagesOfFiles,
}

/// What the line of a scan begins with: `Point query on Employees`.
pub(super) fn title(read: &TableRead) -> String {
    let kind = match read.path {
        AccessPath::Point if read.point_keys == Some(0) => "Empty scan of",
        AccessPath::Point => "Point query on",
        AccessPath::Range => "Range query on",
        AccessPath::Partition | AccessPath::Table if read.is_partition_range => "Partition range scan of",
        AccessPath::Partition => "Partition scan of",
        AccessPath::Table => "Table scan of",
    };
    let mut title = format!("{kind} {}", read.table);
    if let Some(order) = &read.order {
        title.push_str(&format!(" in {order}"));
    }
    if let Some(limit) = read.limit {
        title.push_str(&format!(", at most {limit} rows"));
    }
    title
}
