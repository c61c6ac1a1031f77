//! One caller's session: statements in, rows out, and what lasts from one statement to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringViewArray};
use arrow::datatypes::Schema;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;

use super::entities_out::EntitiesOut;
use super::file_access::FileAccess;
use super::prepared_statements::PreparedStatements;
use crate::answer::Answer;
use crate::compiler::{Compiler, Prepared, SettingChanges, StatementContext, StatementSession};
use crate::compute::ComputeRuntime;
use crate::definitions::Definition;
use crate::executor::copy::{CopyIn, CopyOut};
use crate::executor::{Cursor, Executor, Portal, PortalState, Rows, ScrolledRows, ValuesMemory};
use crate::planner::Column;
use crate::registry::Registration;
use crate::session::transaction::{Transaction, TransactionStatus};
use crate::statement_statistics::{KnownEntry, RunningStatement, StatementReads};
use crate::system_catalog::CursorRow;
use crate::writes::ParameterValues;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::Value;
use rowkey_postgres::error::from_datafusion;
use rowkey_postgres::settings::{DEFINITIONS, Settings, is_transaction_mode};
use rowkey_postgres::syntax::{Command, Discard, Request, Statement, only};
use rowkey_postgres::types::{PostgresType, SqlValue, TextStyle, field, oid};

mod copy_progress;
mod counting;
mod cursors;
mod execute;
mod implicit_transactions;
mod new_properties;
mod settings;
mod values;
mod writing;

use values::{declared, type_named, value_as};
pub use writing::write_tag;

/// Portals of a session, most of which clients forget to close.
const PORTALS_MAX: usize = 10_000;
/// What others see of the text that a session runs.
const QUERY_SHOWN_BYTES_MAX: usize = 64 << 10;

/// A session. Its statements run one after the other.
#[derive(Debug)]
pub struct Session {
    compiler: Arc<Compiler>,
    executor: Executor,
    registration: Registration,
    user: String,
    settings: Settings,
    transaction: Transaction,
    prepared: PreparedStatements,
    portals: BTreeMap<String, Portal>,
    cursors_declared: u64,
    notices: Vec<Error>,
    /// Settings without effect of which the client was told.
    told_without_effect: BTreeSet<&'static str>,
    /// Settings that functions change while a statement runs.
    changes: SettingChanges,
    reads: StatementReads,
    /// The COPY whose rows come, or whose entities go.
    copying: Option<RunningStatement>,
    file_access: FileAccess,
}

/// What running a statement gave.
#[derive(Debug)]
pub enum Outcome {
    Rows(Rows),
    /// So many of the next rows of a cursor.
    FromCursor {
        name: String,
        rows_max: u64,
    },
    /// The tag of a statement without rows.
    Done(String),
    /// Rows are to come in; [`Session::finish_copy`] ends it.
    CopyIn(Box<CopyIn>),
    CopyOut(Box<CopyOut>),
    /// An export goes out; [`Session::finish_copy_out`] ends it.
    EntitiesOut(Box<EntitiesOut>),
}

impl Session {
    pub fn new(compiler: Arc<Compiler>, registration: Registration, user: &str, mut settings: Settings) -> Self {
        settings.tell("session_authorization", user);
        let given = settings.given_without_effect();
        let mut session = Self {
            executor: Executor::new(Arc::clone(&compiler)),
            registration,
            user: user.to_owned(),
            settings,
            transaction: Transaction::new(Arc::clone(compiler.compute()), compiler.memory_pool()),
            prepared: PreparedStatements::new(compiler.memory_of_prepared()),
            changes: SettingChanges::default(),
            reads: StatementReads::default(),
            copying: None,
            portals: BTreeMap::new(),
            cursors_declared: 0,
            notices: Vec::new(),
            told_without_effect: BTreeSet::new(),
            file_access: FileAccess::Nowhere,
            compiler,
        };
        given.into_iter().for_each(|definition| session.tell_without_effect(definition));
        session
    }

    /// Allows COPY TO to write files.
    pub fn allow_files(&mut self, access: FileAccess) {
        self.file_access = access;
    }

    pub(crate) fn file_access(&self) -> &FileAccess {
        &self.file_access
    }

    /// Runs one statement with values for its parameters, and gives its rows: none for a statement
    /// without.
    pub async fn sql(&mut self, text: &str, values: &[Value]) -> Result<Answer> {
        self.registration.signals().clear_commit();
        let types = values.iter().map(declared).collect::<Result<Vec<_>>>()?;
        let prepared = match self.prepared_before(text, &types) {
            Some(prepared) => Arc::new(prepared),
            None => self.prepare_text(text, values, &types).await?,
        };
        let style = self.style_of_values(&prepared.parameters);
        let mut bound = Vec::with_capacity(values.len());
        for (at, (value, ty)) in values.iter().zip(&prepared.parameters).enumerate() {
            let value = value_as(value, ty, &style)
                .map_err(|error| error.with_detail(format!("It is the value of parameter ${}.", at + 1)));
            bound.push(value?);
        }
        match self.run(&prepared, &bound.into()).await? {
            Outcome::Rows(rows) => Ok(rows.into_answer()),
            Outcome::Done(_) => Ok(Answer::empty()),
            Outcome::FromCursor { .. } => Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "FETCH needs a connection")),
            Outcome::CopyIn(_) | Outcome::CopyOut(_) | Outcome::EntitiesOut(_) => {
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "COPY needs a connection of the Postgres wire"))
            }
        }
    }

    /// Parses and plans a text of one statement, which has a parameter for each of the values.
    async fn prepare_text(
        &mut self,
        text: &str,
        values: &[Value],
        types: &[Option<&'static PostgresType>],
    ) -> Result<Arc<Prepared>> {
        let statement = Arc::new(only(self.parse(text).await?)?);
        let used = statement.parameters()?;
        if let Some(missing) = used.iter().find(|number| **number > values.len()) {
            let message = format!("parameter ${missing} has no value: {} given, numbered from $1", values.len());
            return Err(Error::new(SqlState::UNDEFINED_PARAMETER, message));
        }
        if let Some(unused) = (1..=values.len()).find(|number| !used.contains(number)) {
            let message = format!("a value is given for ${unused}, and the statement has no such parameter");
            return Err(Error::new(SqlState::UNDEFINED_PARAMETER, message));
        }
        let prepared = Arc::new(self.prepare(statement, types).await?);
        self.keep_plan(text, types, &prepared);
        Ok(prepared)
    }

    /// The statement of a text as it was planned before, by this session or another one, if it is
    /// planned the same now. `types` are those of [`Session::prepare`].
    pub fn prepared_before(&self, text: &str, types: &[Option<&'static PostgresType>]) -> Option<Prepared> {
        // Every statement fails, after its parse.
        if self.transaction.status() == TransactionStatus::Failed {
            return None;
        }
        let compiler = &self.compiler;
        let snapshot = self.transaction.snapshot_seen(|| compiler.snapshot());
        compiler.planned_before(text, types, &snapshot, &self.settings)
    }

    /// Keeps the plan of the only statement of a text, for [`Session::prepared_before`].
    pub fn keep_plan(&self, text: &str, types: &[Option<&'static PostgresType>], prepared: &Arc<Prepared>) {
        self.compiler.keep_plan(text, types, prepared);
    }

    pub(super) fn executor(&self) -> &Executor {
        &self.executor
    }

    pub(crate) fn compiler(&self) -> &Arc<Compiler> {
        &self.compiler
    }

    /// The threads for what computes for long.
    pub fn compute(&self) -> &Arc<ComputeRuntime> {
        self.compiler.compute()
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Names of the functions that statements may call, in their order.
    pub fn function_names(&self) -> Vec<String> {
        self.compiler.function_names()
    }

    pub fn registration(&self) -> &Registration {
        &self.registration
    }

    pub fn status(&self) -> TransactionStatus {
        self.transaction.status()
    }

    /// A statement begins to run.
    pub fn active(&self, text: &str) {
        let now = self.compiler.now();
        let name = self.settings.get("application_name").unwrap_or_default();
        self.registration.update(|activity| {
            name.clone_into(&mut activity.application_name);
            text[..text.floor_char_boundary(QUERY_SHOWN_BYTES_MAX)].clone_into(&mut activity.query);
            activity.state = "active";
            activity.query_began = Some(now);
            activity.transaction_began.get_or_insert(now);
        });
    }

    /// Nothing runs until the next request.
    pub fn idle(&self) {
        let status = self.transaction.status();
        self.registration.update(|activity| {
            activity.copy = None;
            activity.state = match status {
                TransactionStatus::Idle => "idle",
                TransactionStatus::InTransaction => "idle in transaction",
                TransactionStatus::Failed => "idle in transaction (aborted)",
            };
            if status == TransactionStatus::Idle {
                activity.transaction_began = None;
            }
        });
    }

    /// A statement failed: an open transaction fails with it.
    pub fn failed(&mut self) {
        self.changes.take();
        self.transaction.fail(&mut self.settings);
        if self.transaction.status() == TransactionStatus::Idle {
            self.end_portals();
        }
    }

    /// A statement ended well: what its functions set holds from now on.
    pub fn succeeded(&mut self) -> Result<()> {
        for change in self.changes.take() {
            if is_transaction_mode(&change.name) {
                self.transaction.set_mode(&change.name, Some(&change.value), true, &mut self.settings)?;
                continue;
            }
            self.set(&change.name, Some(&change.value), change.local)?;
        }
        Ok(())
    }

    /// Outside a transaction, the end of a request is the end of what it began.
    pub fn end_of_request(&mut self) {
        if self.transaction.status() == TransactionStatus::Idle {
            self.end_portals();
        }
    }

    fn end_portals(&mut self) {
        self.portals.retain(|_, portal| portal.cursor.as_ref().is_some_and(|cursor| cursor.hold));
    }

    /// Types the parameters and columns of a statement. `types` are those the client declares, by
    /// number; the rest is inferred.
    pub async fn prepare(
        &mut self,
        statement: Arc<Statement>,
        types: &[Option<&'static PostgresType>],
    ) -> Result<Prepared> {
        if !matches!(&statement.request, Request::Command(command) if command.ends_failure()) {
            self.transaction.refuse_if_failed()?;
        }
        let without_plan = |columns: Option<Vec<Column>>| Prepared {
            statement: Arc::clone(&statement),
            parameters: Vec::new(),
            columns: columns.map(Arc::from),
            prepared_micros: 0,
            from_sql: false,
            plan: None,
            style: None,
            counted: KnownEntry::default(),
        };
        match &statement.request {
            Request::Query(_) => {
                let context = self.context();
                let planned = Box::pin(self.compiler.plan(&context, &statement, None, types)).await?;
                Ok(Prepared { statement, ..planned })
            }
            Request::Write(_) => {
                let context = self.context();
                Box::pin(self.compiler.prepare_write(&context, &statement, types)).await
            }
            Request::Explain { statement: query, .. } => {
                let context = self.context();
                let planned = match rowkey_postgres::syntax::verb(query) {
                    Some(_) => Box::pin(self.compiler.prepare_write(&context, &statement, types)).await?,
                    None => Box::pin(self.compiler.plan(&context, &statement, None, types)).await?,
                };
                Ok(Prepared {
                    statement: Arc::clone(&statement),
                    columns: Some(Arc::from(text_columns(&["QUERY PLAN"]))),
                    ..planned
                })
            }
            Request::Nothing | Request::Copy(_) => Ok(without_plan(None)),
            Request::Define(definition) => {
                Ok(without_plan(Definition::columns(definition).map(|fields| {
                    fields.into_iter().map(|field| Column { field, origin: None, modifier: -1 }).collect()
                })))
            }
            // A cursor has the parameters of its query, but no rows before FETCH.
            Request::Command(Command::Declare { statement: query, .. }) => {
                let query = Box::pin(self.prepare(Arc::clone(query), types)).await?;
                Ok(Prepared { parameters: query.parameters, ..without_plan(None) })
            }
            Request::Command(command) => Ok(without_plan(match command {
                Command::Show(name) => {
                    let label =
                        rowkey_postgres::settings::definition(name).map_or(name.as_str(), |definition| definition.name);
                    Some(text_columns(&[label]))
                }
                Command::ShowAll => Some(text_columns(&["name", "setting", "description"])),
                Command::Fetch { cursor, rows: true, .. } => {
                    Some(self.cursor(cursor)?.prepared.columns.as_deref().unwrap_or_default().to_vec())
                }
                Command::ExplainExecute { .. } => Some(text_columns(&["QUERY PLAN"])),
                Command::Execute { name, .. } => self.statement(name)?.columns.as_deref().map(<[Column]>::to_vec),
                _ => None,
            })),
        }
    }

    /// Keeps a statement under a name. The unnamed one is replaced, others are not.
    ///
    /// # Errors
    /// `DUPLICATE_PREPARED_STATEMENT`, or `OUT_OF_MEMORY` where prepared statements have no more.
    pub fn keep_statement(&mut self, name: &str, prepared: Arc<Prepared>) -> Result<()> {
        self.prepared.keep(name, prepared)
    }

    pub fn statement(&self, name: &str) -> Result<Arc<Prepared>> {
        self.prepared.get(name)
    }

    pub fn close_statement(&mut self, name: &str) {
        self.prepared.remove(name);
    }

    /// Takes memory for values of so many bytes before they are read.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` if there is not enough.
    pub fn memory_of_values(&self, bytes: usize) -> Result<Option<ValuesMemory>> {
        ValuesMemory::take(bytes, self.compiler())
    }

    /// Binds values to a statement, under a name. The unnamed portal is replaced, others are not.
    pub fn bind(
        &mut self,
        name: &str,
        prepared: Arc<Prepared>,
        parameters: Arc<[SqlValue]>,
        memory: Option<ValuesMemory>,
        result_formats: Vec<i16>,
    ) -> Result<()> {
        if !matches!(&prepared.statement.request, Request::Command(command) if command.ends_failure()) {
            self.transaction.refuse_if_failed()?;
        }
        let state = PortalState::Ready;
        self.keep_portal(name, Portal { prepared, parameters, memory, result_formats, state, cursor: None })
    }

    fn keep_portal(&mut self, name: &str, portal: Portal) -> Result<()> {
        if !name.is_empty() && self.portals.contains_key(name) {
            return Err(Error::new(SqlState::DUPLICATE_CURSOR, format!("cursor \"{name}\" already exists")));
        }
        if self.portals.len() >= PORTALS_MAX {
            return Err(Error::new(SqlState::OUT_OF_MEMORY, format!("a session keeps at most {PORTALS_MAX} cursors")));
        }
        self.portals.insert(name.to_owned(), portal);
        Ok(())
    }

    pub fn portal(&self, name: &str) -> Result<&Portal> {
        self.portals.get(name).ok_or_else(|| unknown_portal(name))
    }

    pub fn close_portal(&mut self, name: &str) {
        self.portals.remove(name);
    }

    /// Takes a portal out to work on it; it is put back if it has more to give.
    pub fn take_portal(&mut self, name: &str) -> Result<Portal> {
        self.portals.remove(name).ok_or_else(|| unknown_portal(name))
    }

    pub fn put_portal(&mut self, name: &str, portal: Portal) {
        self.portals.insert(name.to_owned(), portal);
    }

    async fn run_uncounted(&mut self, prepared: &Arc<Prepared>, parameters: &Arc<[SqlValue]>) -> Result<Outcome> {
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
                        return Ok(Outcome::EntitiesOut(Box::new(entities)));
                    }
                    let context = self.context();
                    let copied = Box::pin(self.executor.copy_out(context, prepared, copy)).await?;
                    return Ok(Outcome::CopyOut(Box::new(copied)));
                }
                self.refuse_if_read_only("COPY FROM")?;
                let context = self.context();
                let budget = self.transaction.memory_budget();
                let is_in_block = self.transaction.status() != TransactionStatus::Idle;
                let copy = self.executor.copy_in(&context, prepared, copy, budget, is_in_block)?;
                Ok(Outcome::CopyIn(Box::new(copy)))
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
        }
        Ok(Outcome::Done(tag))
    }

    fn cursor(&self, name: &str) -> Result<&Portal> {
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

    /// How values of these types are read from texts by a statement that begins now.
    pub fn style_of_values(&mut self, types: &[&'static PostgresType]) -> Arc<TextStyle> {
        // `now` and `today` say when.
        let is_moment = |ty: &PostgresType| [oid::DATE, oid::TIMESTAMP, oid::TIMESTAMPTZ].contains(&ty.oid);
        if !types.iter().any(|ty| is_moment(ty) || ty.element().is_some_and(is_moment)) {
            return Arc::clone(self.settings.style());
        }
        let compiler = &self.compiler;
        let now = self.transaction.now(|| compiler.now());
        Arc::new(self.settings.style().at(now.micros()))
    }

    /// What a statement runs with: the snapshot of the transaction, or the newest one.
    pub(crate) fn context(&mut self) -> StatementContext {
        let compiler = &self.compiler;
        let snapshot = self.transaction.snapshot(|| compiler.snapshot());
        let session = StatementSession {
            settings: self.settings.clone(),
            user: self.user.clone(),
            pid: self.registration.pid,
            prepared: self.prepared.shown(),
            cursors: self.portals.iter().filter(|(name, _)| !name.is_empty()).map(CursorRow::from).collect(),
            registry: Arc::clone(self.registration.registry()),
            changes: self.changes.clone(),
            reads: self.reads.clone(),
        };
        StatementContext {
            snapshot,
            session: Arc::new(session),
            now: self.transaction.now(|| compiler.now()),
            signals: self.registration.signals().of_statement(),
        }
    }
}

fn unknown_portal(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_CURSOR, format!("portal \"{name}\" does not exist"))
}

fn text_columns(names: &[&str]) -> Vec<Column> {
    names
        .iter()
        .map(|name| Column { field: Arc::new(field(name, "text", false)), origin: None, modifier: -1 })
        .collect()
}
