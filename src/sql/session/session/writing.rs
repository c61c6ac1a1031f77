//! Writes of a session: definitions, DML, COPY FROM.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast;

use super::{Outcome, Session};
use crate::answer::Answer;
use crate::compiler::Prepared;
use crate::definitions::Definition;
use crate::executor::Rows;
use crate::executor::copy::CopyIn;
use crate::session::commit;
use crate::session::transaction::TransactionStatus;
use crate::writes::{ParameterValues, returns_timestamp};
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::syntax::Literal;
use rowkey_postgres::syntax::Request;
use rowkey_postgres::types::SqlValue;
use rowkey_storage::{TableHold, Terms};

/// How often a statement runs because other transactions were first.
const WRITE_ATTEMPTS_MAX: usize = 200;
/// After so many attempts, the statement holds its table; a large one after the first.
const ATTEMPTS_BESIDE_OTHERS: usize = 3;
/// A statement with so many operations is large.
const LARGE_OPERATIONS: usize = 1000;
/// How often a definition is tried because other transactions changed the catalog first.
const DEFINITION_ATTEMPTS_MAX: usize = 200;

impl Session {
    /// Commits the definitions and the write set of the block. If that fails, the block is rolled
    /// back.
    pub(super) async fn commit_writes(&mut self, hold: Option<&TableHold>) -> Result<()> {
        if self.transaction.status() != TransactionStatus::InTransaction {
            return Ok(());
        }
        let operations = self.transaction.write_set().map(|writes| writes.operations()).unwrap_or_default();
        let signals = self.registration.signals();
        let committed = match self.transaction.definitions() {
            Some(definitions) => {
                commit::commit_definitions(self.compiler.store(), &definitions, &operations, hold, signals).await
            }
            None if operations.is_empty() => return Ok(()),
            None => {
                let planned = self.transaction.tables_seen(&operations);
                commit::commit(self.compiler.store(), &operations, Terms { hold, planned: &planned }, signals)
                    .await
                    .map(drop)
            }
        };
        if committed.is_err() {
            self.transaction.end(false, &mut self.settings);
            self.end_portals();
        }
        committed
    }

    /// Runs a definition: it commits at once, or with the transaction block.
    pub(super) async fn define(&mut self, prepared: &Arc<Prepared>, definition: &ast::Statement) -> Result<Outcome> {
        self.transaction.refuse_if_failed()?;
        let tag = Definition::tag(definition);
        self.refuse_if_read_only(tag)?;
        let mut attempt = 1;
        let mut hold = None;
        let defined = loop {
            let is_alone = self.transaction.status() == TransactionStatus::Idle;
            let context = self.context();
            let mut defined = self.compiler.definition(&context, &prepared.statement, definition).await?;
            let edits = std::mem::take(&mut defined.edits);
            let rewritten = std::mem::take(&mut defined.rewritten);
            if edits.is_empty() {
                break defined;
            }
            if let (true, None, Some(first)) = (is_alone, &hold, rewritten.first()) {
                // Other transactions may not write to it while all of it is read and written.
                hold = Some(commit::hold_table(self.compiler.store(), first.table).await?);
                continue;
            }
            let committed = if is_alone && rewritten.is_empty() {
                commit::commit_edits(self.compiler.store(), edits, Arc::clone(&context.snapshot.catalog)).await
            } else {
                self.transaction.begin_implicit(&mut self.settings)?;
                let context = self.context();
                for rewritten in &rewritten {
                    let held = self.transaction.held_bytes();
                    let (table, operations) = self.executor.rewritten(&context, rewritten, held).await?;
                    if let Some(write_set) = self.transaction.write_set() {
                        write_set.add(&table, operations, context.now)?;
                    }
                }
                self.transaction.define(edits, rewritten.iter().map(|rewritten| rewritten.table))?;
                if is_alone { self.commit_implicit_holding(hold.as_ref()).await } else { Ok(()) }
            };
            match committed {
                // Another transaction was first: the statement is analyzed again.
                Err(error)
                    if is_alone
                        && error.sqlstate() == SqlState::SERIALIZATION_FAILURE
                        && attempt < DEFINITION_ATTEMPTS_MAX =>
                {
                    attempt += 1;
                    commit::settled(self.compiler.store()).await?;
                }
                committed => {
                    committed?;
                    break defined;
                }
            }
        };
        self.notices.extend(defined.notices.into_iter().map(|notice| {
            let error = Error::new(SqlState::SUCCESSFUL_COMPLETION, notice.message);
            match notice.detail {
                Some(detail) => error.with_detail(detail),
                None => error,
            }
        }));
        match (defined.rows, &prepared.columns) {
            (Some(rows), Some(columns)) => Ok(Outcome::Rows(Rows::new(Arc::clone(columns), tag, Answer::of(rows)))),
            _ => Ok(Outcome::Done(tag.to_owned())),
        }
    }

    /// Runs a write by key with literals for its parameters; `None` if the statement has to be run
    /// as it was written.
    pub async fn run_key_write(&mut self, prepared: &Prepared, literals: &[Literal]) -> Result<Option<Outcome>> {
        match &prepared.statement.request {
            Request::Write(written) => self.write_by_key(prepared, written, ParameterValues::Literals(literals)).await,
            _ => Ok(None),
        }
    }

    /// Whether a write by key means the same in the next statement as when it was prepared.
    pub(crate) fn is_as_prepared(&self, prepared: &Prepared) -> bool {
        let snapshot = self.transaction.snapshot_seen(|| self.compiler.snapshot());
        prepared.key_write().is_some_and(|write| write.fits(&snapshot, &self.settings))
    }

    /// Runs a write by key; `None` if the statement is none, or has to be run as any other.
    pub(super) async fn write_by_key(
        &mut self,
        prepared: &Prepared,
        written: &ast::Statement,
        values: ParameterValues<'_>,
    ) -> Result<Option<Outcome>> {
        let Some(key_write) = prepared.key_write() else { return Ok(None) };
        self.transaction.refuse_if_failed()?;
        let verb = rowkey_postgres::syntax::verb(written).unwrap_or_default();
        self.refuse_if_read_only(verb)?;
        let is_transaction = self.transaction.status() == TransactionStatus::Idle;
        let mut attempt = 1;
        let mut turn = None;
        loop {
            self.registration.signals().check()?;
            let (compiler, executor) = (&self.compiler, &self.executor);
            let snapshot = self.transaction.snapshot(|| compiler.snapshot());
            let held = self.transaction.held_bytes();
            let files = compiler.store().files();
            let written = key_write.operations(files, &snapshot, &self.settings, values, is_transaction, held).await?;
            let Some((table, result)) = written else { return Ok(None) };
            if !is_transaction && !result.skipped.is_empty() {
                executor.refuse_if_deleted(&table, &result.skipped, self.registration.signals()).await?;
            }
            let now = self.transaction.now(|| compiler.now());
            if let Some(write_set) = self.transaction.write_set() {
                write_set.add(&table, result.operations, now)?;
            } else {
                let operations = &result.operations;
                let terms = Terms { hold: turn.as_ref(), planned: std::slice::from_ref(&table.table) };
                if !operations.is_empty() {
                    match commit::commit(compiler.store(), operations, terms, self.registration.signals()).await {
                        // What it has read is out of date: it runs again.
                        Err(error)
                            if error.sqlstate() == SqlState::SERIALIZATION_FAILURE && attempt < WRITE_ATTEMPTS_MAX =>
                        {
                            attempt += 1;
                            drop(turn.take());
                            turn = commit::turn_at_held_table(self.compiler.store(), table.table.id).await?;
                            continue;
                        }
                        committed => committed?,
                    };
                }
            }
            return Ok(Some(Outcome::Done(write_tag(verb, result.count))));
        }
    }

    /// Runs a statement that writes: it commits at once, and runs again if another transaction was
    /// first; in a transaction block it adds to the write set.
    pub(super) async fn write(
        &mut self,
        prepared: &Arc<Prepared>,
        written: &ast::Statement,
        parameters: &[SqlValue],
    ) -> Result<Outcome> {
        self.transaction.refuse_if_failed()?;
        let verb = rowkey_postgres::syntax::verb(written).unwrap_or_default();
        self.refuse_if_read_only(verb)?;
        let is_transaction = self.transaction.status() == TransactionStatus::Idle;
        let mut attempt = 1;
        let mut hold = None;
        loop {
            let context = self.context();
            let held = self.transaction.held_bytes();
            let (write, mut result, mut answer) =
                self.executor.run_write(&context, prepared, parameters, is_transaction, held).await?;
            let operations = std::mem::take(&mut result.operations);
            match self.transaction.write_set() {
                Some(write_set) => write_set.add(&write.target.snapshot, operations, context.now)?,
                None => {
                    let table = write.target.table().id;
                    if !operations.is_empty() {
                        let signals = self.registration.signals();
                        let planned = std::slice::from_ref(&write.target.snapshot.table);
                        let terms = Terms { hold: hold.as_ref(), planned };
                        let committed = match commit::commit(self.compiler.store(), &operations, terms, signals).await {
                            // What it has read is out of date: it runs again.
                            Err(error)
                                if error.sqlstate() == SqlState::SERIALIZATION_FAILURE
                                    && attempt < WRITE_ATTEMPTS_MAX =>
                            {
                                attempt += 1;
                                let is_large = operations.len() >= LARGE_OPERATIONS;
                                if (is_large || attempt > ATTEMPTS_BESIDE_OTHERS) && hold.is_none() {
                                    hold = Some(commit::hold_table(self.compiler.store(), table).await?);
                                } else {
                                    commit::settled(self.compiler.store()).await?;
                                }
                                continue;
                            }
                            committed => committed?,
                        };
                        if result.returned.are_written && returns_timestamp(&write) {
                            result.returned.set_timestamp(committed.timestamp);
                            let returned =
                                self.executor.returning(&context, prepared, write, result.returned, parameters);
                            answer = returned.await?;
                        }
                    }
                }
            }
            return Ok(match (answer, &prepared.columns) {
                (Some(answer), Some(columns)) => Outcome::Rows(Rows::new(Arc::clone(columns), verb, answer)),
                _ => Outcome::Done(write_tag(verb, result.count)),
            });
        }
    }

    /// Writes the rows of a COPY FROM; gives the tag.
    pub async fn finish_copy(&mut self, copy: CopyIn) -> Result<String> {
        let now = self.compiler.now();
        let is_transaction = self.transaction.status() == TransactionStatus::Idle;
        let signals = self.registration.signals();
        let (target, operations) = self.executor.finish_copy(copy, signals, is_transaction).await?;
        let rows = operations.len();
        match self.transaction.write_set() {
            Some(write_set) => write_set.add(&target.snapshot, operations, now)?,
            None if operations.is_empty() => {}
            None => {
                let terms = Terms { hold: None, planned: std::slice::from_ref(&target.snapshot.table) };
                commit::commit(self.compiler.store(), &operations, terms, signals).await?;
            }
        }
        Ok(format!("COPY {rows}"))
    }

    pub(super) fn refuse_if_read_only(&self, tag: &str) -> Result<()> {
        if self.settings.limits().is_read_only {
            let message = format!("cannot execute {tag} in a read-only transaction");
            let error = Error::new(SqlState::READ_ONLY_SQL_TRANSACTION, message);
            return Err(match self.settings.allows_writes() {
                true => error,
                false => error.with_detail("The data folder is open for reading only."),
            });
        }
        Ok(())
    }
}

/// The tag of a statement that wrote.
pub fn write_tag(verb: &str, rows: u64) -> String {
    if verb == "INSERT" { format!("INSERT 0 {rows}") } else { format!("{verb} {rows}") }
}
