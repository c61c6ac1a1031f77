//! Queries: from a prepared statement and its values to rows.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::plan_err;
use datafusion::common::tree_node::Transformed;
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::sql::sqlparser::ast;

use super::Executor;
use crate::answer::Answer;
use crate::compiler::{Prepared, StatementContext, same_columns};
use crate::planner::physical_plan;
use crate::provider::EntityTable;
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::cancellation::{CancellableRows, CancellationToken, cancellable};
use rowkey_postgres::error::from_datafusion;
use rowkey_postgres::parameters;
use rowkey_postgres::syntax::located;
use rowkey_postgres::types::SqlValue;
use rowkey_storage::Snapshot;

impl Executor {
    /// The physical plan of a prepared query with its values, planned again where the tables or the
    /// settings changed.
    pub(crate) async fn physical(
        &self,
        context: &StatementContext,
        prepared: &Prepared,
        query: &ast::Statement,
        values: &[SqlValue],
    ) -> Result<(Arc<dyn ExecutionPlan>, Arc<TaskContext>)> {
        let planner = self.compiler.planner(context);
        let kept = prepared.plan.as_ref().filter(|kept| kept.fits(&context.snapshot, &context.planning()));
        let plan = match kept {
            Some(kept) => seen_in(kept.plan.clone(), &context.snapshot)?,
            None => {
                let declared: Vec<_> = prepared.parameters.iter().map(|ty| Some(*ty)).collect();
                let planned = planner.query(&prepared.statement, query, &declared).await?;
                let explains = !prepared.statement.is_query();
                let changed = |before| !same_columns(before, &planned.columns);
                if !explains && prepared.columns.as_deref().is_some_and(changed) {
                    return Err(Error::new(SqlState::CACHED_PLAN_CHANGED, "cached plan must not change result type"));
                }
                planned.plan
            }
        };
        let plan = parameters::with_values(plan, &prepared.parameters, values)?;
        let plan = physical_plan(&planner.state, plan).await;
        let plan = plan.map_err(|error| located(from_datafusion(error), &prepared.statement))?;
        Ok((plan, planner.settings.task_context()))
    }

    pub(crate) async fn run(
        &self,
        context: &StatementContext,
        prepared: &Prepared,
        query: &ast::Statement,
        values: &[SqlValue],
    ) -> Result<Answer> {
        if let Some(rows) = self.key_rows(context, prepared, values).await? {
            return Ok(Answer::of(rows));
        }
        let (plan, task) = Box::pin(self.physical(context, prepared, query, values)).await?;
        let token = CancellationToken::new(Arc::clone(&context.signals));
        let rows = Box::pin(CancellableRows::new(
            execute_stream(cancellable(plan, &token).map_err(from_datafusion)?, task).map_err(from_datafusion)?,
            token,
        ));
        let fields: Vec<_> = prepared
            .columns
            .iter()
            .flat_map(|columns| columns.iter())
            .map(|column| Arc::clone(&column.field))
            .collect();
        Ok(Answer::labelled(rows, &fields))
    }

    /// The rows of a query that is a read by key.
    async fn key_rows(
        &self,
        context: &StatementContext,
        prepared: &Prepared,
        values: &[SqlValue],
    ) -> Result<Option<RecordBatch>> {
        let Some((planned, columns)) = prepared.plan.as_ref().zip(prepared.columns.as_deref()) else { return Ok(None) };
        let Some(read) = planned.key_read() else { return Ok(None) };
        if planned.planning != context.planning() {
            return Ok(None);
        }
        context.signals.check()?;
        read.rows(self.compiler.store().files(), &context.snapshot, values, columns).await
    }
}

/// A kept plan over the tables of this snapshot, whose columns are the same.
fn seen_in(plan: LogicalPlan, snapshot: &Snapshot) -> Result<LogicalPlan> {
    let seen = plan
        .transform_down_with_subqueries(|node| {
            let LogicalPlan::TableScan(mut scan) = node else { return Ok(Transformed::no(node)) };
            let provider = source_as_provider(&scan.source)?;
            let Some(table) = provider.downcast_ref::<EntityTable>() else {
                return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
            };
            let Some(now) = snapshot.table(table.table().id) else {
                return plan_err!("table \"{}\" was dropped", table.table().name);
            };
            scan.source = provider_as_source(Arc::new(table.in_snapshot(snapshot.table_snapshot(now))));
            Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
        })
        .map_err(from_datafusion)?;
    Ok(seen.data)
}
