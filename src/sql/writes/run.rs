//! Running a statement that writes, up to its operations.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::FieldRef;
use datafusion::common::DataFusionError;
use datafusion::execution::RecordBatchStream;
use datafusion::sql::sqlparser::ast::{self, Expr};
use futures::TryStreamExt;

use super::assigned_values::AssignedValues;
use super::current_versions::{MatchedRows, current_versions, key_of};
use super::exact_copies::{ConflictCopies, ExactCopies};
use super::memory_budget::MemoryBudget;
use super::on_conflict::conflict_query;
use super::operations::{WriteResult, delete, insert, put};
use super::ran_queries::RanQueries;
use super::returning::Returned;
use super::row_builder::{TargetRowBuilder, properties_bytes, value_bytes};
use super::syntax::{self, item};
use super::target::{Takes, TargetColumn, violated};
use super::values::{AssignedColumn, Cell, keeps_values, parameter_value};
use super::write::{
    Action, Clause, ClauseAction, Conflict, KEY_COLUMNS, Source, Write, constraint_name, too_few, too_many,
};
use crate::planner::{StatementPlanner, run_cancellable};
use rowkey_base::clock::timer_now;
use rowkey_base::{Error, Result, SqlState, Violated};
use rowkey_model::{DateTime, Entity, Key, Value};
use rowkey_postgres::cancellation::Signals;
use rowkey_postgres::error::from_datafusion;
use rowkey_postgres::functions::Zone;
use rowkey_postgres::syntax::Statement;
use rowkey_postgres::types::{PostgresType, SqlValue, TextStyle};
use rowkey_storage::run::RunFiles;
use rowkey_storage::{Condition, Operation};

/// Expressions of VALUES computed by one query.
const EXPRESSIONS_AT_ONCE: usize = 400;
/// Entities looked up before more rows are read.
const ROWS_AT_ONCE: usize = 8192;

/// Runs a statement that writes, with the values of its parameters.
pub(crate) struct WriteRunner<'a> {
    pub planner: &'a StatementPlanner,
    pub statement: &'a Statement,
    pub files: &'a Arc<RunFiles>,
    pub signals: &'a Arc<Signals>,
    pub types: &'a [&'static PostgresType],
    pub values: &'a [SqlValue],
    pub style: &'a TextStyle,
    pub zone: &'a Zone,
    pub now: DateTime,
    /// Whether the statement is a transaction by itself: then the commit finds out whether a key
    /// exists.
    pub is_transaction: bool,
    /// Keeps the plans that have run.
    pub ran: &'a RanQueries,
}

impl WriteRunner<'_> {
    /// The operations that the statement comes to. Nothing is written yet.
    pub(crate) async fn run(&self, write: &Write, budget: &mut MemoryBudget) -> Result<WriteResult> {
        match &write.action {
            Action::Insert { columns, source, conflict } => {
                let proposed = match source {
                    Source::Values(rows) => self.build_values(write, columns, rows, budget).await?,
                    Source::Query(_) => self.build_selected(write, columns, budget).await?,
                };
                self.insert_rows(write, proposed, conflict, budget).await
            }
            Action::Update { assignments, .. } => self.update_rows(write, assignments, budget).await,
            Action::Delete { .. } => self.delete_rows(write, budget).await,
            Action::Merge { clauses, .. } => self.merge_rows(write, clauses, budget).await,
        }
    }

    /// Runs a query whose names are resolved.
    async fn query_rows(
        &self,
        write: &Write,
        planner: &StatementPlanner,
        query: ast::Statement,
    ) -> Result<rowkey_postgres::cancellation::CancellableRows> {
        let began = timer_now();
        let declared: Vec<_> = self.types.iter().map(|ty| Some(*ty)).collect();
        let planned = planner.resolved_query(self.statement, query, &write.functions, Vec::new(), &declared).await?;
        let plan = rowkey_postgres::parameters::with_values(planned.plan, self.types, self.values)?;
        let (plan, task) = planner.physical(&plan).await?;
        let planned_in = began.elapsed();
        let (plan, rows) = run_cancellable(plan, task, self.signals).map_err(from_datafusion)?;
        self.ran.add(plan, planned_in);
        Ok(rows)
    }

    fn parameter(&self, number: usize, column: &TargetColumn) -> Result<Option<Value>> {
        match (self.values.get(number - 1), self.types.get(number - 1)) {
            (Some(value), Some(ty)) => parameter_value(value, ty, column, self.zone),
            _ => Err(Error::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter ${number}"))),
        }
    }

    /// Builds the rows of VALUES; what has to be computed is computed by queries.
    async fn build_values(
        &self,
        write: &Write,
        columns: &[usize],
        rows: &[Vec<Expr>],
        budget: &mut MemoryBudget,
    ) -> Result<Vec<TargetRowBuilder>> {
        let mut built = Vec::with_capacity(rows.len());
        let mut computed: Vec<(usize, usize, Expr)> = Vec::new();
        for (place, exprs) in rows.iter().enumerate() {
            let mut row = TargetRowBuilder::default();
            for (at, expr) in columns.iter().zip(exprs) {
                let column = &write.target.columns[*at];
                match Cell::read(expr, column, self.style)? {
                    Cell::Constant(value) => row.assign(column, value)?,
                    Cell::Parameter(number) => row.assign(column, self.parameter(number, column)?)?,
                    Cell::CastParameter(number, ty) => {
                        let from = self.types.get(number - 1);
                        if from.is_some_and(|from| keeps_values(from, ty, column)) {
                            row.assign(column, self.parameter(number, column)?)?;
                        } else {
                            computed.push((place, *at, expr.clone()));
                        }
                    }
                    Cell::Expression(expr) => computed.push((place, *at, *expr)),
                }
            }
            budget.take(row.memory_bytes())?;
            built.push(row);
        }
        for some in computed.chunks(EXPRESSIONS_AT_ONCE) {
            let items = some
                .iter()
                .enumerate()
                .map(|(place, (_, _, expr))| item(expr.clone(), &format!("(value {})", place + 1)));
            let query = syntax::select(write.with.as_ref(), items.collect(), Vec::new(), None)?;
            let batches: Vec<RecordBatch> =
                self.query_rows(write, self.planner, query).await?.try_collect().await.map_err(from_datafusion)?;
            let Some(batch) = batches.iter().find(|batch| batch.num_rows() == 1) else {
                return Err(Error::new(SqlState::INTERNAL_ERROR, "a list of values gave no row"));
            };
            for (place, (row, at, _)) in some.iter().enumerate() {
                let column = &write.target.columns[*at];
                let value = self.cast_column(column, batch, place)?.value(0)?;
                built[*row].assign(column, value)?;
            }
        }
        Ok(built)
    }

    /// Casts a column of a query to what a column of the table takes.
    fn cast_column(&self, column: &TargetColumn, batch: &RecordBatch, place: usize) -> Result<AssignedColumn> {
        AssignedColumn::of(column, batch.schema_ref().field(place), batch.column(place), self.zone)
    }

    /// Builds the rows of INSERT ... SELECT.
    async fn build_selected(
        &self,
        write: &Write,
        columns: &[usize],
        budget: &mut MemoryBudget,
    ) -> Result<Vec<TargetRowBuilder>> {
        let Some(mut query) = write.query()? else { return Ok(Vec::new()) };
        let written = |place: usize| columns.get(place).map(|at| &write.target.columns[*at]);
        let copies = ExactCopies::add_to(&mut query, self.planner, written);
        let mut rows = self.query_rows(write, self.planner, query).await?;
        let width = rows.schema().fields().len() - copies.added();
        let columns = self.fit_columns(write, columns, width)?;
        check_types(write, columns.iter().copied(), rows.schema().fields().iter())?;
        let mut built = Vec::new();
        while let Some(batch) = rows.try_next().await.map_err(from_datafusion)? {
            let places = columns.iter().enumerate();
            let places = places.filter(|(_, at)| !is_ignored(&write.target.columns[**at]));
            let assigned = places.map(|(place, at)| {
                let column = &write.target.columns[*at];
                Ok((column, self.cast_column(column, &batch, place)?.copied(copies.of(place, &batch))))
            });
            let assigned = assigned.collect::<Result<Vec<_>>>()?;
            for place in 0..batch.num_rows() {
                let mut row = TargetRowBuilder::default();
                for (column, values) in &assigned {
                    row.assign(column, values.value(place)?)?;
                }
                budget.take(row.memory_bytes())?;
                built.push(row);
            }
        }
        Ok(built)
    }

    /// The columns that a query of a width assigns to.
    fn fit_columns(&self, write: &Write, columns: &[usize], width: usize) -> Result<Vec<usize>> {
        if width > columns.len() {
            return Err(too_many());
        }
        let kept = columns.iter().copied().filter(|at| !is_ignored(&write.target.columns[*at]));
        if width < columns.len() && !kept.eq(write.target.implied()) {
            return Err(too_few());
        }
        Ok(columns[..width].to_vec())
    }

    /// Inserts rows; `conflict` says what becomes of those whose keys exist.
    async fn insert_rows(
        &self,
        write: &Write,
        proposed: Vec<TargetRowBuilder>,
        conflict: &Conflict,
        budget: &mut MemoryBudget,
    ) -> Result<WriteResult> {
        let target = &write.target;
        let keys = proposed.iter().map(|row| row.key(target)).collect::<Result<Vec<_>>>()?;
        let returned = Returned { are_written: true, ..Returned::default() };
        let mut result = WriteResult { returned, ..WriteResult::default() };
        let mut places: HashMap<&Key, usize> = HashMap::with_capacity(keys.len());
        let (mut skipped, mut repeated) = (HashSet::new(), HashSet::new());
        for (place, key) in keys.iter().enumerate() {
            let Some(before) = places.insert(key, place) else { continue };
            match conflict {
                Conflict::Fail => return Err(duplicate_key(target.name(), key)),
                Conflict::Nothing => {
                    places.insert(key, before);
                    skipped.insert(place);
                }
                // The last row of a key is written.
                Conflict::Replace => {
                    skipped.insert(before);
                }
                // An error if the first of them inserts the key, which is found out below.
                Conflict::Update { .. } => {
                    repeated.insert(key.clone());
                }
            }
        }
        let is_blind = self.is_transaction && matches!(conflict, Conflict::Fail | Conflict::Replace);
        let existing = match is_blind {
            true => vec![None; keys.len()],
            false => self.current_versions(write, &keys).await?,
        };
        let mut conflicts = Vec::new();
        for (place, ((key, row), existing)) in keys.iter().zip(proposed).zip(existing).enumerate() {
            if skipped.contains(&place) {
                result.count += u64::from(matches!(conflict, Conflict::Replace));
                continue;
            }
            let condition = match (conflict, &existing) {
                (Conflict::Fail, _) if is_blind => {
                    self.add_insert(write, &mut result, key.clone(), row);
                    continue;
                }
                (Conflict::Replace, _) if is_blind => Condition::Any,
                (Conflict::Fail, Some(_)) => return Err(duplicate_key(target.name(), key)),
                (Conflict::Nothing, Some(_)) => {
                    result.skipped.push(key.clone());
                    continue;
                }
                (Conflict::Update { .. }, Some(existing)) => {
                    conflicts.push((Arc::clone(existing), row));
                    continue;
                }
                (Conflict::Update { .. }, None) if repeated.contains(key) => return Err(updated_twice()),
                (_, existing) => Condition::Unchanged(existing.as_ref().map(|entity| entity.timestamp)),
            };
            self.add_put(write, &mut result, key.clone(), condition, row);
        }
        if let Conflict::Update { assignments, selection } = conflict {
            let update = (assignments.as_slice(), selection.as_deref());
            self.on_conflict_update(write, update, conflicts, &mut result, budget).await?;
            // In the order of the rows, of which no two have the same key here.
            result.returned.entities.sort_by_key(|entity| places.get(&entity.key).copied());
        }
        Ok(result)
    }

    async fn current_versions(&self, write: &Write, keys: &[Key]) -> Result<Vec<Option<Arc<Entity>>>> {
        current_versions(&write.target.snapshot, self.files, self.signals, keys).await
    }

    /// Adds the insert of a row; the commit finds out whether its key exists.
    fn add_insert(&self, write: &Write, result: &mut WriteResult, key: Key, row: TargetRowBuilder) {
        self.add_returned(write, result, &key, &row);
        result.operations.push(insert(write.target.table().id, key, row.properties));
    }

    /// Adds the insert or the update of a row.
    fn add_put(&self, write: &Write, result: &mut WriteResult, key: Key, condition: Condition, row: TargetRowBuilder) {
        self.add_returned(write, result, &key, &row);
        result.operations.push(put(write.target.table().id, key, row.properties, condition));
    }

    /// Counts a row, and keeps its new version for RETURNING.
    fn add_returned(&self, write: &Write, result: &mut WriteResult, key: &Key, row: &TargetRowBuilder) {
        result.count += 1;
        if write.returning.is_some() {
            let entity = Entity::from_parts(key.clone(), self.now, row.properties.clone());
            result.returned.entities.push(entity);
        }
    }

    /// Runs ON CONFLICT DO UPDATE for the proposed rows whose keys exist.
    async fn on_conflict_update(
        &self,
        write: &Write,
        (assignments, selection): (&[(usize, Expr)], Option<&Expr>),
        conflicts: Vec<(Arc<Entity>, TargetRowBuilder)>,
        result: &mut WriteResult,
        budget: &mut MemoryBudget,
    ) -> Result<()> {
        if conflicts.is_empty() {
            return Ok(());
        }
        let target = &write.target;
        let copies = ConflictCopies::of(target, assignments);
        let (mut existing, mut proposed, mut exact) = (Vec::new(), Vec::new(), Vec::new());
        let mut conflicting = Vec::with_capacity(conflicts.len());
        for (entity, row) in conflicts {
            // Read, copied, and copied again into the columns of the query.
            budget.hold(3 * (properties_bytes(entity.parts()) + 160))?;
            let proposed_bytes = row.memory_bytes();
            let new = Entity::from_parts(entity.key.clone(), self.now, row.properties);
            let copied = copies.values(&entity, &new);
            budget.hold(copied.iter().flatten().map(value_bytes).sum())?;
            existing.push(Entity::clone(&entity));
            proposed.push(new);
            exact.push(copied);
            conflicting.push((entity, proposed_bytes));
        }
        let conflicts = conflicting;
        let (query, table) = conflict_query(write, assignments, selection, &existing, &proposed)?;
        drop((existing, proposed));
        let mut rows = self.query_rows(write, &self.planner.with_rows(table), query).await?;
        check_types(write, assignments.iter().map(|(at, _)| *at), rows.schema().fields().iter().skip(1))?;
        // By key: the first row that was updated.
        let mut updated: HashMap<Key, usize> = HashMap::new();
        while let Some(batch) = rows.try_next().await.map_err(from_datafusion)? {
            let places = batch.column(0).as_primitive::<arrow::datatypes::Int64Type>().clone();
            let assigned = assignments.iter().enumerate();
            let assigned = assigned
                .map(|(place, (at, _))| self.cast_column(&target.columns[*at], &batch, place + 1))
                .collect::<Result<Vec<_>>>()?;
            for at_row in 0..batch.num_rows() {
                let place = places.value(at_row) as usize;
                let (entity, proposed_bytes) = &conflicts[place];
                if updated.insert(entity.key.clone(), place).is_some() {
                    return Err(updated_twice());
                }
                let mut row = TargetRowBuilder::of(entity);
                for (assignment, ((at, _), values)) in assignments.iter().zip(&assigned).enumerate() {
                    let value = match exact[place].get(assignment) {
                        Some(Some(exact)) => Some(exact.clone()),
                        _ => values.value(at_row)?,
                    };
                    row.assign(&target.columns[*at], value)?;
                }
                budget.grow(*proposed_bytes, row.memory_bytes())?;
                if row.key(target)? != entity.key {
                    let message = "ON CONFLICT DO UPDATE cannot change the key of a row";
                    return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                }
                let condition = Condition::Unchanged(Some(entity.timestamp));
                self.add_put(write, result, entity.key.clone(), condition, row);
            }
        }
        let skipped = conflicts.iter().map(|(entity, _)| &entity.key).filter(|key| !updated.contains_key(*key));
        result.skipped.extend(skipped.cloned());
        // A row that the command has updated may not conflict again, whatever the condition says.
        let later = conflicts
            .iter()
            .enumerate()
            .find(|(place, (entity, _))| updated.get(&entity.key).is_some_and(|first| first < place));
        if later.is_some() { Err(updated_twice()) } else { Ok(()) }
    }

    /// Updates the rows that the query of the statement matches.
    async fn update_rows(
        &self,
        write: &Write,
        assignments: &[(usize, Expr)],
        budget: &mut MemoryBudget,
    ) -> Result<WriteResult> {
        let Some(mut query) = write.query()? else { return Ok(WriteResult::default()) };
        let written = |place: usize| {
            let (at, _) = assignments.get(place.checked_sub(KEY_COLUMNS)?)?;
            Some(&write.target.columns[*at])
        };
        let copies = ExactCopies::add_to(&mut query, self.planner, written);
        let mut rows = self.query_rows(write, self.planner, query).await?;
        check_types(write, assignments.iter().map(|(at, _)| *at), rows.schema().fields().iter().skip(KEY_COLUMNS))?;
        let mut matched = MatchedRows::new(write, KEY_COLUMNS + assignments.len(), &rows.schema());
        let (mut keys, mut updated) = (Vec::new(), Vec::new());
        // Values that are assigned, by key, and the bytes that were taken for them.
        let mut pending: Vec<(Key, AssignedValues)> = Vec::new();
        loop {
            let batch = rows.try_next().await.map_err(from_datafusion)?;
            if let Some(batch) = &batch {
                let values = assignments.iter().enumerate();
                let values = values.map(|(place, (at, _))| {
                    let place = KEY_COLUMNS + place;
                    let cast = self.cast_column(&write.target.columns[*at], batch, place)?;
                    Ok(cast.copied(copies.of(place, batch)))
                });
                let values = values.collect::<Result<Vec<_>>>()?;
                for (row, key) in matched.add(batch)? {
                    pending.push((key, AssignedValues::take(values.iter(), row, budget)?));
                }
            }
            if !pending.is_empty() && (batch.is_none() || pending.len() >= ROWS_AT_ONCE) {
                let chunk = std::mem::take(&mut pending);
                let (chunk_keys, values): (Vec<Key>, Vec<_>) = chunk.into_iter().unzip();
                for ((key, values), entity) in
                    chunk_keys.iter().zip(values).zip(self.current_versions(write, &chunk_keys).await?)
                {
                    let entity = entity.ok_or_else(|| vanished(key))?;
                    updated.push((values.assign(write, assignments, &entity, budget)?, entity.timestamp));
                }
                keys.extend(chunk_keys);
            }
            if batch.is_none() {
                break;
            }
        }
        let mut result = WriteResult { returned: matched.into_returned()?, ..WriteResult::default() };
        result.returned.are_written = true;
        self.put_updated(write, keys, updated, &mut result).await?;
        Ok(result)
    }

    /// Puts rows that are updated: under their keys, or under new ones where SET changes keys.
    /// `keys` are those before, by row.
    async fn put_updated(
        &self,
        write: &Write,
        keys: Vec<Key>,
        updated: Vec<(TargetRowBuilder, DateTime)>,
        result: &mut WriteResult,
    ) -> Result<()> {
        let target = &write.target;
        let new_keys = updated.iter().map(|(row, _)| row.key(target)).collect::<Result<Vec<_>>>()?;
        if new_keys == keys {
            for (key, (row, seen)) in keys.into_iter().zip(updated) {
                self.add_put(write, result, key, Condition::Unchanged(Some(seen)), row);
            }
            return Ok(());
        }
        // By key: the version that there is.
        let mut seen: HashMap<Key, Option<DateTime>> = HashMap::new();
        for (key, (_, timestamp)) in keys.iter().zip(&updated) {
            seen.insert(key.clone(), Some(*timestamp));
        }
        let foreign: Vec<Key> = new_keys.iter().filter(|key| !seen.contains_key(*key)).cloned().collect();
        for (key, entity) in foreign.iter().zip(self.current_versions(write, &foreign).await?) {
            if entity.is_some() {
                return Err(duplicate_key(target.name(), key));
            }
            seen.insert(key.clone(), None);
        }
        let mut taken = HashSet::with_capacity(new_keys.len());
        if let Some(twice) = new_keys.iter().find(|key| !taken.insert(*key)) {
            return Err(duplicate_key(target.name(), twice));
        }
        for (key, (_, timestamp)) in keys.iter().zip(&updated).filter(|(key, _)| !taken.contains(*key)) {
            result.operations.push(delete(target.table().id, key.clone(), *timestamp));
        }
        for (key, (row, _)) in new_keys.into_iter().zip(updated) {
            let condition = Condition::Unchanged(seen.get(&key).copied().flatten());
            self.add_put(write, result, key, condition, row);
        }
        Ok(())
    }

    /// Deletes the rows that the query of the statement matches.
    async fn delete_rows(&self, write: &Write, budget: &mut MemoryBudget) -> Result<WriteResult> {
        let Some(query) = write.query()? else { return Ok(WriteResult::default()) };
        let mut rows = self.query_rows(write, self.planner, query).await?;
        let mut matched = MatchedRows::new(write, KEY_COLUMNS, &rows.schema());
        let mut keys = Vec::new();
        while let Some(batch) = rows.try_next().await.map_err(from_datafusion)? {
            for (_, key) in matched.add(&batch)? {
                budget.take((key.partition.len() + key.row.len() + 160) as u64)?;
                keys.push(key);
            }
        }
        let mut result = WriteResult { returned: matched.into_returned()?, ..WriteResult::default() };
        for chunk in keys.chunks(ROWS_AT_ONCE) {
            for (key, entity) in chunk.iter().zip(self.current_versions(write, chunk).await?) {
                let entity = entity.ok_or_else(|| vanished(key))?;
                result.count += 1;
                result.operations.push(delete(write.target.table().id, key.clone(), entity.timestamp));
                if write.returning.is_some() {
                    budget.hold(properties_bytes(entity.parts()))?;
                    result.returned.entities.push(Entity::clone(&entity));
                }
            }
        }
        Ok(result)
    }

    /// Runs MERGE: each matched or new row takes the clause that its query has chosen.
    async fn merge_rows(&self, write: &Write, clauses: &[Clause], budget: &mut MemoryBudget) -> Result<WriteResult> {
        let Some(query) = write.query()? else { return Ok(WriteResult::default()) };
        let target = &write.target;
        let mut rows = self.query_rows(write, self.planner, query).await?;
        let assigned = clauses.iter().flat_map(|clause| clause.action.assignments());
        check_types(write, assigned.map(|(at, _)| *at), rows.schema().fields().iter().skip(KEY_COLUMNS + 1))?;
        let mut changed: Vec<(Key, usize)> = Vec::new();
        let mut changed_values: Vec<AssignedValues> = Vec::new();
        let (mut new_keys, mut new_rows) = (Vec::new(), Vec::new());
        while let Some(batch) = rows.try_next().await.map_err(from_datafusion)? {
            let decisions = arrow::compute::cast(batch.column(KEY_COLUMNS), &arrow::datatypes::DataType::Int64)
                .map_err(DataFusionError::from)
                .map_err(from_datafusion)?;
            let decisions = decisions.as_primitive::<arrow::datatypes::Int64Type>();
            let mut place = KEY_COLUMNS + 1;
            let mut values = Vec::with_capacity(clauses.len());
            for clause in clauses {
                let mut of_clause = Vec::new();
                for (at, _) in clause.action.assignments() {
                    of_clause.push((*at, self.cast_column(&target.columns[*at], &batch, place)?));
                    place += 1;
                }
                values.push(of_clause);
            }
            for place in 0..batch.num_rows() {
                if decisions.is_null(place) {
                    continue;
                }
                let number = decisions.value(place) as usize;
                let Some((clause, values)) = clauses.get(number).zip(values.get(number)) else { continue };
                if let ClauseAction::Nothing = clause.action {
                    continue;
                }
                if let ClauseAction::Insert(_) = clause.action {
                    let mut row = TargetRowBuilder::default();
                    for (at, values) in values {
                        row.assign(&target.columns[*at], values.value(place)?)?;
                    }
                    budget.take(row.memory_bytes())?;
                    new_keys.push(row.key(target)?);
                    new_rows.push(row);
                } else {
                    let values = values.iter().map(|(_, values)| values);
                    changed_values.push(AssignedValues::take(values, place, budget)?);
                    changed.push((key_of(&batch, place)?, number));
                }
            }
        }
        let mut result = WriteResult::default();
        let mut keys = HashSet::new();
        if changed.iter().any(|(key, _)| !keys.insert(key)) {
            let message = "MERGE command cannot affect row a second time";
            let hint = "Ensure that not more than one source row matches any one target row.";
            return Err(Error::new(SqlState::CARDINALITY_VIOLATION, message).with_hint(hint));
        }
        let all: Vec<Key> = changed.iter().map(|(key, _)| key.clone()).collect();
        let (mut updated_keys, mut updated) = (Vec::new(), Vec::new());
        let existing = self.current_versions(write, &all).await?;
        for (((key, number), values), entity) in changed.iter().zip(changed_values).zip(existing) {
            let entity = entity.ok_or_else(|| vanished(key))?;
            match &clauses[*number].action {
                ClauseAction::Update(assignments) => {
                    updated_keys.push(key.clone());
                    updated.push((values.assign(write, assignments, &entity, budget)?, entity.timestamp));
                }
                ClauseAction::Delete | ClauseAction::Insert(_) | ClauseAction::Nothing => {
                    result.count += 1;
                    result.operations.push(delete(target.table().id, key.clone(), entity.timestamp));
                }
            }
        }
        self.put_updated(write, updated_keys, updated, &mut result).await?;
        let keys_of = |operation: &Operation<'_>| Key::clone(&operation.key);
        let mut written: HashSet<Key> = result.operations.iter().map(keys_of).collect();
        let existing = self.current_versions(write, &new_keys).await?;
        for ((key, row), existing) in new_keys.into_iter().zip(new_rows).zip(existing) {
            if existing.is_some() || !written.insert(key.clone()) {
                return Err(duplicate_key(target.name(), &key));
            }
            self.add_put(write, &mut result, key, Condition::Unchanged(None), row);
        }
        Ok(result)
    }
}

/// Refuses assignments of a type that a column does not take, whether there are rows or not.
pub(crate) fn check_types<'a>(
    write: &Write,
    columns: impl Iterator<Item = usize>,
    fields: impl Iterator<Item = &'a FieldRef>,
) -> Result<()> {
    for (at, field) in columns.zip(fields).filter(|(at, _)| !is_ignored(&write.target.columns[*at])) {
        AssignedColumn::taken(&write.target.columns[at], field)?;
    }
    Ok(())
}

/// Whether what a query gives for a column is ignored.
fn is_ignored(column: &TargetColumn) -> bool {
    matches!(column.takes, Takes::Timestamp)
}

fn updated_twice() -> Error {
    let message = "ON CONFLICT DO UPDATE command cannot affect row a second time";
    let hint = "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.";
    Error::new(SqlState::CARDINALITY_VIOLATION, message).with_hint(hint)
}

/// The error for a matched row without an entity, though both are of one snapshot.
fn vanished(key: &Key) -> Error {
    let message = format!("the entity ({}, {}) was selected and cannot be read", key.partition, key.row);
    Error::new(SqlState::INTERNAL_ERROR, message)
}

/// The error for a key that exists.
pub(crate) fn duplicate_key(table: &str, key: &Key) -> Error {
    let name = constraint_name(table);
    let message = format!("duplicate key value violates unique constraint \"{name}\"");
    let detail = format!("Key (\"PartitionKey\", \"RowKey\")=({}, {}) already exists.", key.partition, key.row);
    let violated = Violated { constraint: Some(name), ..violated(table) };
    Error::new(SqlState::UNIQUE_VIOLATION, message).with_detail(detail).violating(violated)
}
