//! What a session writes: definitions, entities, rows that are copied in.

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
use crate::writes;
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::syntax::Literal;
use rowkey_postgres::syntax::Request;
use rowkey_postgres::types::SqlValue;
use rowkey_storage::{Operation, TableHold, Terms};

/// How often a statement reads again because somebody else was faster.
const WRITE_ATTEMPTS_MAX: usize = 200;
/// After so many attempts, others wait for the statement; for one that writes much, after the
/// first.
const ATTEMPTS_BESIDE_OTHERS: usize = 3;
/// That is much.
const LARGE_OPERATIONS: usize = 1000;
/// How often a definition is tried again after somebody else changed the catalog first.
const DEFINITION_ATTEMPTS_MAX: usize = 200;

impl Session {
    /// Commits what the block has defined and written. If that fails, the block is over and nothing
    /// of it stays.
    pub(super) async fn commit_writes(&mut self, hold: Option<&TableHold>) -> Result<()> {
        if self.transaction.status() != TransactionStatus::InTransaction {
            return Ok(());
        }
        let operations = self.transaction.own().map(|own| own.operations()).unwrap_or_default();
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

    /// Defines something: at once, or as part of the transaction block.
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
                // Nobody may write to it while all of it is read and written.
                hold = Some(commit::hold_table(self.compiler.store(), first.table).await?);
                continue;
            }
            let committed = if is_alone && rewritten.is_empty() {
                commit::commit_edits(self.compiler.store(), edits, Arc::clone(&context.snapshot.catalog)).await
            } else {
                self.transaction.begin_implicit(&mut self.settings)?;
                let context = self.context();
                for rewritten in &rewritten {
                    let held = self.transaction.own().map_or(0, |own| own.memory_bytes());
                    let files = self.compiler.store().files();
                    let changed = rewritten.changed_entities(files, &context.snapshot, &context.signals, held);
                    let (table, changes) = changed.await?;
                    if let Some(own) = self.transaction.own() {
                        own.add(&table, changes, context.now)?;
                    }
                }
                self.transaction.define(edits, rewritten.iter().map(|rewritten| rewritten.table))?;
                if is_alone { self.commit_implicit_holding(hold.as_ref()).await } else { Ok(()) }
            };
            match committed {
                // Somebody else was first: the statement is read again, against what there is now.
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

    /// Runs a write of few keys with literals for its parameters; `None` if the statement has to be
    /// run as it was written.
    pub async fn run_key_write(&mut self, prepared: &Prepared, literals: &[Literal]) -> Result<Option<Outcome>> {
        match &prepared.statement.request {
            Request::Write(written) => self.write_by_key(prepared, written, writes::Values::Written(literals)).await,
            _ => Ok(None),
        }
    }

    /// Whether a write of few keys is the same for the next statement as when it was prepared.
    pub(crate) fn is_as_prepared(&self, prepared: &Prepared) -> bool {
        let snapshot = self.transaction.snapshot_seen(|| self.compiler.snapshot());
        prepared.key_write.as_ref().is_some_and(|write| write.fits(&snapshot, &self.settings))
    }

    /// Writes entities of given keys; `None` if the statement is not of that kind, or has to be run
    /// in another way.
    pub(super) async fn write_by_key(
        &mut self,
        prepared: &Prepared,
        written: &ast::Statement,
        values: writes::Values<'_>,
    ) -> Result<Option<Outcome>> {
        if prepared.key_write.is_none() {
            return Ok(None);
        }
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
            let held = self.transaction.own().map_or(0, |own| own.memory_bytes());
            let found = executor.key_changes(&snapshot, &self.settings, prepared, values, is_transaction, held).await?;
            let Some(found) = found else { return Ok(None) };
            if let (false, Some(kept)) = (is_transaction, &found.kept) {
                let signals = self.registration.signals();
                executor.refuse_if_deleted(&found.table, std::slice::from_ref(kept), signals).await?;
            }
            let now = self.transaction.now(|| compiler.now());
            if let Some(own) = self.transaction.own() {
                own.add(&found.table, found.changes, now)?;
            } else {
                let table = found.table.table.id;
                let changes = found.changes.iter();
                let operations: Vec<Operation<'_>> = changes.filter_map(|change| change.operation(table)).collect();
                let terms = Terms { hold: turn.as_ref(), planned: std::slice::from_ref(&found.table.table) };
                if !operations.is_empty() {
                    match commit::commit(self.compiler.store(), &operations, terms, self.registration.signals()).await {
                        // What it has read is out of date: it reads again.
                        Err(error)
                            if error.sqlstate() == SqlState::SERIALIZATION_FAILURE && attempt < WRITE_ATTEMPTS_MAX =>
                        {
                            attempt += 1;
                            drop(turn.take());
                            turn = commit::turn_at_held_table(self.compiler.store(), table).await?;
                            continue;
                        }
                        committed => committed?,
                    };
                }
            }
            return Ok(Some(Outcome::Done(write_tag(verb, found.count))));
        }
    }

    /// Writes: at once and again if somebody was faster, or as part of the transaction block.
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
            let held = self.transaction.own().map_or(0, |own| own.memory_bytes());
            let (write, mut done) =
                self.executor.changes(&context, prepared, written, parameters, is_transaction, held).await?;
            let mut answer = self.executor.returned(&context, prepared, &write, &done.returned, parameters).await?;
            match self.transaction.own() {
                Some(own) => own.add(&write.target.snapshot, std::mem::take(&mut done.changes), context.now)?,
                None => {
                    let table = write.target.table().id;
                    let operations: Vec<Operation<'_>> =
                        done.changes.iter().filter_map(|change| change.operation(table)).collect();
                    if !operations.is_empty() {
                        let signals = self.registration.signals();
                        let planned = std::slice::from_ref(&write.target.snapshot.table);
                        let terms = Terms { hold: hold.as_ref(), planned };
                        let committed = match commit::commit(self.compiler.store(), &operations, terms, signals).await {
                            // What it has read is out of date: it reads again.
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
                        if done.returned.are_written && writes::returns_timestamp(&write) {
                            done.returned.set_timestamp(committed.timestamp);
                            answer =
                                self.executor.returned(&context, prepared, &write, &done.returned, parameters).await?;
                        }
                    }
                }
            }
            return Ok(match (answer, &prepared.columns) {
                (Some(answer), Some(columns)) => Outcome::Rows(Rows::new(Arc::clone(columns), verb, answer)),
                _ => Outcome::Done(write_tag(verb, done.count)),
            });
        }
    }

    /// Writes what has come in; the answer is the tag.
    pub async fn finish_copy(&mut self, copy: CopyIn) -> Result<String> {
        let now = self.compiler.now();
        let is_transaction = self.transaction.status() == TransactionStatus::Idle;
        let (target, changes) = self.executor.copied(copy, self.registration.signals(), is_transaction).await?;
        let rows = changes.len();
        match self.transaction.own() {
            Some(own) => own.add(&target.snapshot, changes, now)?,
            None => {
                let table = target.table().id;
                let operations: Vec<Operation<'_>> =
                    changes.iter().filter_map(|change| change.operation(table)).collect();
                if !operations.is_empty() {
                    let terms = Terms { hold: None, planned: std::slice::from_ref(&target.snapshot.table) };
                    commit::commit(self.compiler.store(), &operations, terms, self.registration.signals()).await?;
                }
            }
        }
        Ok(format!("COPY {rows}"))
    }

    pub(super) fn refuse_if_read_only(&self, tag: &str) -> Result<()> {
        if self.settings.limits().is_read_only {
            let message = format!("cannot execute {tag} in a read-only transaction");
            return Err(Error::new(SqlState::READ_ONLY_SQL_TRANSACTION, message));
        }
        Ok(())
    }
}

/// The tag of a statement that wrote.
pub fn write_tag(verb: &str, rows: u64) -> String {
    if verb == "INSERT" { format!("INSERT 0 {rows}") } else { format!("{verb} {rows}") }
}
