//! What would make a read cheaper: the patterns of the service's design guide, by name.

use std::collections::BTreeSet;

use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

use super::table_read::TableRead;
use crate::access::{AccessPath, AccessPlan};
use rowkey_storage::run::{PARTITION_KEY, ROW_KEY};

/// A table scan whose hint is worth a line: one over at least this many entities.
const HINT_ROWS_MIN: u64 = 10_000;
/// The same of partitions: what the Table service answers in one page.
const PARTITION_HINT_ROWS_MIN: u64 = 1_000;

/// A hint for a read of a table of so many entities, if one is worth a line. `residual` are the
/// filters that the keys do not decide.
pub(super) fn hint(read: &TableRead, access: &AccessPlan, table_rows: u64, residual: &[&Expr]) -> Option<String> {
    // It stops at its limit.
    if read.limit.is_some() && residual.is_empty() {
        return None;
    }
    match access.path {
        // A page of a keyset: it stops once it is full.
        AccessPath::Table if read.limit.is_some() && read.order.is_some() && read.is_partition_range => None,
        AccessPath::Table if table_rows >= HINT_ROWS_MIN => access.hint(),
        AccessPath::Partition | AccessPath::Range if read.rows_max >= PARTITION_HINT_ROWS_MIN => {
            within_partitions(read, access, residual)
        }
        _ => None,
    }
}

/// How to read less of partitions than all between the bounds.
fn within_partitions(read: &TableRead, access: &AccessPlan, residual: &[&Expr]) -> Option<String> {
    let mut tested = BTreeSet::new();
    for filter in residual {
        tested.extend(filter.column_refs().into_iter().map(|column| column.name.clone()));
    }
    if tested.is_empty() {
        return None;
    }
    let places = match (access.path, access.keys.ranges().len(), read.is_partition_range) {
        (AccessPath::Range, ..) => "between the bounds",
        (_, 1, false) => "of the partition",
        _ => "of the partitions",
    };
    let tested_names = tested.iter().map(String::as_str).collect::<Vec<_>>().join(" and ");
    let narrower = match access.path {
        AccessPath::Range => "bound RowKey more narrowly",
        _ if read.is_partition_range => "bound PartitionKey more narrowly",
        _ => "bound RowKey as well",
    };
    let mut hint = format!("up to {} entities {places} are read to test {tested_names}: ", read.rows_max);
    if tested.iter().all(|name| name == PARTITION_KEY || name == ROW_KEY) {
        hint.push_str(&format!(
            "a function, a leading wildcard or an OR gives no bound; {narrower}, with a comparison or a prefix"
        ));
        return Some(hint);
    }
    hint.push_str(narrower);
    if let Some(property) = residual.iter().find_map(|filter| looked_up(filter)) {
        hint.push_str(&format!(
            "; or keep a copy of each entity under RowKey '{property}_...' (intra-partition secondary index) or \
             entities that list the RowKeys of each {property} (index entities), and read those"
        ));
    }
    Some(hint)
}

/// The property that a filter compares with constants: a key that begins with it would find the
/// entities.
fn looked_up(filter: &Expr) -> Option<&str> {
    let property = |expr: &Expr| match expr {
        Expr::Column(column) if column.name != PARTITION_KEY && column.name != ROW_KEY => true,
        Expr::Cast(cast) => matches!(&*cast.expr, Expr::Column(_)),
        _ => false,
    };
    let compared = match filter {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Eq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq,
            right,
        }) => match property(left) {
            true => left,
            false => right,
        },
        Expr::InList(InList { expr, negated: false, .. }) => expr,
        Expr::Between(between) if !between.negated => &between.expr,
        Expr::Like(like) if !like.negated && !like.case_insensitive && has_prefix(&like.pattern) => &like.expr,
        Expr::Alias(alias) => return looked_up(&alias.expr),
        _ => return None,
    };
    let column = if property(compared) { compared.column_refs().into_iter().next() } else { None };
    let others = filter.column_refs().len();
    column.filter(|_| others == 1).map(|column| column.name.as_str())
}

fn has_prefix(pattern: &Expr) -> bool {
    let Expr::Literal(pattern, _) = pattern else { return false };
    pattern.try_as_str().flatten().is_some_and(|text| !text.starts_with(['%', '_']))
}

#[cfg(test)]
mod tests;
