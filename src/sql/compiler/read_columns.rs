//! What a kept plan reads, and whether that is still there as it was: a table that is written
//! through the Table service has a new column with any entity.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, LogicalPlan};

use crate::provider::EntityTable;
use rowkey_base::Result;
use rowkey_model::columns::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use rowkey_postgres::error::from_datafusion;
use rowkey_storage::{Snapshot, Table};

/// Words that mean columns or objects which the statement does not name, in lower case.
const UNNAMED: [&str; 8] = ["natural", "regclass", "regnamespace", "regoper", "regproc", "regrole", "regtype", "u&"];

/// The tables that a plan reads, with the properties of all columns in it.
#[derive(Debug, Default)]
pub(crate) struct ReadColumns {
    /// Without their files.
    tables: Vec<Arc<Table>>,
    properties: HashSet<String>,
    /// The statement, in lower case: a new column may be meant by any of its words.
    text: String,
}

impl ReadColumns {
    /// Those of a plan to be kept, which is not optimized. None where other things than the columns
    /// of tables decide what it means.
    pub(crate) fn of(plan: &LogicalPlan, text: &str, snapshot: &Snapshot) -> Result<Option<Self>> {
        let text = text.to_lowercase();
        if snapshot.catalog.has_views() || UNNAMED.iter().any(|word| text.contains(word)) {
            return Ok(None);
        }
        let mut read = Self { text, ..Self::default() };
        plan.apply_with_subqueries(|node| {
            if let LogicalPlan::TableScan(scan) = node {
                if let Some(table) = source_as_provider(&scan.source)?.downcast_ref::<EntityTable>() {
                    read.tables.push(Arc::clone(table.table()));
                }
                return Ok(TreeNodeRecursion::Continue);
            }
            node.apply_expressions(|expr| {
                expr.apply(|expr| {
                    if let Expr::Column(column) | Expr::OuterReferenceColumn(_, column) = expr {
                        // Values of one type, or ticks, have a name behind the property's.
                        let property = column.name.split_once(':').map_or(&*column.name, |(property, _)| property);
                        read.properties.insert(property.to_owned());
                    }
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })
        .map_err(from_datafusion)?;
        Ok(Some(read))
    }

    /// Whether the plan means the same over a snapshot of another catalog.
    pub(crate) fn are_in(&self, snapshot: &Snapshot) -> bool {
        !snapshot.catalog.has_views() && self.tables.iter().all(|before| self.is_in(before, snapshot))
    }

    fn is_in(&self, before: &Table, snapshot: &Snapshot) -> bool {
        let Some(now) = snapshot.table(before.id) else { return false };
        if now.name != before.name || now.account != before.account || now.has_other() || before.has_other() {
            return false;
        }
        if now.columns == before.columns {
            return true;
        }
        let Some((kept, added)) = now.columns.split_at_checked(before.columns.len()) else { return false };
        let known = before.columns.iter().map(|column| &*column.name);
        // With all of its columns, it may have been written with a star.
        let keys = [PARTITION_KEY, ROW_KEY, TIMESTAMP].into_iter();
        let reads_all = keys.chain(known.clone()).all(|name| self.properties.contains(name));
        kept.iter().zip(&before.columns).all(|(now, before)| now.name == before.name)
            && (added.is_empty() || !reads_all)
            && added.iter().all(|column| !self.text.contains(&column.name.to_lowercase()))
            && now.keeps_columns_of(before, known.filter(|name| self.properties.contains(*name)))
    }
}
