//! One caller's session: statements in, rows out, and what lasts from one statement to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::entities_out::EntitiesOut;
use super::file_access::FileAccess;
use super::prepared_statements::PreparedStatements;
use crate::answer::Answer;
use crate::compiler::{Compiler, Prepared, SettingChanges, StatementContext, StatementSession};
use crate::compute::ComputeRuntime;
use crate::definitions::Definition;
use crate::executor::copy::{CopyIn, CopyOut, imports_entities};
use crate::executor::{Executor, Portal, PortalState, Rows, ValuesMemory};
use crate::export_files::ExportFiles;
use crate::planner::Column;
use crate::registry::Registration;
use crate::session::transaction::{Transaction, TransactionStatus};
use crate::statement_statistics::{KnownEntry, RunningStatement, StatementReads};
use crate::system_catalog::CursorRow;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::Value;
use rowkey_postgres::settings::{Settings, is_transaction_mode};
use rowkey_postgres::syntax::{Command, Request, Statement, only};
use rowkey_postgres::types::{PostgresType, SqlValue, TextStyle, field, oid};

mod copy_progress;
mod counting;
mod cursors;
mod execute;
mod implicit_transactions;
mod new_properties;
mod run;
mod settings;
mod values;
mod writing;

use values::{declared, value_as};
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
    /// Exports read as tables, if it may read all files.
    exports: Option<Arc<ExportFiles>>,
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
    Copy(Copying),
}

/// A COPY whose data the caller brings or takes.
#[derive(Debug)]
pub enum Copying {
    /// Rows are to come in; [`Session::finish_copy`] ends it.
    In(Box<CopyIn>),
    Out(Box<CopyOut>),
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
            exports: None,
            compiler,
        };
        given.into_iter().for_each(|definition| session.tell_without_effect(definition));
        session
    }

    /// Allows COPY TO to write files, and where it may write all, queries to read exports.
    pub fn allow_files(&mut self, access: FileAccess) {
        self.exports = (access == FileAccess::Anywhere).then(Arc::default);
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
            Outcome::Copy(_) => {
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

    /// Whether a statement is a COPY of entities, which runs in no transaction block, not even in
    /// that of the statements that are sent with it.
    pub fn imports_entities(&self, prepared: &Prepared) -> bool {
        imports_entities(&prepared.statement)
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
            Request::Explain { statement: query, options } => {
                let context = self.context();
                let planned = match rowkey_postgres::syntax::verb(query) {
                    None if options.keep => {
                        let message = "EXPLAIN option KEEP is for statements that write";
                        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
                    }
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

    /// Takes memory for values of so many bytes, some of them in arrays, before they are read.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` if there is not enough.
    pub fn memory_of_values(&self, bytes: usize, in_arrays: usize) -> Result<Option<ValuesMemory>> {
        ValuesMemory::take(bytes, in_arrays, self.compiler())
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
            exports: self.exports.clone(),
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
