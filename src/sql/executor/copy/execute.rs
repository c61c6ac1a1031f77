//! COPY, from its statement to its rows, and from its rows to operations.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, CopySource, CopyTarget, Ident};

use super::copy_in::CopyIn;
use super::copy_out::CopyOut;
use super::entities_in::EntitiesIn;
use super::entity_options::EntityCopyOptions;
use super::options::{CopyOptions, ForceQuote};
use super::rows_in::{CopiedColumns, RowsIn};
use crate::compiler::{Prepared, StatementContext};
use crate::executor::rows::Rows;
use crate::executor::{Executor, Ran};
use crate::writes::{
    self, MemoryBudget, SharedWriteSet, Takes, Target, TargetRowBuilder, WriteMemory, current_versions, duplicate_key,
    insert, put, syntax,
};
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::{DateTime, Key};
use rowkey_postgres::cancellation::Signals;
use rowkey_postgres::syntax::CopyStatement;
use rowkey_storage::{Condition, Operation};

fn server_files() -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, "COPY reads no files of the server, and runs no programs")
        .with_hint("use COPY ... FROM STDIN and COPY ... TO STDOUT, or psql's \\copy, or `rowkey import`")
}

impl Executor {
    /// Begins a COPY FROM STDIN: its table, columns and options.
    pub(crate) fn copy_in(
        &self,
        context: &StatementContext,
        prepared: &Prepared,
        copy: &CopyStatement,
        budget: MemoryBudget,
        is_in_block: bool,
    ) -> Result<CopyIn> {
        if let Some(options) = EntityCopyOptions::of(&copy.options, &prepared.statement.source)? {
            if is_in_block {
                let message = format!("COPY in the format \"{}\" cannot run inside a transaction block", options.name);
                return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
            }
            let (target, columns) = self.copied_into(context, prepared, copy)?;
            if !columns.is_empty() {
                let message = format!("COPY in the format \"{}\" takes no list of columns", options.name);
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                    .with_hint("Entities bring the names of their properties."));
            }
            let entities = EntitiesIn::new(&self.compiler, target.name(), options);
            return Ok(CopyIn::Entities(Box::new(entities)));
        }
        let options = CopyOptions::of(&copy.options, false, &prepared.statement.source)?;
        let (target, columns) = self.copied_into(context, prepared, copy)?;
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
        let named = |option, forced: &[Ident]| -> Result<Vec<bool>> {
            let forced = self.forced(context, prepared, &copy.statement, forced)?;
            let found: Vec<&str> = places.iter().map(|at| target.columns[*at].name.as_str()).collect();
            let forced = places_of(option, &forced, &found)?;
            Ok((0..places.len()).map(|place| forced.contains(&place)).collect())
        };
        let not_null = named("FORCE_NOT_NULL", &options.force_not_null)?;
        let null = named("FORCE_NULL", &options.force_null)?;
        let columns = CopiedColumns { places, not_null, null };
        let style = Arc::clone(context.session.settings.style());
        let compute = Arc::clone(self.compiler.compute());
        let zone = self.compiler.planner(context).zone()?;
        let rows = RowsIn::new(target, columns, options, style, zone, budget, compute);
        Ok(CopyIn::Rows(Box::new(rows)))
    }

    /// The table of a COPY FROM STDIN, and the columns that it names.
    fn copied_into(
        &self,
        context: &StatementContext,
        prepared: &Prepared,
        copy: &CopyStatement,
    ) -> Result<(Target, Vec<Ident>)> {
        let planner = self.compiler.planner(context);
        let mut resolved = copy.statement.clone();
        planner.resolve(&prepared.statement, &mut resolved)?;
        let ast::Statement::Copy { source, target, .. } = resolved else { return Err(no_copy()) };
        if target != CopyTarget::Stdin {
            return Err(server_files());
        }
        let CopySource::Table { table_name, columns } = source else {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "COPY FROM takes a table"));
        };
        let (schema, name) = writes::relation_of(&table_name)?;
        Ok((Target::of(&planner, &schema, &name, "copy to")?, columns))
    }

    /// The operations that the rows of a COPY FROM come to. Nothing is committed yet: the write set
    /// of its block takes them, if there is a block. `now` is the time of the statement.
    pub(crate) async fn finish_copy(
        &self,
        copy: RowsIn,
        now: DateTime,
        signals: &Arc<Signals>,
        write_set: Option<&SharedWriteSet>,
    ) -> Result<Ran> {
        let (executor, signals, write_set) = (self.clone(), signals.of_statement(), write_set.cloned());
        let of_work = Arc::clone(&signals);
        let ran = async move {
            let (target, mut operations, memory) = executor.copied(copy, &of_work, write_set.is_none()).await?;
            let count = operations.len() as u64;
            if let Some(write_set) = write_set {
                write_set.add(&target.snapshot, std::mem::take(&mut operations), now, &of_work)?;
            }
            let table = Arc::clone(target.table());
            Ok(Ran { table, count, operations, answer: None, returning: None, memory })
        };
        self.compiler.compute().run(&signals, ran).await
    }

    async fn copied(
        &self,
        copy: RowsIn,
        signals: &Signals,
        is_transaction: bool,
    ) -> Result<(Target, Vec<Operation<'static>>, WriteMemory)> {
        let (target, rows, memory) = copy.finish()?;
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
        Ok((target, keys.into_iter().zip(rows).map(operation).collect(), memory))
    }

    /// The rows of COPY TO STDOUT.
    pub(crate) async fn copy_out(
        &self,
        context: StatementContext,
        prepared: &Arc<Prepared>,
        copy: &CopyStatement,
    ) -> Result<CopyOut> {
        let ast::Statement::Copy { target, .. } = &copy.statement else { return Err(no_copy()) };
        let options = CopyOptions::of(&copy.options, true, &prepared.statement.source)?;
        if *target != CopyTarget::Stdout {
            return Err(server_files());
        }
        self.lines_of_copy(context, prepared, &copy.statement, options).await
    }

    /// The rows of a COPY TO with how they are written.
    pub(crate) async fn lines_of_copy(
        &self,
        context: StatementContext,
        prepared: &Prepared,
        copy: &ast::Statement,
        options: CopyOptions,
    ) -> Result<CopyOut> {
        let ast::Statement::Copy { source, .. } = copy else { return Err(no_copy()) };
        let forced = match (&options.force_quote, source) {
            (ForceQuote::Columns(named), CopySource::Table { .. }) => self.forced(&context, prepared, copy, named)?,
            (ForceQuote::Columns(named), CopySource::Query(_)) => named.clone(),
            (ForceQuote::All, _) => Vec::new(),
        };
        let style = Arc::clone(context.session.settings.style());
        let rows = self.copied_rows(context, prepared, copy).await?;
        let labels: Vec<&str> = rows.columns.iter().map(|column| column.field.name().as_str()).collect();
        let quoted = match source {
            CopySource::Table { .. } => places_of("FORCE_QUOTE", &forced, &labels)?,
            CopySource::Query(_) => places_of_labels(&forced, &labels)?,
        };
        CopyOut::new(rows, options, &quoted, style)
    }

    /// The columns of a table that an option of its COPY names, with their exact names.
    fn forced(
        &self,
        context: &StatementContext,
        prepared: &Prepared,
        copy: &ast::Statement,
        named: &[Ident],
    ) -> Result<Vec<Ident>> {
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let mut copy = copy.clone();
        if let ast::Statement::Copy { source: CopySource::Table { columns, .. }, .. } = &mut copy {
            *columns = named.to_vec();
        }
        self.compiler.planner(context).resolve(&prepared.statement, &mut copy)?;
        match copy {
            ast::Statement::Copy { source: CopySource::Table { columns, .. }, .. } => Ok(columns),
            _ => Err(no_copy()),
        }
    }

    /// The rows that a COPY TO sends, wherever it sends them. The context goes with them: it may be
    /// the last one that reads an older snapshot.
    pub(crate) async fn copied_rows(
        &self,
        context: StatementContext,
        prepared: &Prepared,
        copy: &ast::Statement,
    ) -> Result<Rows> {
        let ast::Statement::Copy { source, .. } = copy else { return Err(no_copy()) };
        let query = match source {
            CopySource::Query(query) => ast::Statement::Query(query.clone()),
            CopySource::Table { .. } => {
                let (schema, name, target, columns) = self.copied_table(&context, prepared, copy)?;
                let names: Vec<String> = match columns.is_empty() {
                    true => target.implied().into_iter().map(|at| target.columns[at].name.clone()).collect(),
                    false => columns.iter().map(|column| column.value.clone()).collect(),
                };
                let item = |name: &String| ast::SelectItem::UnnamedExpr(syntax::column(&name_of(&target), name));
                let from = vec![syntax::from_table(&[&schema, &name], &name_of(&target))];
                syntax::select(None, names.iter().map(item).collect(), from, None)?
            }
        };
        let planned = self.compiler.plan(&context, &prepared.statement, Some(query.clone()), &[]).await?;
        if !planned.parameters.is_empty() {
            return Err(Error::new(SqlState::UNDEFINED_PARAMETER, "there is no parameter $1"));
        }
        let columns = planned.columns.clone().unwrap_or_else(|| Arc::from([]));
        let planned = Arc::new(planned);
        let answer = self.computed(context, &planned, Some(query), &Arc::default(), None).await?;
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
            return Err(no_copy());
        };
        let (schema, name) = writes::relation_of(&table_name)?;
        let target = Target::of(&planner, &schema, &name, "copy from")
            .map_err(|error| error.with_hint("Try the COPY (SELECT ...) TO variant."))?;
        Ok((schema, name, target, columns))
    }
}

fn no_copy() -> Error {
    Error::new(SqlState::INTERNAL_ERROR, "no COPY of that kind")
}

/// The places of columns that an option names among the columns of the COPY.
fn places_of(option: &str, forced: &[Ident], columns: &[&str]) -> Result<Vec<usize>> {
    let place = |forced: &Ident| {
        columns.iter().position(|column| *column == forced.value).ok_or_else(|| {
            let message = format!("{option} column \"{}\" not referenced by COPY", forced.value);
            Error::new(SqlState::INVALID_COLUMN_REFERENCE, message)
        })
    };
    forced.iter().map(place).collect()
}

/// As [`places_of`], among the columns of a query: the first of each name.
fn places_of_labels(forced: &[Ident], labels: &[&str]) -> Result<Vec<usize>> {
    let mut places = Vec::with_capacity(forced.len());
    for Ident { value, quote_style, .. } in forced {
        let exact = labels.iter().position(|label| label == value);
        let found = exact.or_else(|| match quote_style {
            None => labels.iter().position(|label| label.eq_ignore_ascii_case(value)),
            Some(_) => None,
        });
        let place = found
            .ok_or_else(|| Error::new(SqlState::UNDEFINED_COLUMN, format!("column \"{value}\" does not exist")))?;
        if places.contains(&place) {
            let message = format!("column \"{value}\" specified more than once");
            return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
        }
        places.push(place);
    }
    Ok(places)
}

fn name_of(target: &Target) -> String {
    target.name().to_owned()
}
