//! Statements that write, from their text to the log.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast;

use crate::answer::Answer;
use crate::compiler::Prepared;
use crate::compiler::{Planner, View, same_columns};
use crate::explain::Explained;
use crate::writes::Values;
use crate::writes::returning_query;
use crate::writes::{Action, Source, Write};
use crate::writes::{Done, Returned, Running, duplicate_key};
use crate::writes::{KeyChanges, KeyWrite};
use crate::writes::{changed_meanwhile, refuse_if_deleted};
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::Key;
use rowkey_postgres::cancellation::Signals;
use rowkey_postgres::error::from_datafusion;
use rowkey_postgres::parameters;
use rowkey_postgres::settings::Settings;
use rowkey_postgres::syntax::Statement;
use rowkey_postgres::types::{PostgresType, SqlValue};
use rowkey_storage::{Definitions, Operation, Refusal, Snapshot, TableHold, TableSnapshot, Terms, Written};

impl Planner {
    /// Types the parameters and what is returned.
    pub async fn prepare_write(
        &self,
        view: &View,
        statement: &Arc<Statement>,
        written: &ast::Statement,
        declared: &[Option<&'static PostgresType>],
    ) -> Result<Prepared> {
        let planner = self.statement(view);
        let write = Write::read(&planner, statement, written)?;
        let known = write.known(&planner, statement, written, declared, view.settings.style()).await?;
        let key_write = KeyWrite::of(&write, &known.parameters, &view.settings).map(Arc::new);
        Ok(Prepared {
            statement: Arc::clone(statement),
            parameters: known.parameters,
            columns: known.columns.map(Arc::from),
            prepared_micros: self.now().micros(),
            from_sql: false,
            plan: None,
            key_write,
        })
    }

    /// What a statement of given keys writes; `None` if it is another statement, or has to be run
    /// as one. Nothing is written yet.
    pub async fn key_changes(
        &self,
        snapshot: &Snapshot,
        settings: &Settings,
        prepared: &Prepared,
        values: Values<'_>,
        is_transaction: bool,
        held_bytes: u64,
    ) -> Result<Option<KeyChanges>> {
        let Some(key_write) = &prepared.key_write else { return Ok(None) };
        key_write.changes(self.store().files(), snapshot, settings, values, is_transaction, held_bytes).await
    }

    /// Refuses to leave out rows of a transaction block for entities that are gone by now.
    pub async fn refuse_if_deleted(&self, seen: &TableSnapshot, kept: &[Key], signals: &Signals) -> Result<()> {
        refuse_if_deleted(seen, &self.snapshot(), self.store().files(), signals, kept).await
    }

    /// Finds out what a statement writes. Nothing is written yet.
    pub async fn changes(
        &self,
        view: &View,
        prepared: &Prepared,
        written: &ast::Statement,
        values: &[SqlValue],
        is_transaction: bool,
        held_bytes: u64,
    ) -> Result<(Write, Done)> {
        let planner = self.statement(view);
        let write = Write::read(&planner, &prepared.statement, written)?;
        let running = Running {
            planner: &planner,
            statement: &prepared.statement,
            files: self.store().files(),
            signals: &view.signals,
            types: &prepared.parameters,
            values,
            style: view.settings.style(),
            zone: &planner.zone()?,
            now: view.now,
            is_transaction,
            held_bytes,
        };
        let done = running.run(&write).await?;
        // A statement by itself has its own snapshot: what is deleted meanwhile is deleted after
        // it.
        if !is_transaction {
            self.refuse_if_deleted(&write.target.snapshot, &done.kept, &view.signals).await?;
        }
        Ok((write, done))
    }

    /// The rows of RETURNING.
    pub async fn returned(
        &self,
        view: &View,
        prepared: &Prepared,
        write: &Write,
        returned: &Returned,
        values: &[SqlValue],
    ) -> Result<Option<Answer>> {
        let Some((query, rows)) = returning_query(write, returned)? else { return Ok(None) };
        let planner = self.statement(view).with_rows(rows);
        let declared: Vec<_> = prepared.parameters.iter().map(|ty| Some(*ty)).collect();
        let output = write.output.clone();
        let planned = planner.resolved_query(&prepared.statement, query, &write.functions, output, &declared).await?;
        if prepared.columns.as_deref().is_some_and(|before| !same_columns(before, &planned.columns)) {
            return Err(Error::new(SqlState::CACHED_PLAN_CHANGED, "cached plan must not change result type"));
        }
        let plan = parameters::with_values(planned.plan, &prepared.parameters, values)?;
        let rows = planner.execute(&plan, &view.signals).await?;
        let fields: Vec<_> = planned.columns.iter().map(|column| Arc::clone(&column.field)).collect();
        let answer = Answer::labelled(Box::pin(rows), &fields);
        let schema = answer.schema();
        // All of it, so that what goes wrong does so before anything is written.
        let batches = answer.collect().await?;
        let batch = arrow::compute::concat_batches(&schema, &batches);
        Ok(Some(Answer::of(batch.map_err(datafusion::common::DataFusionError::from).map_err(from_datafusion)?)))
    }

    /// What a statement would read, for EXPLAIN.
    pub(crate) async fn explain_write(
        &self,
        view: &View,
        prepared: &Prepared,
        written: &ast::Statement,
        values: &[SqlValue],
    ) -> Result<Explained> {
        let planner = self.statement(view);
        let write = Write::read(&planner, &prepared.statement, written)?;
        let (verb, rows_given) = match &write.action {
            Action::Insert { source: Source::Values(rows), .. } => ("Insert", rows.len()),
            Action::Insert { .. } => ("Insert", 0),
            Action::Update { .. } => ("Update", 0),
            Action::Delete { .. } => ("Delete", 0),
            Action::Merge { .. } => ("Merge", 0),
        };
        let plan = match write.query()? {
            None => None,
            Some(query) => {
                let declared: Vec<_> = prepared.parameters.iter().map(|ty| Some(*ty)).collect();
                let planned =
                    planner.resolved_query(&prepared.statement, query, &write.functions, Vec::new(), &declared).await?;
                let plan = parameters::with_values(planned.plan, &prepared.parameters, values)?;
                Some(planner.physical(&plan).await?)
            }
        };
        let table = write.target.name().to_owned();
        Ok(Explained { title: format!("{verb} on {table}"), verb, table, rows_given, plan })
    }

    /// Makes operations durable and visible, all or none. What stops the statement does not stop
    /// this.
    pub async fn commit(&self, operations: &[Operation<'_>], terms: Terms<'_>, signals: &Signals) -> Result<Written> {
        self.store().wait_for_room(operations, terms.hold).await?;
        let committing = signals.committing();
        let written = self.store().write_under(operations, terms).await.map_err(of_commit)?;
        committing.done();
        Ok(written)
    }

    /// The same with definitions.
    pub async fn commit_definitions(
        &self,
        definitions: &Definitions,
        operations: &[Operation<'_>],
        hold: Option<&TableHold>,
        signals: &Signals,
    ) -> Result<()> {
        self.store().wait_for_room(operations, hold).await?;
        let committing = signals.committing();
        let (_, gone) = self.store().commit_definitions(definitions, operations, hold).await.map_err(of_commit)?;
        committing.done();
        let store = Arc::clone(self.store());
        let cleaned = tokio::task::spawn_blocking(move || store.clean_up(gone)).await;
        cleaned.map_err(|error| Error::new(SqlState::INTERNAL_ERROR, error.to_string()))
    }
}

fn of_commit(error: rowkey_storage::Error) -> Error {
    match error {
        rowkey_storage::Error::Refused { refusal: Refusal::Exists, table, key, .. } => duplicate_key(&table, &key),
        rowkey_storage::Error::Refused { refusal: Refusal::Changed | Refusal::Missing, table, key, .. } => {
            changed_meanwhile(&table, &key)
        }
        rowkey_storage::Error::NoSuchTable(_) => Error::new(
            SqlState::SERIALIZATION_FAILURE,
            "could not serialize access: a table was dropped by a concurrent statement",
        ),
        rowkey_storage::Error::Conflict(reason) => {
            Error::new(SqlState::SERIALIZATION_FAILURE, "could not serialize access due to concurrent update")
                .with_detail(format!("Another statement changed the catalog meanwhile: {reason}."))
        }
        error => Error::from(error),
    }
}
