//! The tables of recursive queries that their recursive terms read.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{LogicalPlan, TableScan};

/// The table of a recursive query that its recursive term reads: with the domain's columns.
pub(super) struct WorkTable {
    pub name: String,
    pub schema: Arc<Schema>,
}

pub(super) fn is_scan_of(scan: &TableScan, name: &str) -> bool {
    scan.table_name.schema().is_none() && scan.table_name.table() == name
}

/// The scan of the table of a recursive query in a plan, not in subqueries of expressions.
pub(super) fn read_by(plan: &LogicalPlan, name: &str) -> Result<Option<TableScan>> {
    let mut found = None;
    plan.apply(|node| {
        Ok(match node {
            LogicalPlan::TableScan(scan) if is_scan_of(scan, name) => {
                found = Some(scan.clone());
                TreeNodeRecursion::Stop
            }
            _ => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(found)
}
