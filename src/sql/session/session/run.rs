//! From a prepared statement to its outcome.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringViewArray};
use arrow::datatypes::Schema;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;

use super::values::type_named;
use super::{Copying, Outcome, Session};
use crate::answer::Answer;
use crate::compiler::Prepared;
use crate::executor::{Cursor, Portal, PortalState, Rows, ScrolledRows};
use crate::session::transaction::TransactionStatus;
use crate::writes::ParameterValues;
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::error::from_datafusion;
use rowkey_postgres::settings::DEFINITIONS;
use rowkey_postgres::syntax::{Command, Discard, Request};
use rowkey_postgres::types::SqlValue;

impl Session {
    /// Runs a statement with values for its parameters.
    pub(super) async fn run_uncounted(
        &mut self,
        prepared: &Arc<Prepared>,
        parameters: &Arc<[SqlValue]>,
    ) -> Result<Outcome> {
        match &prepared.statement.request {
            Request::Query(_) => {
                self.transaction.refuse_if_failed()?;
                if let Some(locks) = prepared.row_locks() {
                    self.refuse_if_read_only(&format!("SELECT {}", locks.words))?;
                }
                let context = self.context();
                let write_set = self.transaction.write_set().filter(|_| prepared.row_locks().is_some());
                let answer = self.executor.run(context, prepared, parameters, write_set).await?;
                let columns = prepared.columns.clone().unwrap_or_else(|| Arc::from([]));
                Ok(Outcome::Rows(Rows::new(columns, "SELECT", answer)))
            }
            Request::Write(written) => {
                match self.write_by_key(prepared, written, ParameterValues::Bound(parameters)).await? {
                    Some(outcome) => Ok(outcome),
                    None => Box::pin(self.write(prepared, written, parameters)).await,
                }
            }
            Request::Copy(copy) => {
                self.transaction.refuse_if_failed()?;
                if let Some(file) = copy.file_written() {
                    return Box::pin(self.copy_to_file(prepared, copy, file)).await.map(Outcome::Done);
                }
                if copy.sends() {
                    if let Some(entities) = Box::pin(self.copy_entities_out(prepared, copy)).await? {
                        return Ok(Outcome::Copy(Copying::EntitiesOut(Box::new(entities))));
                    }
                    let context = self.context();
                    let copied = Box::pin(self.executor.copy_out(context, prepared, copy)).await?;
                    return Ok(Outcome::Copy(Copying::Out(Box::new(copied))));
                }
                self.refuse_if_read_only("COPY FROM")?;
                let context = self.context();
                let budget = self.transaction.memory_budget();
                let is_in_block = self.transaction.status() != TransactionStatus::Idle;
                let copy = self.executor.copy_in(&context, prepared, copy, budget, is_in_block)?;
                Ok(Outcome::Copy(Copying::In(Box::new(copy))))
            }
            Request::Explain { statement, options } if options.keep => {
                Box::pin(self.write(prepared, statement, parameters)).await
            }
            Request::Explain { statement, .. } => {
                self.transaction.refuse_if_failed()?;
                let context = self.context();
                let lines = match rowkey_postgres::syntax::verb(statement) {
                    Some(_) => {
                        let budget = self.transaction.memory_budget();
                        Box::pin(self.executor.explain_write(&context, prepared, parameters, budget)).await?
                    }
                    None => Box::pin(self.executor.explain(&context, prepared, parameters)).await?,
                };
                let columns = prepared.columns.clone().unwrap_or_else(|| Arc::from([]));
                Ok(Outcome::Rows(Rows::new(columns, "EXPLAIN", Answer::new(lines))))
            }
            Request::Nothing => Ok(Outcome::Done(String::new())),
            Request::Define(definition) => Box::pin(self.define(prepared, definition)).await,
            Request::Command(command) => {
                if !command.ends_failure() {
                    self.transaction.refuse_if_failed()?;
                }
                Box::pin(self.command(prepared, command, parameters)).await
            }
        }
    }

    async fn command(
        &mut self,
        prepared: &Arc<Prepared>,
        command: &Command,
        parameters: &Arc<[SqlValue]>,
    ) -> Result<Outcome> {
        let mut tag = command.tag().to_owned();
        match command {
            Command::Begin { modes, .. } => {
                if self.transaction.status() != TransactionStatus::Idle && !self.transaction.is_implicit() {
                    self.warn(SqlState::ACTIVE_SQL_TRANSACTION, "there is already a transaction in progress");
                }
                self.transaction.begin(*modes, &mut self.settings)?;
            }
            Command::Commit { chain } => {
                if !self.end_transaction(true, *chain).await? {
                    tag = "ROLLBACK".to_owned();
                }
            }
            Command::Rollback { chain } => {
                self.end_transaction(false, *chain).await?;
            }
            Command::Savepoint(name) => {
                self.transaction.savepoint(name.clone(), self.cursors_declared, &mut self.settings)?;
            }
            Command::Release(name) => self.transaction.release(name, &mut self.settings)?,
            Command::RollbackTo(name) => {
                let undone = self.write_set_at(name).await?;
                let declared = self.transaction.rollback_to(name, undone, &mut self.settings)?;
                let was_there = |portal: &Portal| portal.cursor.as_ref().is_none_or(|cursor| cursor.number <= declared);
                self.portals.retain(|_, portal| was_there(portal));
            }
            Command::SetTransaction(modes) => {
                if self.transaction.status() == TransactionStatus::Idle {
                    self.warn(
                        SqlState::NO_ACTIVE_SQL_TRANSACTION,
                        "SET TRANSACTION can only be used in transaction blocks",
                    );
                } else {
                    self.transaction.set_modes(*modes, &mut self.settings)?;
                }
            }
            Command::SetSessionTransaction(modes) => {
                let switch = |on: bool| if on { "on" } else { "off" };
                for (name, value) in [
                    ("default_transaction_isolation", modes.isolation.map(|level| level.name())),
                    ("default_transaction_read_only", modes.read_only.map(switch)),
                    ("default_transaction_deferrable", modes.deferrable.map(switch)),
                ] {
                    if value.is_some() {
                        self.settings.set(name, value, false)?;
                    }
                }
            }
            Command::Set { name, value, local } => {
                if *local && self.transaction.status() == TransactionStatus::Idle {
                    self.warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, "SET LOCAL can only be used in transaction blocks");
                }
                self.set(name, value.as_deref(), *local)?;
            }
            Command::Reset(Some(name)) => self.set(name, None, false)?,
            Command::Reset(None) => self.settings.reset_all(),
            Command::Show(name) => {
                let value = self.settings.show(name)?.to_owned();
                return self.texts(prepared, "SHOW", vec![vec![value]]);
            }
            Command::ShowAll => {
                let rows = DEFINITIONS.iter().map(|definition| {
                    let value = self.settings.get(definition.name).unwrap_or_default();
                    vec![definition.name.to_owned(), value.to_owned(), definition.description.to_owned()]
                });
                let rows = rows.collect();
                return self.texts(prepared, "SHOW", rows);
            }
            Command::Discard(discard) => {
                if *discard == Discard::All {
                    if self.transaction.status() != TransactionStatus::Idle {
                        let message = "DISCARD ALL cannot run inside a transaction block";
                        return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
                    }
                    self.portals.clear();
                    self.prepared.clear();
                    self.settings.reset_all();
                }
            }
            // There is no NOTIFY, so nothing to listen to; pools send these nevertheless.
            Command::Listen | Command::Unlisten => {}
            Command::Prepare { name, types, statement } => {
                let types = types.iter().map(|name| type_named(name).map(Some)).collect::<Result<Vec<_>>>()?;
                let prepared = Box::pin(self.prepare(Arc::clone(statement), &types)).await?;
                self.keep_statement(name, Arc::new(Prepared { from_sql: true, ..prepared }))?;
            }
            Command::Execute { name, arguments } => {
                let statement = self.statement(name)?;
                let values = self.arguments_of(name, &statement, arguments).await?;
                return Box::pin(self.run(&statement, &values.into())).await;
            }
            Command::ExplainExecute { name, arguments, options } => {
                return Box::pin(self.explain_execute(name, arguments, *options)).await;
            }
            Command::Deallocate(Some(name)) => {
                self.statement(name)?;
                self.prepared.remove(name);
            }
            Command::Deallocate(None) => self.prepared.clear(),
            Command::Declare { name, hold, scroll, statement } => {
                if !hold && self.transaction.status() == TransactionStatus::Idle {
                    let message = "DECLARE CURSOR can only be used in transaction blocks";
                    return Err(Error::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, message));
                }
                let types: Vec<_> = prepared.parameters.iter().map(|ty| Some(*ty)).collect();
                let declaration = Arc::clone(&prepared.statement);
                let prepared = Box::pin(self.prepare(Arc::clone(statement), &types)).await?;
                if matches!(prepared.statement.request, Request::Write(_)) {
                    return Err(Error::new(SqlState::SYNTAX_ERROR, "DECLARE CURSOR takes a query"));
                }
                if prepared.parameters.len() != parameters.len() {
                    let message = format!("there is no value for parameter ${}", parameters.len() + 1);
                    return Err(Error::new(SqlState::UNDEFINED_PARAMETER, message));
                }
                let prepared = Arc::new(prepared);
                let Outcome::Rows(rows) = Box::pin(self.run(&prepared, parameters)).await? else {
                    return Err(Error::new(SqlState::SYNTAX_ERROR, "DECLARE CURSOR takes a query"));
                };
                let declared = self.compiler.now();
                self.cursors_declared += 1;
                let number = self.cursors_declared;
                let cursor = Cursor { hold: *hold, scroll: *scroll, statement: declaration, declared, number };
                let state = match scroll {
                    true => PortalState::Scrolling(Box::new(ScrolledRows::new(rows, self.compiler.memory("cursor")))),
                    false => PortalState::Running(Box::new(rows)),
                };
                let cursor = Some(cursor);
                let (parameters, result_formats) = (Arc::default(), Vec::new());
                let portal = Portal { prepared, parameters, memory: None, result_formats, state, cursor };
                self.keep_portal(name, portal)?;
            }
            Command::Fetch { cursor, direction, rows } => return self.fetch(cursor, *direction, *rows).await,
            Command::CloseCursor(Some(name)) => {
                self.cursor(name)?;
                self.portals.remove(name);
            }
            Command::CloseCursor(None) => self.portals.retain(|_, portal| portal.cursor.is_none()),
            Command::Vacuum(vacuum) => {
                if self.transaction.status() != TransactionStatus::Idle {
                    let message = "VACUUM cannot run inside a transaction block";
                    return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
                }
                self.notices.extend(self.executor.vacuum(vacuum).await?);
            }
            Command::Analyze(tables) => self.notices.extend(self.executor.analyze(tables)?),
        }
        Ok(Outcome::Done(tag))
    }

    pub(super) fn cursor(&self, name: &str) -> Result<&Portal> {
        self.portals
            .get(name)
            .ok_or_else(|| Error::new(SqlState::UNDEFINED_CURSOR, format!("cursor \"{name}\" does not exist")))
    }

    fn texts(&self, prepared: &Prepared, verb: &'static str, rows: Vec<Vec<String>>) -> Result<Outcome> {
        let columns = prepared.columns.clone().unwrap_or_else(|| Arc::from([]));
        let schema = Arc::new(Schema::new(columns.iter().map(|column| Arc::clone(&column.field)).collect::<Vec<_>>()));
        let arrays = (0..columns.len())
            .map(|at| Arc::new(StringViewArray::from_iter_values(rows.iter().map(|row| &row[at]))) as ArrayRef)
            .collect();
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)
            .map_err(datafusion::common::DataFusionError::from)
            .map_err(from_datafusion)?;
        let batches = RecordBatchStreamAdapter::new(schema, stream::iter([Ok(batch)]));
        Ok(Outcome::Rows(Rows::new(columns, verb, Answer::new(Box::pin(batches)))))
    }
}
