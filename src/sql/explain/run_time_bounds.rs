//! Bounds of scans that are known only while a plan runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNode;
use datafusion::physical_expr::expressions::DynamicFilterPhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;

use crate::access::{describe_keys, has_run_time_parts, run_time_keys};
use crate::provider::EntityScanExec;
use rowkey_base::Result;
use rowkey_postgres::deparse::deparse;
use rowkey_postgres::error::from_datafusion;
use rowkey_storage::run::{PARTITION_KEY, ROW_KEY};

/// Bounds that are known only while the plan runs.
pub(super) struct RunTimeBounds {
    columns: BTreeSet<String>,
    /// What finds them out.
    from: Vec<&'static str>,
    parts: Vec<Arc<dyn PhysicalExpr>>,
}

impl RunTimeBounds {
    /// What the operators above leave out, and subqueries that keys are compared with.
    pub(super) fn of(exec: &EntityScanExec, above: Option<&'static str>) -> Option<Self> {
        let mut bounds = Self { columns: BTreeSet::new(), from: Vec::new(), parts: Vec::new() };
        let filter = exec.config().ok()?.file_source().filter()?;
        for part in split_conjunction(&filter) {
            let names: Vec<String> = collect_columns(part).iter().map(|column| column.name().to_owned()).collect();
            let reads_keys = names.iter().any(|name| name == PARTITION_KEY || name == ROW_KEY);
            let from = match part.exists(|expr| Ok(expr.is::<DynamicFilterPhysicalExpr>())) {
                Ok(true) => above?,
                _ if has_run_time_parts(part) && reads_keys => "subqueries",
                _ => continue,
            };
            if !bounds.from.contains(&from) {
                bounds.from.push(from);
            }
            bounds.columns.extend(names);
            bounds.parts.push(Arc::clone(part));
        }
        (!bounds.columns.is_empty()).then_some(bounds)
    }

    pub(super) fn are_of_keys(&self) -> bool {
        self.columns.contains(PARTITION_KEY) || self.columns.contains(ROW_KEY)
    }

    /// In words; once the plan has run, with what they were.
    pub(super) fn shown(&self, exec: &EntityScanExec, analyzed: bool) -> Result<String> {
        let columns: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        let words = format!("on {}, from {}", columns.join(" and "), self.from.join(" and "));
        if !analyzed {
            return Ok(words);
        }
        let are_keys = self.columns.iter().all(|column| column == PARTITION_KEY || column == ROW_KEY);
        let filter = exec.config().ok().and_then(|config| config.file_source().filter());
        let keys =
            filter.filter(|_| are_keys).map(|filter| run_time_keys(&filter)).transpose().map_err(from_datafusion)?;
        let found = match keys.flatten() {
            Some(keys) => describe_keys(&keys),
            None => {
                let settled = |part: &Arc<dyn PhysicalExpr>| snapshot_physical_expr(Arc::clone(part));
                let settled: datafusion::common::Result<Vec<_>> = self.parts.iter().map(settled).collect();
                let settled = settled.map_err(from_datafusion)?;
                settled.iter().map(|part| deparse(part, &[])).collect::<Vec<_>>().join(" AND ")
            }
        };
        Ok(format!("{words}: {found}"))
    }
}
