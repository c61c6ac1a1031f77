//! Queries: from a prepared statement and its values to rows.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::plan_err;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::sqlparser::ast;

use super::Executor;
use super::locked_rows::locked_rows;
use super::pending_rows::{OpenPlan, begun};
use super::plan_log::PlanLog;
use crate::answer::Answer;
use crate::by_key::KeyRows;
use crate::compiler::{Prepared, StatementContext, row_locks, same_columns};
use crate::explain;
use crate::planner::{Column, physical_plan, run_cancellable};
use crate::provider::open_bytes;
use crate::provider::with_tables;
use crate::writes::{ParameterValues, SharedWriteSet};
use rowkey_base::clock::timer_now;
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::cancellation::with_small_batches;
use rowkey_postgres::error::from_datafusion;
use rowkey_postgres::parameters;
use rowkey_postgres::syntax::{Request, located};
use rowkey_postgres::types::SqlValue;
use rowkey_storage::Snapshot;

impl Executor {
    /// The physical plan of a prepared query with its values.
    async fn physical(
        &self,
        context: &StatementContext,
        prepared: &Prepared,
        source: QuerySource,
        values: &[SqlValue],
    ) -> Result<Physical> {
        let _room = self.compiler.room_for_physical_plan(prepared).await;
        let planner = self.compiler.planner_of(context, prepared);
        // Large ones take long to copy, and memory.
        let plan = match Logical::of(context, prepared, source)? {
            Logical::Kept(plan) => seen_in(plan, &context.snapshot)?,
            Logical::Unplanned(query) => {
                let declared: Vec<_> = prepared.parameters.iter().map(|ty| Some(*ty)).collect();
                let planned = match prepared.row_locks() {
                    Some(locks) => row_locks::query(&planner, &prepared.statement, *query, &declared, locks).await?,
                    None => planner.query(&prepared.statement, *query, &declared).await?,
                };
                let explains = !prepared.statement.is_query();
                match prepared.columns.as_deref().filter(|before| !explains && !same_columns(before, &planned.columns))
                {
                    None => planned.plan,
                    // The keys of rows that are locked are columns of the plan as well.
                    Some(before) if prepared.row_locks().is_none() => {
                        with_columns(planned.plan, before, &planned.columns).ok_or_else(columns_changed)?
                    }
                    Some(_) => return Err(columns_changed()),
                }
            }
        };
        let locked = prepared.row_locks().map(|locks| row_locks::table_of(&plan, locks)).transpose()?;
        let plan = parameters::with_values(plan, &prepared.parameters, values)?;
        let plan = physical_plan(&planner.state, plan).await;
        let plan = plan.map_err(|error| located(from_datafusion(error), &prepared.statement))?;
        Ok(Physical { plan, task: planner.task(), locked })
    }

    /// The same, of a longer text on the threads for that.
    async fn physical_apart(
        &self,
        context: &StatementContext,
        prepared: &Arc<Prepared>,
        source: QuerySource,
        values: &Arc<[SqlValue]>,
    ) -> Result<Physical> {
        let (compute, text) = (self.compiler.compute(), prepared.statement.text());
        if !compute.plans_apart(text) {
            return Box::pin(self.physical(context, prepared, source, values)).await;
        }
        let (executor, context, signals) = (self.clone(), context.clone(), Arc::clone(&context.signals));
        let (planned, values) = (Arc::clone(prepared), Arc::clone(values));
        let physical = async move { Box::pin(executor.physical(&context, &planned, source, &values)).await };
        compute.plan(text, &signals, physical).await
    }

    pub(crate) async fn run(
        &self,
        context: StatementContext,
        prepared: &Arc<Prepared>,
        values: &Arc<[SqlValue]>,
        write_set: Option<&SharedWriteSet>,
    ) -> Result<Answer> {
        if let Some(rows) = self.key_rows(&context, prepared, values).await? {
            return Ok(Answer::of(rows));
        }
        // Boxed, since reads by key would be moved with what it takes.
        Box::pin(self.computed(context, prepared, None, values, write_set)).await
    }

    /// The rows of a query that is planned and computed: the prepared one, or `query` which was
    /// planned in its place. `write_set` keeps what it reads FOR UPDATE or FOR SHARE. The context
    /// is dropped there as well: it may be the last one that reads an older snapshot.
    pub(crate) async fn computed(
        &self,
        context: StatementContext,
        prepared: &Arc<Prepared>,
        query: Option<ast::Statement>,
        values: &Arc<[SqlValue]>,
        write_set: Option<&SharedWriteSet>,
    ) -> Result<Answer> {
        let (executor, planned, values) = (self.clone(), Arc::clone(prepared), Arc::clone(values));
        let (signals, write_set) = (Arc::clone(&context.signals), write_set.cloned());
        let rows = async move {
            let source = query.map_or(QuerySource::Prepared, |query| QuerySource::Other(Box::new(query)));
            let log = PlanLog::begin(&context, &planned);
            let physical = executor.physical_apart(&context, &planned, source, &values);
            let Physical { plan, task, locked } = Box::pin(physical).await?;
            let open = OpenPlan { plan: Arc::clone(&plan), budget: Arc::clone(executor.compiler.plan_budget()) };
            // Until its first rows are there: then it has ended, or counts as one that is open.
            let _scans = executor.compiler.scan_queue().enter(open_bytes(&open.plan).map_err(from_datafusion)?).await?;
            let (plan, rows) = match open.budget.batch_rows_max() {
                Some(rows_max) => run_cancellable(with_small_batches(plan, rows_max), task, &context.signals),
                None => run_cancellable(plan, task, &context.signals),
            }
            .map_err(from_datafusion)?;
            context.session.reads.add_plan(&plan);
            let rows = match log {
                Some(log) => log.logged(plan, rows),
                None => Box::pin(rows),
            };
            let rows = begun(rows, &open, executor.compiler.row_budget()).await;
            Ok(match (planned.row_locks(), locked) {
                (Some(locks), Some(table)) => {
                    locked_rows(rows, table, locks.is_exclusive, write_set, Arc::clone(&context.signals))?
                }
                _ => rows,
            })
        };
        let rows = self.compiler.compute().run(&signals, rows).await?;
        let fields: Vec<_> = prepared
            .columns
            .iter()
            .flat_map(|columns| columns.iter())
            .map(|column| Arc::clone(&column.field))
            .collect();
        Ok(Answer::labelled(rows, &fields))
    }

    /// The lines of EXPLAIN of a query.
    pub(crate) async fn explain(
        &self,
        context: &StatementContext,
        prepared: &Arc<Prepared>,
        values: &Arc<[SqlValue]>,
    ) -> Result<SendableRecordBatchStream> {
        let (executor, prepared, values) = (self.clone(), Arc::clone(prepared), Arc::clone(values));
        let (signals, context) = (&context.signals, context.clone());
        let lines = async move {
            let Request::Explain { options, .. } = &prepared.statement.request else {
                return Err(Error::new(SqlState::INTERNAL_ERROR, "no EXPLAIN"));
            };
            // The time of planning is that of a plan from the text.
            let source = if options.summary { QuerySource::Text } else { QuerySource::Prepared };
            let began = timer_now();
            let physical = executor.physical_apart(&context, &prepared, source, &values);
            let Physical { plan, task, .. } = Box::pin(physical).await?;
            explain::explain(&plan, task, &context.signals, began.elapsed(), *options).await
        };
        self.compiler.compute().run(signals, lines).await
    }

    /// The rows of a query that is one by key.
    async fn key_rows(
        &self,
        context: &StatementContext,
        prepared: &Arc<Prepared>,
        values: &Arc<[SqlValue]>,
    ) -> Result<Option<RecordBatch>> {
        let Some(planned) = prepared.plan.as_ref() else { return Ok(None) };
        let Some(statement) = planned.by_key.as_ref() else { return Ok(None) };
        if planned.planning != context.planning() || !ParameterValues::Bound(values).are_small() {
            return Ok(None);
        }
        context.signals.check()?;
        if statement.is_small(&context.snapshot, values) {
            return self.look_up(context, prepared, values).await;
        }
        let (executor, context, signals) = (self.clone(), context.clone(), Arc::clone(&context.signals));
        let (prepared, values) = (Arc::clone(prepared), Arc::clone(values));
        let rows = async move { executor.look_up(&context, &prepared, &values).await };
        Box::pin(self.compiler.compute().read_by_key(&signals, rows)).await
    }

    async fn look_up(
        &self,
        context: &StatementContext,
        prepared: &Prepared,
        values: &[SqlValue],
    ) -> Result<Option<RecordBatch>> {
        let Some((planned, columns)) = prepared.plan.as_ref().zip(prepared.columns.as_deref()) else { return Ok(None) };
        let Some(statement) = planned.by_key.as_ref() else { return Ok(None) };
        let rows = statement.rows(self.compiler.store().files(), &context.snapshot, values, columns).await;
        let Some(KeyRows { rows, read }) = rows.map_err(|error| located(error, &prepared.statement))? else {
            return Ok(None);
        };
        if let Some((path, entities)) = read {
            context.session.reads.add_by_key(path, entities);
        }
        Ok(Some(rows))
    }
}

/// A query that is ready to run.
struct Physical {
    plan: Arc<dyn ExecutionPlan>,
    task: Arc<TaskContext>,
    /// The table whose rows it reads FOR UPDATE or FOR SHARE.
    locked: Option<u64>,
}

/// What is planned when a prepared query runs.
enum QuerySource {
    /// Its plan, if that was kept and still holds; otherwise its text.
    Prepared,
    /// Its text.
    Text,
    /// Another query in its place.
    Other(Box<ast::Statement>),
}

/// Where the logical plan of a prepared query comes from.
enum Logical {
    /// It was kept, and is the one of this catalog and these settings.
    Kept(LogicalPlan),
    /// The tables or the settings changed, or it cannot run again.
    Unplanned(Box<ast::Statement>),
}

impl Logical {
    fn of(context: &StatementContext, prepared: &Prepared, source: QuerySource) -> Result<Self> {
        let kept = match source {
            QuerySource::Text => None,
            _ => prepared.plan.as_ref().filter(|kept| kept.fits(&context.snapshot, &context.planning())),
        };
        Ok(match (kept, source) {
            (Some(kept), _) => Logical::Kept(kept.plan.clone()),
            (None, QuerySource::Other(query)) => Logical::Unplanned(query),
            (None, _) => Logical::Unplanned(Box::new(prepared.statement.request.statement()?.clone())),
        })
    }
}

fn columns_changed() -> Error {
    Error::new(SqlState::CACHED_PLAN_CHANGED, "cached plan must not change result type")
}

/// A plan with the columns that it had before, where others have come between them: of `*`, since
/// an entity may bring new properties at any time. `None`: they are gone or of other types, or its
/// rows depend on all columns.
fn with_columns(plan: LogicalPlan, before: &[Column], now: &[Column]) -> Option<LogicalPlan> {
    let mut node = &plan;
    loop {
        node = match node {
            LogicalPlan::Limit(limit) => &limit.input,
            LogicalPlan::Sort(sort) => &sort.input,
            LogicalPlan::Projection(_) => break,
            _ => return None,
        };
    }
    let mut columns = now.iter().enumerate();
    let kept = before.iter().map(|before| {
        let (place, _) =
            columns.find(|(_, now)| same_columns(std::slice::from_ref(before), std::slice::from_ref(now)))?;
        Some(Expr::Column(plan.schema().qualified_field(place).into()))
    });
    let kept = kept.collect::<Option<Vec<_>>>()?;
    Projection::try_new(kept, Arc::new(plan)).ok().map(LogicalPlan::Projection)
}

/// A kept plan over the tables of this snapshot, whose columns are the same.
fn seen_in(plan: LogicalPlan, snapshot: &Snapshot) -> Result<LogicalPlan> {
    let seen = with_tables(plan, |table| match snapshot.table(table.table().id) {
        Some(now) => Ok(table.in_snapshot(snapshot.table_snapshot(now))),
        None => plan_err!("table \"{}\" was dropped", table.table().name),
    });
    seen.map_err(from_datafusion)
}
