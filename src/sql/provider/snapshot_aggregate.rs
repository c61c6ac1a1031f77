//! `count(*)` and the least and greatest key of a whole table, from the snapshot.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Result, ScalarValue};
use datafusion::datasource::{DefaultTableSource, TableType, provider_as_source};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, LogicalPlanBuilder, TableScan, cast, col};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use super::snapshot_count::{ENTITIES, SnapshotCount};
use super::table::EntityTable;
use rowkey_storage::run::{PARTITION_KEY, ROW_KEY};

/// Replaces an aggregate over a whole table by its values, if the manifest knows all of them.
#[derive(Debug)]
pub(crate) struct AggregateFromSnapshot;

impl OptimizerRule for AggregateFromSnapshot {
    fn name(&self) -> &str {
        "aggregate_from_snapshot"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = &plan else { return Ok(Transformed::no(plan)) };
        let Some(table) = counted_table(aggregate) else { return Ok(Transformed::no(plan)) };
        if !table.snapshot().is_settled() {
            let counted = counts(aggregate, table)?;
            return Ok(counted.map_or_else(|| Transformed::no(plan.clone()), Transformed::yes));
        }
        let Some(values) = values(aggregate, table) else { return Ok(Transformed::no(plan)) };
        let columns = aggregate.schema.iter();
        let literals = values.into_iter().zip(columns).map(|(value, (qualifier, field))| {
            let value = value.cast_to(field.data_type())?;
            Ok(Expr::Literal(value, None).alias_qualified(qualifier.cloned(), field.name()))
        });
        let literals = literals.collect::<Result<Vec<_>>>()?;
        Ok(Transformed::yes(LogicalPlanBuilder::empty(true).project(literals)?.build()?))
    }
}

/// Counts of a table that has recent writes.
fn counts(aggregate: &Aggregate, table: &EntityTable) -> Result<Option<LogicalPlan>> {
    let all_count = aggregate.aggr_expr.iter().all(|expr| count(expr).is_some());
    if !all_count {
        return Ok(None);
    }
    let counted = SnapshotCount::new(table.snapshot().clone(), Arc::clone(table.files()));
    // Scans are told apart by their names alone: two tables with one count would be counted once.
    let name = format!("snapshot_count_{}", table.table().id);
    let scan = LogicalPlanBuilder::scan(name, provider_as_source(Arc::new(counted)), None)?;
    let columns = aggregate.schema.iter().map(|(qualifier, field)| {
        let column = cast(col(ENTITIES), field.data_type().clone());
        column.alias_qualified(qualifier.cloned(), field.name())
    });
    let columns: Vec<Expr> = columns.collect();
    Ok(Some(scan.project(columns)?.build()?))
}

/// The table that is aggregated as a whole, ungrouped.
fn counted_table(aggregate: &Aggregate) -> Option<&EntityTable> {
    if !aggregate.group_expr.is_empty() || aggregate.aggr_expr.is_empty() {
        return None;
    }
    let scan = whole_table(aggregate.input.as_ref())?;
    let source = (scan.source.as_ref() as &dyn std::any::Any).downcast_ref::<DefaultTableSource>()?;
    if source.table_provider.table_type() != TableType::Base {
        return None;
    }
    let table = (source.table_provider.as_ref() as &dyn std::any::Any).downcast_ref::<EntityTable>()?;
    Some(table)
}

fn values(aggregate: &Aggregate, table: &EntityTable) -> Option<Vec<ScalarValue>> {
    aggregate.aggr_expr.iter().map(|expr| value(expr, table)).collect()
}

/// The scan below, if nothing between drops or makes rows.
fn whole_table(plan: &LogicalPlan) -> Option<&TableScan> {
    match plan {
        LogicalPlan::TableScan(scan) if scan.filters.is_empty() && scan.fetch.is_none() => Some(scan),
        LogicalPlan::SubqueryAlias(alias) => whole_table(&alias.input),
        LogicalPlan::Projection(projection) if projection.expr.iter().all(|expr| matches!(expr, Expr::Column(_))) => {
            whole_table(&projection.input)
        }
        _ => None,
    }
}

fn value(expr: &Expr, table: &EntityTable) -> Option<ScalarValue> {
    let manifest = &table.table().manifest;
    if count(expr).is_some() {
        return Some(ScalarValue::Int64(Some(manifest.live_rows() as i64)));
    }
    match plain(expr)? {
        ("min", Expr::Column(column)) if column.name == PARTITION_KEY => {
            Some(text(&manifest.key_bounds()?.0.partition))
        }
        ("max", Expr::Column(column)) if column.name == PARTITION_KEY => {
            Some(text(&manifest.key_bounds()?.1.partition))
        }
        _ => None,
    }
}

/// Whether all rows are counted.
fn count(expr: &Expr) -> Option<()> {
    match plain(expr)? {
        ("count", Expr::Literal(literal, _)) if !literal.is_null() => Some(()),
        ("count", Expr::Column(column)) if is_key(&column.name) => Some(()),
        _ => None,
    }
}

/// Name and argument of an aggregate of one argument without further clauses.
fn plain(expr: &Expr) -> Option<(&str, &Expr)> {
    let function = match expr {
        Expr::Alias(alias) => return plain(&alias.expr),
        Expr::AggregateFunction(function) => function,
        _ => return None,
    };
    let AggregateFunction { func, params } = function;
    if params.distinct || params.filter.is_some() || !params.order_by.is_empty() || params.null_treatment.is_some() {
        return None;
    }
    let [argument] = params.args.as_slice() else { return None };
    Some((func.name(), argument))
}

fn is_key(column: &str) -> bool {
    column == PARTITION_KEY || column == ROW_KEY
}

fn text(key: &str) -> ScalarValue {
    ScalarValue::Utf8View(Some(key.to_owned()))
}
