//! Statements that write, from their text to their operations.

use std::sync::Arc;
use std::time::Duration;

use datafusion::execution::SendableRecordBatchStream;

use super::Executor;
use super::plan_log::PlanLog;
use crate::answer::Answer;
use crate::compiler::{Prepared, StatementContext, same_columns};
use crate::definitions::Rewritten;
use crate::explain::{self, Explained, RanWrite};
use crate::planner::StatementPlanner;
use crate::writes::{
    Action, MemoryBudget, RanQueries, Returned, SharedWriteSet, Source, Write, WriteMemory, WriteResult, WriteRunner,
    refuse_etag_in_block, refuse_if_deleted, returning_query, returns_timestamp,
};
use rowkey_base::clock::timer_now;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::{DateTime, Key};
use rowkey_postgres::cancellation::{Signals, row_bytes};
use rowkey_postgres::error::from_datafusion;
use rowkey_postgres::functions::Zone;
use rowkey_postgres::parameters;
use rowkey_postgres::syntax::Request;
use rowkey_postgres::types::SqlValue;
use rowkey_storage::{Operation, Table, TableSnapshot};

/// What a statement that writes has come to.
pub(crate) struct Ran {
    /// The table, as the statement was planned for.
    pub table: Arc<Table>,
    pub count: u64,
    /// What is to be committed; nothing where a write set has taken it.
    pub operations: Vec<Operation<'static>>,
    /// The rows of RETURNING, or the lines of EXPLAIN.
    pub answer: Option<Answer>,
    /// What they are computed from, where that takes the Timestamp of the commit.
    pub returning: Option<Box<Returning>>,
    /// What the operations take.
    pub memory: WriteMemory,
}

/// What the rows of RETURNING are computed from.
pub(crate) struct Returning {
    context: StatementContext,
    write: Write,
    returned: Returned,
}

impl Executor {
    /// Refuses to skip rows in a transaction block for entities that are deleted by now.
    pub(crate) async fn refuse_if_deleted(
        &self,
        seen: &TableSnapshot,
        skipped: &[Key],
        signals: &Signals,
    ) -> Result<()> {
        refuse_if_deleted(seen, &self.compiler.snapshot(), self.compiler.store().files(), signals, skipped).await
    }

    /// Runs a statement up to its operations and the rows of RETURNING. Nothing is committed yet:
    /// the write set of its block takes the operations, if there is a block.
    pub(crate) async fn run_write(
        &self,
        context: StatementContext,
        prepared: &Arc<Prepared>,
        values: &Arc<[SqlValue]>,
        write_set: Option<&SharedWriteSet>,
        mut budget: MemoryBudget,
    ) -> Result<Ran> {
        let (executor, prepared, values) = (self.clone(), Arc::clone(prepared), Arc::clone(values));
        let write_set = write_set.cloned();
        let signals = Arc::clone(&context.signals);
        let run = async move {
            let is_transaction = write_set.is_none();
            let (write, result, plan) =
                executor.operations(&context, &prepared, &values, is_transaction, &mut budget).await?;
            let is_explained = plan.is_some();
            let answer = match plan {
                Some(lines) => Some(Answer::new(lines)),
                None => executor.returned(&context, &prepared, &write, &result.returned, &values, false).await?,
            };
            let WriteResult { count, mut operations, returned, .. } = result;
            if let Some(write_set) = write_set {
                let operations = std::mem::take(&mut operations);
                write_set.add(&write.target.snapshot, operations, context.now, &context.signals)?;
            }
            let table = Arc::clone(write.target.table());
            let recomputes =
                returned.are_written && !operations.is_empty() && !is_explained && returns_timestamp(&write);
            let returning = recomputes.then(|| Box::new(Returning { context, write, returned }));
            Ok(Ran { table, count, operations, answer, returning, memory: budget.into_memory() })
        };
        self.compiler.compute().run(&signals, run).await
    }

    /// What a statement writes, and its plan if that is asked for beside.
    async fn operations(
        &self,
        context: &StatementContext,
        prepared: &Prepared,
        values: &[SqlValue],
        is_transaction: bool,
        budget: &mut MemoryBudget,
    ) -> Result<(Write, WriteResult, Option<SendableRecordBatchStream>)> {
        let written = prepared.statement.request.statement()?;
        let planner = self.compiler.planner_of(context, prepared);
        let log = PlanLog::begin(context, prepared);
        let ran = RanQueries::default();
        let began = timer_now();
        let write = Write::read(&planner, &prepared.statement, written)?;
        let read_in = began.elapsed();
        if !is_transaction {
            refuse_etag_in_block(&write)?;
        }
        let zone = planner.zone()?;
        let runner = self.write_runner(&planner, context, prepared, values, &zone, &ran);
        let runner = WriteRunner { is_transaction, ..runner };
        let began = timer_now();
        let result = runner.run(&write, budget).await?;
        let took = began.elapsed();
        ran.plans().iter().for_each(|plan| context.session.reads.add_plan(plan));
        let options = match &prepared.statement.request {
            Request::Explain { options, .. } => Some(*options),
            _ => None,
        };
        let mut plan = None;
        if log.is_some() || options.is_some() {
            let explained = explained(&write, &result, ran, read_in, took, false);
            if let Some(options) = options {
                plan = Some(explain::explain_write(&explained, options).await?);
            }
            if let Some(log) = log {
                log.log_write(&explained).await;
            }
        }
        // A transaction by itself comes before the deletions after its snapshot.
        if !is_transaction {
            self.refuse_if_deleted(&write.target.snapshot, &result.skipped, &context.signals).await?;
        }
        Ok((write, result, plan))
    }

    /// Runs a statement for which no commit will find out whether keys exist.
    fn write_runner<'a>(
        &'a self,
        planner: &'a StatementPlanner,
        context: &'a StatementContext,
        prepared: &'a Prepared,
        values: &'a [SqlValue],
        zone: &'a Zone,
        ran: &'a RanQueries,
    ) -> WriteRunner<'a> {
        WriteRunner {
            planner,
            statement: &prepared.statement,
            files: self.compiler.store().files(),
            signals: &context.signals,
            types: &prepared.parameters,
            values,
            style: context.session.settings.style(),
            zone,
            now: context.now,
            is_transaction: false,
            ran,
        }
    }

    /// Adds what a definition rewrites of the entities of a table to the write set of its block.
    pub(crate) async fn rewrite(
        &self,
        context: &StatementContext,
        rewritten: &Rewritten,
        write_set: &SharedWriteSet,
        mut budget: MemoryBudget,
    ) -> Result<()> {
        let (files, rewritten) = (Arc::clone(self.compiler.store().files()), rewritten.clone());
        let (write_set, signals, context) = (write_set.clone(), &context.signals, context.clone());
        let added = async move {
            let signals = &context.signals;
            let (table, operations) = rewritten.operations(&files, &context.snapshot, signals, &mut budget).await?;
            write_set.add(&table, operations, context.now, signals)
        };
        self.compiler.compute().run(signals, added).await
    }

    /// Computes the rows of RETURNING, after the commit has given what is written its Timestamp.
    pub(crate) async fn returning(
        &self,
        returning: Returning,
        prepared: &Arc<Prepared>,
        timestamp: DateTime,
        values: &Arc<[SqlValue]>,
    ) -> Result<Option<Answer>> {
        let (executor, prepared, values) = (self.clone(), Arc::clone(prepared), Arc::clone(values));
        let Returning { context, write, mut returned } = returning;
        let signals = Arc::clone(&context.signals);
        let answer = async move {
            returned.set_timestamp(timestamp);
            executor.returned(&context, &prepared, &write, &returned, &values, true).await
        };
        self.compiler.compute().run(&signals, answer).await
    }

    /// The rows of RETURNING. What is committed already does not fail for want of memory.
    async fn returned(
        &self,
        context: &StatementContext,
        prepared: &Prepared,
        write: &Write,
        returned: &Returned,
        values: &[SqlValue],
        is_committed: bool,
    ) -> Result<Option<Answer>> {
        let Some((query, rows)) = returning_query(write, returned)? else { return Ok(None) };
        let planner = self.compiler.planner_of(context, prepared).with_rows(rows);
        let declared: Vec<_> = prepared.parameters.iter().map(|ty| Some(*ty)).collect();
        let output = write.output.clone();
        let planned = planner.resolved_query(&prepared.statement, query, &write.functions, output, &declared).await?;
        if prepared.columns.as_deref().is_some_and(|before| !same_columns(before, &planned.columns)) {
            return Err(Error::new(SqlState::CACHED_PLAN_CHANGED, "cached plan must not change result type"));
        }
        let plan = parameters::with_values(planned.plan, &prepared.parameters, values)?;
        let rows = planner.execute(&plan, &context.signals).await?;
        let fields: Vec<_> = planned.columns.iter().map(|column| Arc::clone(&column.field)).collect();
        let mut answer = Answer::labelled(Box::pin(rows), &fields);
        // All rows, so that errors come before anything is written.
        let (mut batches, memory) = (Vec::new(), self.compiler.memory("rows of RETURNING"));
        while let Some(batch) = answer.next().await {
            let batch = batch?;
            match is_committed {
                true => memory.grow(row_bytes(&batch)),
                false => memory.try_grow(row_bytes(&batch)).map_err(from_datafusion)?,
            }
            batches.push(batch);
        }
        Ok(Some(Answer::of_batches(answer.schema(), batches).keeping(memory)))
    }

    /// The lines of EXPLAIN of a statement that writes.
    pub(crate) async fn explain_write(
        &self,
        context: &StatementContext,
        prepared: &Arc<Prepared>,
        values: &Arc<[SqlValue]>,
        mut budget: MemoryBudget,
    ) -> Result<SendableRecordBatchStream> {
        let (executor, prepared, values) = (self.clone(), Arc::clone(prepared), Arc::clone(values));
        let (signals, context) = (&context.signals, context.clone());
        let lines = async move {
            let Request::Explain { options, .. } = &prepared.statement.request else {
                return Err(Error::new(SqlState::INTERNAL_ERROR, "no EXPLAIN"));
            };
            let explained = match options.analyze {
                true => executor.analyzed(&context, &prepared, &values, &mut budget).await?,
                false => executor.explained(&context, &prepared, &values).await?,
            };
            explain::explain_write(&explained, *options).await
        };
        self.compiler.compute().run(signals, lines).await
    }

    /// What a statement that writes does up to its commit, and counts. Nothing of it is written.
    async fn analyzed(
        &self,
        context: &StatementContext,
        prepared: &Prepared,
        values: &[SqlValue],
        budget: &mut MemoryBudget,
    ) -> Result<Explained> {
        let began = timer_now();
        let written = prepared.statement.request.statement()?;
        let declared: Vec<_> = prepared.parameters.iter().map(|ty| Some(*ty)).collect();
        let context = &self.compiler.with_new_properties(context, &prepared.statement, &declared).await?;
        let planner = self.compiler.planner_of(context, prepared);
        let write = Write::read(&planner, &prepared.statement, written)?;
        let ran = RanQueries::default();
        let zone = planner.zone()?;
        let runner = self.write_runner(&planner, context, prepared, values, &zone, &ran);
        let read_in = began.elapsed();
        let result = runner.run(&write, budget).await?;
        let took = began.elapsed().saturating_sub(read_in);
        Ok(explained(&write, &result, ran, read_in, took, true))
    }

    /// The plan of what a statement reads.
    async fn explained(
        &self,
        context: &StatementContext,
        prepared: &Prepared,
        values: &[SqlValue],
    ) -> Result<Explained> {
        let began = timer_now();
        let written = prepared.statement.request.statement()?;
        let declared: Vec<_> = prepared.parameters.iter().map(|ty| Some(*ty)).collect();
        let context = &self.compiler.with_new_properties(context, &prepared.statement, &declared).await?;
        let planner = self.compiler.planner_of(context, prepared);
        let write = Write::read(&planner, &prepared.statement, written)?;
        let (verb, rows_given) = explained_action(&write.action);
        let plan = match write.query()? {
            None => None,
            Some(query) => {
                let planned =
                    planner.resolved_query(&prepared.statement, query, &write.functions, Vec::new(), &declared).await?;
                let plan = parameters::with_values(planned.plan, &prepared.parameters, values)?;
                Some(planner.physical(&plan).await?)
            }
        };
        let table = write.target.name().to_owned();
        Ok(Explained { verb, table, rows_given, plan, ran: None, planned_in: began.elapsed() })
    }
}

/// What a statement did and counted; it took so long, which planning its queries is a part of.
fn explained(
    write: &Write,
    result: &WriteResult,
    ran: RanQueries,
    read_in: Duration,
    took: Duration,
    is_rolled_back: bool,
) -> Explained {
    let (plans, planned_in) = ran.into_plans();
    let (verb, rows_given) = explained_action(&write.action);
    let rows_returned = if write.returning.is_some() { result.count } else { 0 };
    let took = took.saturating_sub(planned_in);
    let ran = RanWrite { plans, rows_affected: result.count, rows_returned, is_rolled_back, took };
    let table = write.target.name().to_owned();
    Explained { verb, table, rows_given, plan: None, ran: Some(ran), planned_in: read_in + planned_in }
}

/// What EXPLAIN calls an action, and how many rows it gives itself.
fn explained_action(action: &Action) -> (&'static str, usize) {
    match action {
        Action::Insert { source: Source::Values(rows), .. } => ("Insert", rows.len()),
        Action::Insert { .. } => ("Insert", 0),
        Action::Update { .. } => ("Update", 0),
        Action::Delete { .. } => ("Delete", 0),
        Action::Merge { .. } => ("Merge", 0),
    }
}
