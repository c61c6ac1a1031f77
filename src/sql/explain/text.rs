//! A plan as lines of text.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::display::DisplayableExecutionPlan;

use super::analyze::Ran;
use super::read::{Share, TableRead, address};
use crate::access::AccessPath;
use crate::provider::EntityScanExec;
use rowkey_postgres::ctes::WithExec;

type Reads = [(usize, TableRead)];

/// The operators from the top down, each scan with what it reads below it. Without `verbose`,
/// operators that only move rows are left out.
pub(super) fn lines(plan: &Arc<dyn ExecutionPlan>, reads: &Reads, ran: Option<&Ran>, verbose: bool) -> Vec<String> {
    let mut lines = Vec::new();
    add(plan, 0, reads, verbose, &mut lines);
    if let Some(ran) = ran {
        lines.push(format!("rows returned: {}", ran.rows));
    }
    lines
}

fn add(plan: &Arc<dyn ExecutionPlan>, depth: usize, reads: &Reads, verbose: bool, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    if let Some(scan) = plan.downcast_ref::<EntityScanExec>() {
        let read = reads.iter().find(|(place, _)| *place == address(scan));
        if let Some((_, read)) = read {
            lines.push(format!("{indent}{}", title(read)));
            lines.extend(details(read).into_iter().map(|line| format!("{indent}  {line}")));
        }
        return;
    }
    if let Some(with) = plan.downcast_ref::<WithExec>() {
        for (name, query) in with.queries() {
            lines.push(format!("{indent}CTE {name}"));
            add(query, depth + 1, reads, verbose, lines);
        }
        return add(with.main(), depth, reads, verbose, lines);
    }
    let moves_only =
        ["CoalescePartitionsExec", "CoalesceBatchesExec", "CooperativeExec", "ForgettingExec", "RepartitionExec"];
    let deeper = if !verbose && moves_only.contains(&plan.name()) {
        depth
    } else {
        let node = DisplayableExecutionPlan::new(plan.as_ref()).one_line().to_string();
        lines.push(format!("{indent}{}", node.trim_end()));
        depth + 1
    };
    for child in plan.children() {
        add(child, deeper, reads, verbose, lines);
    }
}

/// `Point query on Employees`.
pub(super) fn title(read: &TableRead) -> String {
    let kind = match read.path {
        AccessPath::Point => "Point query on",
        AccessPath::Range => "Range query on",
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

fn details(read: &TableRead) -> Vec<String> {
    let keys = read.point_keys.map(|keys| format!(" (keys={keys})")).unwrap_or_default();
    let mut lines = vec![format!("access path: {}{keys}", read.path), format!("key bounds: {}", read.keys)];
    let residual = if read.residual.is_empty() { "none".to_owned() } else { read.residual.join(" AND ") };
    lines.push(format!("residual filter: {residual}"));
    let recent = match read.recent_rows_max {
        0 => String::new(),
        rows => format!(", recent rows<={rows}"),
    };
    lines.push(format!(
        "range partitions {}, files {}, row groups {}, pages {}, rows<={}, bytes~{}{recent}",
        share(read.range_partitions),
        share(read.files),
        share(read.row_groups),
        share(read.pages),
        read.rows_max,
        bytes(read.bytes_max)
    ));
    if let Some(actual) = &read.actual {
        let counted = |name: &str, found: Option<Share>| {
            found.map_or(String::new(), |found| format!(", {name} {}", share(found)))
        };
        lines.push(format!(
            "actual: rows={}, bytes={}{}{}",
            actual.rows,
            bytes(actual.bytes),
            counted("row groups", actual.row_groups),
            counted("pages", actual.pages)
        ));
    }
    if let Some(hint) = &read.hint {
        lines.push(format!("hint: {hint}"));
    }
    lines
}

fn share(share: Share) -> String {
    format!("{}/{}", share.part, share.whole)
}

fn bytes(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
