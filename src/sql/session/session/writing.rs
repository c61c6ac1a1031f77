//! Writes of a session: definitions, DML, COPY FROM.

use std::sync::Arc;

use bytes::Bytes;
use datafusion::sql::sqlparser::ast;

use super::{Outcome, Session};
use crate::access::AccessPath;
use crate::answer::Answer;
use crate::compiler::Prepared;
use crate::definitions::Definition;
use crate::executor::copy::{CopyIn, RowsIn};
use crate::executor::{Ran, Rows};
use crate::session::commit::{self, Commit};
use crate::session::transaction::TransactionStatus;
use crate::writes::{ParameterValues, SharedWriteSet, UndoneWrites, WriteMemory};
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::syntax::Literal;
use rowkey_postgres::syntax::Request;
use rowkey_postgres::types::SqlValue;
use rowkey_storage::{Operation, Snapshot, Table, TableHold};

/// How often a statement runs because other transactions were first.
pub(super) const WRITE_ATTEMPTS_MAX: usize = 200;
/// After so many attempts, the statement holds its table; a large one after the first.
const ATTEMPTS_BESIDE_OTHERS: usize = 3;
/// A statement with so many operations is large.
const LARGE_OPERATIONS: usize = 1000;
/// Bytes of COPY FROM between two looks for a cancel request.
const BYTES_COPIED_AT_ONCE: usize = 64 << 10;
/// A write set of so many bytes is read on the thread of the session.
const WRITTEN_HERE_BYTES_MAX: u64 = 64 << 10;
/// How often a definition is tried because other transactions changed the catalog first.
const DEFINITION_ATTEMPTS_MAX: usize = 200;

impl Session {
    /// Commits the definitions and the write set of the block. If that fails, the block is rolled
    /// back.
    pub(super) async fn commit_writes(&mut self, hold: Option<&Arc<TableHold>>) -> Result<()> {
        if self.transaction.status() != TransactionStatus::InTransaction {
            return Ok(());
        }
        let (operations, planned, memory) = self.written_operations().await?;
        let signals = self.registration.signals();
        let committed = match self.transaction.definitions() {
            Some(definitions) => {
                let hold = hold.cloned();
                commit::commit_definitions(&self.compiler, definitions, operations, hold, memory, signals)
                    .await
                    .map(drop)
            }
            None if operations.is_empty() => return Ok(()),
            None => {
                let commit = Commit { operations, hold, planned: &planned, memory };
                commit::commit(&self.compiler, commit, signals).await.map(drop)
            }
        };
        if committed.is_err() {
            self.transaction.end(false, &mut self.settings);
            self.end_portals();
        }
        committed
    }

    /// What the block has written, and the tables of it as the block saw them first, without those
    /// of its own.
    async fn written_operations(&mut self) -> Result<(Vec<Operation<'static>>, Vec<Arc<Table>>, Option<WriteMemory>)> {
        let Some(write_set) = self.transaction.write_set() else { return Ok((Vec::new(), Vec::new(), None)) };
        let seen = self.transaction.first_snapshot();
        let has_row_locks = write_set.lock().has_row_locks();
        let held_bytes = self.transaction.held_bytes();
        if held_bytes <= WRITTEN_HERE_BYTES_MAX && !has_row_locks {
            let (operations, planned) = operations_of(write_set, seen);
            return Ok((operations, planned, None));
        }
        let (write_set, seen) = (write_set.clone(), seen.cloned());
        let (files, signals) = (Arc::clone(self.compiler.store().files()), self.registration.signals().of_statement());
        let of_work = Arc::clone(&signals);
        let mut memory = WriteMemory::of(self.compiler.memory_pool());
        let written = async move {
            // The operations, and what of them is encoded for the log and the delta.
            memory.resize(held_bytes * 2)?;
            let (mut operations, mut planned) = operations_of(&write_set, seen.as_ref());
            if let (true, Some(seen)) = (has_row_locks, seen) {
                let locked = write_set.lock().locked_keys(&operations);
                for keys in locked {
                    operations.extend(keys.operations(&seen, &files, &of_work).await?);
                }
                planned = seen.tables_of(&operations);
            }
            Ok((operations, planned, Some(memory)))
        };
        self.compute().run(&signals, written).await
    }

    /// The writes of the block as they were at a savepoint; `None` if there is no such.
    pub(super) async fn write_set_at(&mut self, savepoint: &str) -> Result<Option<UndoneWrites>> {
        let held_bytes = self.transaction.held_bytes();
        let Some((write_set, mark)) = self.transaction.write_set_to_undo(savepoint) else { return Ok(None) };
        if held_bytes <= WRITTEN_HERE_BYTES_MAX {
            return Ok(Some(write_set.lock().undone(&mark)));
        }
        let signals = self.registration.signals().of_statement();
        self.compute().run(&signals, async move { Ok(Some(write_set.lock().undone(&mark))) }).await
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
            let base = Arc::clone(&context.snapshot.catalog);
            // It may be the last one that reads an older snapshot.
            self.compute().drop_apart(context);
            if let (true, None, Some(first)) = (is_alone, &hold, rewritten.first()) {
                // Other transactions may not write to it while all of it is read and written.
                hold = Some(Arc::new(commit::hold_table(self.compiler.store(), first.table).await?));
                continue;
            }
            let committed = if is_alone && rewritten.is_empty() {
                commit::commit_edits(self.compiler.store(), edits, base).await
            } else {
                self.transaction.begin_implicit(&mut self.settings)?;
                let context = self.context();
                for rewritten in &rewritten {
                    let budget = self.transaction.memory_budget();
                    if let Some(write_set) = self.transaction.write_set() {
                        self.executor.rewrite(&context, rewritten, write_set, budget).await?;
                    }
                }
                self.compute().drop_apart(context);
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
        let Request::Write(written) = &prepared.statement.request else { return Ok(None) };
        let running = self.begin_counting(prepared);
        let outcome = self.write_by_key(prepared, written, ParameterValues::Literals(literals)).await?;
        Ok(match running {
            Some(running) => outcome.map(|outcome| self.counted(running, outcome)),
            None => outcome,
        })
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
        if !key_write.is_small(values) {
            return Ok(None);
        }
        let is_transaction = self.transaction.status() == TransactionStatus::Idle;
        let mut attempt = 1;
        let mut turn: Option<Arc<TableHold>> = None;
        loop {
            self.registration.signals().check()?;
            let (compiler, executor) = (&self.compiler, &self.executor);
            let snapshot = self.transaction.snapshot(|| compiler.snapshot());
            let budget = self.transaction.memory_budget();
            let files = compiler.store().files();
            let written =
                key_write.operations(files, &snapshot, &self.settings, values, is_transaction, budget).await?;
            let Some((table, result)) = written else { return Ok(None) };
            if !is_transaction && !result.skipped.is_empty() {
                executor.refuse_if_deleted(&table, &result.skipped, self.registration.signals()).await?;
            }
            let now = self.transaction.now(|| compiler.now());
            if let Some(write_set) = self.transaction.write_set() {
                write_set.add(&table, result.operations, now, self.registration.signals())?;
            } else {
                let (operations, planned) = (result.operations, std::slice::from_ref(&table.table));
                if !operations.is_empty() {
                    let commit = Commit { operations, hold: turn.as_ref(), planned, memory: None };
                    match commit::commit(compiler, commit, self.registration.signals()).await {
                        // What it has read is out of date: it runs again.
                        Err(error)
                            if error.sqlstate() == SqlState::SERIALIZATION_FAILURE && attempt < WRITE_ATTEMPTS_MAX =>
                        {
                            attempt += 1;
                            drop(turn.take());
                            let store = self.compiler.store();
                            turn = commit::turn_at_held_table(store, table.table.id).await?.map(Arc::new);
                            continue;
                        }
                        committed => committed?,
                    };
                }
            }
            // An INSERT reads nothing, but looks whether its keys are there.
            if verb != "INSERT" {
                self.reads.add_by_key(AccessPath::Point, result.count);
            }
            return Ok(Some(Outcome::Done(write_tag(verb, result.count))));
        }
    }

    /// Runs a statement whose table has the columns that it names: it commits at once, and runs
    /// again if another transaction was first; in a transaction block it adds to the write set.
    pub(super) async fn write_rows(
        &mut self,
        prepared: &Arc<Prepared>,
        verb: &'static str,
        parameters: &Arc<[SqlValue]>,
    ) -> Result<Outcome> {
        let mut attempt = 1;
        let mut hold: Option<Arc<TableHold>> = None;
        loop {
            let context = self.context();
            let budget = self.transaction.memory_budget();
            let write_set = self.transaction.write_set();
            let Ran { table, count, operations, mut answer, returning, memory } =
                self.executor.run_write(context, prepared, parameters, write_set, budget).await?;
            if !operations.is_empty() {
                let is_large = operations.len() >= LARGE_OPERATIONS;
                let planned = std::slice::from_ref(&table);
                let commit = Commit { operations, hold: hold.as_ref(), planned, memory: Some(memory) };
                let committed = match commit::commit(&self.compiler, commit, self.registration.signals()).await {
                    // What it has read is out of date: it runs again.
                    Err(error)
                        if error.sqlstate() == SqlState::SERIALIZATION_FAILURE && attempt < WRITE_ATTEMPTS_MAX =>
                    {
                        attempt += 1;
                        let store = self.compiler.store();
                        if (is_large || attempt > ATTEMPTS_BESIDE_OTHERS) && hold.is_none() {
                            hold = Some(Arc::new(commit::hold_table(store, table.id).await?));
                        } else {
                            commit::settled(store).await?;
                        }
                        continue;
                    }
                    committed => committed?,
                };
                if let Some(returning) = returning {
                    let timestamp = committed.timestamp;
                    let returned = self.executor.returning(*returning, prepared, timestamp, parameters);
                    answer = returned.await?;
                }
            }
            return Ok(written(prepared, verb, count, answer));
        }
    }

    /// Reads bytes of a COPY FROM, cut anywhere: few rows at once, many on a compute thread; those
    /// of entities are for their import.
    ///
    /// # Errors
    /// Of a line that is no row, or of the import, which ends the COPY; cancellation.
    pub async fn read_copied(&mut self, mut copy: Box<CopyIn>, bytes: Bytes) -> Result<Box<CopyIn>> {
        let read = bytes.len();
        match *copy {
            CopyIn::Rows(rows) => *copy = CopyIn::Rows(self.read_rows(rows, bytes).await?),
            CopyIn::Entities(ref mut entities) => entities.push(bytes).await?,
        }
        self.copied(read, copy.rows());
        Ok(copy)
    }

    async fn read_rows(&mut self, mut copy: Box<RowsIn>, bytes: Bytes) -> Result<Box<RowsIn>> {
        if copy.is_small_beside(&bytes) {
            copy.push(&bytes)?;
            return Ok(copy);
        }
        let signals = self.registration.signals().of_statement();
        let of_work = Arc::clone(&signals);
        let read = async move {
            for some in bytes.chunks(BYTES_COPIED_AT_ONCE) {
                of_work.check()?;
                copy.push(some)?;
            }
            Ok(copy)
        };
        self.compute().run(&signals, read).await
    }

    pub(super) async fn finish_uncounted_copy(&mut self, copy: CopyIn) -> Result<String> {
        let rows = match copy {
            CopyIn::Rows(rows) => rows,
            CopyIn::Entities(entities) => {
                let (count, notices) = entities.finish().await?;
                self.notices.extend(notices);
                return Ok(format!("COPY {count}"));
            }
        };
        let now = self.compiler.now();
        let signals = self.registration.signals();
        let write_set = self.transaction.write_set();
        let ran = self.executor.finish_copy(*rows, now, signals, write_set).await?;
        let Ran { table, count, operations, memory, .. } = ran;
        if !operations.is_empty() {
            let commit = Commit { operations, hold: None, planned: std::slice::from_ref(&table), memory: Some(memory) };
            commit::commit(&self.compiler, commit, signals).await?;
        }
        Ok(format!("COPY {count}"))
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

/// What a statement that wrote gives: the rows of RETURNING, its plan, or its tag.
pub(super) fn written(prepared: &Prepared, verb: &'static str, count: u64, answer: Option<Answer>) -> Outcome {
    let verb = if matches!(prepared.statement.request, Request::Explain { .. }) { "EXPLAIN" } else { verb };
    match (answer, &prepared.columns) {
        (Some(answer), Some(columns)) => Outcome::Rows(Rows::new(Arc::clone(columns), verb, answer)),
        _ => Outcome::Done(write_tag(verb, count)),
    }
}

/// What a write set comes to, and the tables of it in the snapshot that its block saw first.
fn operations_of(write_set: &SharedWriteSet, seen: Option<&Snapshot>) -> (Vec<Operation<'static>>, Vec<Arc<Table>>) {
    let operations = write_set.lock().operations();
    let planned = seen.map_or_else(Vec::new, |seen| seen.tables_of(&operations));
    (operations, planned)
}

/// The tag of a statement that wrote.
pub fn write_tag(verb: &str, rows: u64) -> String {
    if verb == "INSERT" { format!("INSERT 0 {rows}") } else { format!("{verb} {rows}") }
}
