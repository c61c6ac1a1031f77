//! COPY, from its statement to its rows, and from its rows to operations.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, CopySource, CopyTarget};

use super::copy_in::CopyIn;
use super::copy_out::CopyOut;
use super::options::CopyOptions;
use crate::compiler::{Prepared, StatementContext};
use crate::executor::rows::Rows;
use crate::executor::{Executor, Ran};
use crate::writes::{
    self, MemoryBudget, SharedWriteSet, Takes, Target, TargetRowBuilder, current_versions, duplicate_key, insert, put,
    syntax,
};
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::{DateTime, Key};
use rowkey_postgres::cancellation::Signals;
use rowkey_storage::{Condition, Operation};

fn server_files() -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, "COPY reads no files of the server, and runs no programs")
        .with_hint("use COPY ... FROM STDIN and COPY ... TO STDOUT, or psql's \\copy, or `rowkey import`")
}

/// The file of the server that a COPY writes.
pub(crate) fn file_written(copy: &ast::Statement) -> Option<&str> {
    match copy {
        ast::Statement::Copy { to: true, target: CopyTarget::File { filename }, .. } => Some(filename),
        _ => None,
    }
}

impl Executor {
    /// Begins a COPY FROM STDIN: its table, columns and options.
    pub(crate) fn copy_in(
        &self,
        context: &StatementContext,
        prepared: &Prepared,
        copy: &ast::Statement,
        held_bytes: u64,
    ) -> Result<CopyIn> {
        let planner = self.compiler.planner(context);
        let mut copy = copy.clone();
        planner.resolve(&prepared.statement, &mut copy)?;
        let ast::Statement::Copy { source, target, options, legacy_options, .. } = copy else {
            return Err(Error::new(SqlState::INTERNAL_ERROR, "no COPY"));
        };
        if target != CopyTarget::Stdin {
            return Err(server_files());
        }
        let options = CopyOptions::of(&options, &legacy_options)?;
        let CopySource::Table { table_name, columns } = source else {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "COPY FROM takes a table"));
        };
        let (schema, name) = writes::relation_of(&table_name)?;
        let target = Target::of(&planner, &schema, &name, "copy to")?;
        let places = match columns.is_empty() {
            true => target.implied(),
            false => columns.iter().map(|column| target.place(&column.value)).collect::<Result<Vec<_>>>()?,
        };
        for at in &places {
            let column = &target.columns[*at];
            if column.takes == Takes::Timestamp {
                let message = format!("column \"{}\" is a generated column", column.name);
                return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message)
                    .with_detail("It is kept by the server and cannot be used in COPY."));
            }
            column.check_written(false)?;
        }
        let style = Arc::clone(context.session.settings.style());
        let budget = MemoryBudget::beside(held_bytes);
        Ok(CopyIn::new(target, places, options, style, budget, Arc::clone(self.compiler.compute())))
    }

    /// The operations that the rows of a COPY FROM come to. Nothing is committed yet: the write set
    /// of its block takes them, if there is a block. `now` is the time of the statement.
    pub(crate) async fn finish_copy(
        &self,
        copy: CopyIn,
        now: DateTime,
        signals: &Arc<Signals>,
        write_set: Option<&SharedWriteSet>,
    ) -> Result<Ran> {
        let (executor, signals, write_set) = (self.clone(), signals.of_statement(), write_set.cloned());
        let of_work = Arc::clone(&signals);
        let ran = async move {
            let (target, mut operations) = executor.copied(copy, &of_work, write_set.is_none()).await?;
            let count = operations.len() as u64;
            if let Some(write_set) = write_set {
                write_set.add(&target.snapshot, std::mem::take(&mut operations), now, &of_work)?;
            }
            let table = Arc::clone(target.table());
            Ok(Ran { table, count, operations, answer: None, returning: None })
        };
        self.compiler.compute().run(&signals, ran).await
    }

    async fn copied(
        &self,
        copy: CopyIn,
        signals: &Signals,
        is_transaction: bool,
    ) -> Result<(Target, Vec<Operation<'static>>)> {
        let (target, rows) = copy.finish()?;
        let keys = rows.iter().map(|row| row.key(&target)).collect::<Result<Vec<Key>>>()?;
        let mut once = std::collections::HashSet::with_capacity(keys.len());
        if let Some(twice) = keys.iter().find(|key| !once.insert(*key)) {
            return Err(duplicate_key(target.name(), twice));
        }
        drop(once);
        if !is_transaction {
            let existing = current_versions(&target.snapshot, self.compiler.store().files(), signals, &keys).await?;
            if let Some((key, _)) = keys.iter().zip(&existing).find(|(_, existing)| existing.is_some()) {
                return Err(duplicate_key(target.name(), key));
            }
        }
        let table = target.table().id;
        let operation = |(key, row): (Key, TargetRowBuilder)| match is_transaction {
            // The commit finds out whether the key exists.
            true => insert(table, key, row.properties),
            false => put(table, key, row.properties, Condition::Unchanged(None)),
        };
        Ok((target, keys.into_iter().zip(rows).map(operation).collect()))
    }

    /// The rows of COPY TO STDOUT.
    pub(crate) async fn copy_out(
        &self,
        context: &StatementContext,
        prepared: &Arc<Prepared>,
        copy: &ast::Statement,
    ) -> Result<CopyOut> {
        let ast::Statement::Copy { target, options, legacy_options, .. } = copy else {
            return Err(Error::new(SqlState::INTERNAL_ERROR, "no COPY"));
        };
        if *target != CopyTarget::Stdout {
            return Err(server_files());
        }
        let options = CopyOptions::of(options, legacy_options)?;
        let rows = self.copied_rows(context, prepared, copy).await?;
        Ok(CopyOut::new(rows, options, Arc::clone(context.session.settings.style())))
    }

    /// The rows that a COPY TO sends, wherever it sends them.
    pub(crate) async fn copied_rows(
        &self,
        context: &StatementContext,
        prepared: &Prepared,
        copy: &ast::Statement,
    ) -> Result<Rows> {
        let ast::Statement::Copy { source, .. } = copy else {
            return Err(Error::new(SqlState::INTERNAL_ERROR, "no COPY"));
        };
        let query = match source {
            CopySource::Query(query) => ast::Statement::Query(query.clone()),
            CopySource::Table { .. } => {
                let (schema, name, target, columns) = self.copied_table(context, prepared, copy)?;
                let names: Vec<String> = match columns.is_empty() {
                    true => target.implied().into_iter().map(|at| target.columns[at].name.clone()).collect(),
                    false => columns.iter().map(|column| column.value.clone()).collect(),
                };
                let item = |name: &String| ast::SelectItem::UnnamedExpr(syntax::column(&name_of(&target), name));
                let from = vec![syntax::from_table(&[&schema, &name], &name_of(&target))];
                syntax::select(None, names.iter().map(item).collect(), from, None)?
            }
        };
        let planned = self.compiler.plan(context, &prepared.statement, Some(query.clone()), &[]).await?;
        if !planned.parameters.is_empty() {
            return Err(Error::new(SqlState::UNDEFINED_PARAMETER, "there is no parameter $1"));
        }
        let columns = planned.columns.clone().unwrap_or_else(|| Arc::from([]));
        let planned = Arc::new(planned);
        let answer = self.computed(context.clone(), &planned, Some(query), &Arc::default(), None).await?;
        Ok(Rows::new(columns, "COPY", answer))
    }

    /// The table of a COPY TO that has no query: its schema and name, itself, and the columns that
    /// are named.
    pub(crate) fn copied_table(
        &self,
        context: &StatementContext,
        prepared: &Prepared,
        copy: &ast::Statement,
    ) -> Result<(String, String, Target, Vec<ast::Ident>)> {
        let planner = self.compiler.planner(context);
        let mut copy = copy.clone();
        planner.resolve(&prepared.statement, &mut copy)?;
        let ast::Statement::Copy { source: CopySource::Table { table_name, columns }, .. } = copy else {
            return Err(Error::new(SqlState::INTERNAL_ERROR, "no COPY of a table"));
        };
        let (schema, name) = writes::relation_of(&table_name)?;
        let target = Target::of(&planner, &schema, &name, "copy from")
            .map_err(|error| error.with_hint("Try the COPY (SELECT ...) TO variant."))?;
        Ok((schema, name, target, columns))
    }
}

fn name_of(target: &Target) -> String {
    target.name().to_owned()
}
