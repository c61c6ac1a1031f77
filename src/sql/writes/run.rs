//! Running a statement that writes, up to what is to be written.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::FieldRef;
use datafusion::common::DataFusionError;
use datafusion::execution::RecordBatchStream;
use datafusion::sql::sqlparser::ast::{self, Expr};
use futures::TryStreamExt;

use super::changes::{Before, Budget, Change, entities};
use super::draft::Draft;
use super::found::{Found, Returned, conflict_query, key_of};
use super::syntax::{self, item};
use super::target::TargetColumn;
use super::values::{AssignedColumn, Cell, parameter_value};
use super::write::{
    Action, Clause, ClauseAction, Conflict, KEY_COLUMNS, Source, Write, constraint_name, too_few, too_many,
};
use crate::planner::StatementPlanner;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::{DateTime, Entity, Key, Value};
use rowkey_postgres::cancellation::Signals;
use rowkey_postgres::error::from_datafusion;
use rowkey_postgres::functions::Zone;
use rowkey_postgres::syntax::Statement;
use rowkey_postgres::types::{PostgresType, SqlValue, TextStyle};
use rowkey_storage::run::RunFiles;

/// Expressions of VALUES computed by one query.
const EXPRESSIONS_AT_ONCE: usize = 400;
/// Entities looked up before more rows are read.
const ROWS_AT_ONCE: usize = 8192;

/// What a statement runs with.
pub(crate) struct Running<'a> {
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
    /// Memory that its transaction holds already, in bytes.
    pub held_bytes: u64,
}

/// What a statement has found out.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// Rows inserted, updated or deleted.
    pub count: u64,
    pub changes: Vec<Change>,
    /// Entities that rows were left out for.
    pub kept: Vec<Key>,
    pub returned: Returned,
}

impl Running<'_> {
    pub(crate) async fn run(&self, write: &Write) -> Result<Done> {
        match &write.action {
            Action::Insert { columns, source, conflict } => {
                let mut budget = Budget::beside(self.held_bytes);
                let drafts = match source {
                    Source::Values(rows) => self.values(write, columns, rows, &mut budget).await?,
                    Source::Query(_) => self.selected(write, columns, &mut budget).await?,
                };
                self.inserted(write, drafts, conflict).await
            }
            Action::Update { assignments, .. } => self.updated(write, assignments).await,
            Action::Delete { .. } => self.deleted(write).await,
            Action::Merge { clauses, .. } => self.merged(write, clauses).await,
        }
    }

    /// The rows of a query that names no unresolved names.
    async fn rows(
        &self,
        write: &Write,
        planner: &StatementPlanner,
        query: ast::Statement,
    ) -> Result<rowkey_postgres::cancellation::CancellableRows> {
        let declared: Vec<_> = self.types.iter().map(|ty| Some(*ty)).collect();
        let planned = planner.resolved_query(self.statement, query, &write.functions, Vec::new(), &declared).await?;
        let plan = rowkey_postgres::parameters::with_values(planned.plan, self.types, self.values)?;
        planner.execute(&plan, self.signals).await
    }

    fn parameter(&self, number: usize, column: &TargetColumn) -> Result<Option<Value>> {
        match (self.values.get(number - 1), self.types.get(number - 1)) {
            (Some(value), Some(ty)) => parameter_value(value, ty, column, self.zone),
            _ => Err(Error::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter ${number}"))),
        }
    }

    async fn values(
        &self,
        write: &Write,
        columns: &[usize],
        rows: &[Vec<Expr>],
        budget: &mut Budget,
    ) -> Result<Vec<Draft>> {
        let mut drafts = Vec::with_capacity(rows.len());
        let mut computed: Vec<(usize, usize, Expr)> = Vec::new();
        for (row, exprs) in rows.iter().enumerate() {
            let mut draft = Draft::default();
            for (at, expr) in columns.iter().zip(exprs) {
                let column = &write.target.columns[*at];
                match Cell::read(expr, column, self.style)? {
                    Cell::Constant(value) => draft.assign(column, value)?,
                    Cell::Parameter(number) => draft.assign(column, self.parameter(number, column)?)?,
                    Cell::Expression(expr) => computed.push((row, *at, *expr)),
                }
            }
            budget.take(draft.memory_bytes())?;
            drafts.push(draft);
        }
        for some in computed.chunks(EXPRESSIONS_AT_ONCE) {
            let items = some
                .iter()
                .enumerate()
                .map(|(place, (_, _, expr))| item(expr.clone(), &format!("(value {})", place + 1)));
            let query = syntax::select(write.with.as_ref(), items.collect(), Vec::new(), None)?;
            let batches: Vec<RecordBatch> =
                self.rows(write, self.planner, query).await?.try_collect().await.map_err(from_datafusion)?;
            let Some(batch) = batches.iter().find(|batch| batch.num_rows() == 1) else {
                return Err(Error::new(SqlState::INTERNAL_ERROR, "a list of values gave no row"));
            };
            for (place, (row, at, _)) in some.iter().enumerate() {
                let column = &write.target.columns[*at];
                let value = self.assigned(column, batch, place)?.value(0)?;
                drafts[*row].assign(column, value)?;
            }
        }
        Ok(drafts)
    }

    fn assigned(&self, column: &TargetColumn, batch: &RecordBatch, place: usize) -> Result<AssignedColumn> {
        AssignedColumn::of(column, batch.schema_ref().field(place), batch.column(place), self.zone)
    }

    /// The rows of INSERT ... SELECT.
    async fn selected(&self, write: &Write, columns: &[usize], budget: &mut Budget) -> Result<Vec<Draft>> {
        let Some(query) = write.query()? else { return Ok(Vec::new()) };
        let mut rows = self.rows(write, self.planner, query).await?;
        let width = rows.schema().fields().len();
        let columns = self.fitted(write, columns, width)?;
        check_types(write, columns.iter().copied(), rows.schema().fields().iter())?;
        let mut drafts = Vec::new();
        while let Some(batch) = rows.try_next().await.map_err(from_datafusion)? {
            let places = columns.iter().enumerate();
            let assigned = places.map(|(place, at)| self.assigned(&write.target.columns[*at], &batch, place));
            let assigned = assigned.collect::<Result<Vec<_>>>()?;
            for row in 0..batch.num_rows() {
                let mut draft = Draft::default();
                for (values, at) in assigned.iter().zip(&columns) {
                    draft.assign(&write.target.columns[*at], values.value(row)?)?;
                }
                budget.take(draft.memory_bytes())?;
                drafts.push(draft);
            }
        }
        Ok(drafts)
    }

    fn fitted(&self, write: &Write, columns: &[usize], width: usize) -> Result<Vec<usize>> {
        if width > columns.len() {
            return Err(too_many());
        }
        if width < columns.len() && columns != write.target.implied() {
            return Err(too_few());
        }
        Ok(columns[..width].to_vec())
    }

    async fn inserted(&self, write: &Write, drafts: Vec<Draft>, conflict: &Conflict) -> Result<Done> {
        let target = &write.target;
        let keys = drafts.iter().map(|draft| draft.key(target)).collect::<Result<Vec<_>>>()?;
        let mut done = Done { returned: Returned { are_written: true, ..Returned::default() }, ..Done::default() };
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
                // The last one stays.
                Conflict::Replace => {
                    skipped.insert(before);
                }
                // An error only if the row was written before, which is seen below.
                Conflict::Update { .. } => {
                    repeated.insert(key.clone());
                }
            }
        }
        let is_blind = self.is_transaction && matches!(conflict, Conflict::Fail | Conflict::Replace);
        let existing = match is_blind {
            true => vec![None; keys.len()],
            false => self.entities(write, &keys).await?,
        };
        let mut conflicts = Vec::new();
        for (place, ((key, draft), existing)) in keys.iter().zip(drafts).zip(existing).enumerate() {
            if skipped.contains(&place) {
                done.count += u64::from(matches!(conflict, Conflict::Replace));
                continue;
            }
            let before = match (conflict, &existing) {
                (Conflict::Fail, _) if is_blind => Before::Absent,
                (Conflict::Replace, _) if is_blind => Before::Any,
                (Conflict::Fail, Some(_)) => return Err(duplicate_key(target.name(), key)),
                (Conflict::Nothing, Some(_)) => {
                    done.kept.push(key.clone());
                    continue;
                }
                (Conflict::Update { .. }, Some(existing)) => {
                    conflicts.push((Arc::clone(existing), draft));
                    continue;
                }
                (Conflict::Update { .. }, None) if repeated.contains(key) => return Err(twice()),
                (_, existing) => Before::Seen(existing.as_ref().map(|entity| entity.timestamp)),
            };
            self.put(write, &mut done, key.clone(), before, draft);
        }
        if let Conflict::Update { assignments, selection } = conflict {
            self.updated_instead(write, assignments, selection.as_deref(), conflicts, &mut done).await?;
            // In the order of the rows, of which no two have the same key here.
            done.returned.entities.sort_by_key(|entity| places.get(&entity.key).copied());
        }
        Ok(done)
    }

    async fn entities(&self, write: &Write, keys: &[Key]) -> Result<Vec<Option<Arc<Entity>>>> {
        entities(&write.target.snapshot, self.files, self.signals, keys).await
    }

    fn put(&self, write: &Write, done: &mut Done, key: Key, before: Before, draft: Draft) {
        done.count += 1;
        if write.returning.is_some() {
            let entity = Entity::from_parts(key.clone(), self.now, draft.properties.clone());
            done.returned.entities.push(entity);
        }
        done.changes.push(Change { key, before, after: Some(draft.properties) });
    }

    /// ON CONFLICT DO UPDATE for the rows whose keys exist.
    async fn updated_instead(
        &self,
        write: &Write,
        assignments: &[(usize, Expr)],
        selection: Option<&Expr>,
        conflicts: Vec<(Arc<Entity>, Draft)>,
        done: &mut Done,
    ) -> Result<()> {
        if conflicts.is_empty() {
            return Ok(());
        }
        let target = &write.target;
        let existing: Vec<Entity> = conflicts.iter().map(|(entity, _)| Entity::clone(entity)).collect();
        let proposed = conflicts
            .iter()
            .map(|(entity, draft)| Entity::from_parts(entity.key.clone(), self.now, draft.properties.clone()));
        let proposed: Vec<Entity> = proposed.collect();
        let (query, table) = conflict_query(write, assignments, selection, &existing, &proposed)?;
        let mut rows = self.rows(write, &self.planner.with_rows(table), query).await?;
        check_types(write, assignments.iter().map(|(at, _)| *at), rows.schema().fields().iter().skip(1))?;
        // By key: the first row that was updated.
        let mut updated: HashMap<Key, usize> = HashMap::new();
        while let Some(batch) = rows.try_next().await.map_err(from_datafusion)? {
            let places = batch.column(0).as_primitive::<arrow::datatypes::Int64Type>().clone();
            let assigned = assignments.iter().enumerate();
            let assigned = assigned
                .map(|(place, (at, _))| self.assigned(&target.columns[*at], &batch, place + 1))
                .collect::<Result<Vec<_>>>()?;
            for row in 0..batch.num_rows() {
                let place = places.value(row) as usize;
                let (entity, _) = &conflicts[place];
                if updated.insert(entity.key.clone(), place).is_some() {
                    return Err(twice());
                }
                let mut draft = Draft::of(entity);
                for ((at, _), values) in assignments.iter().zip(&assigned) {
                    draft.assign(&target.columns[*at], values.value(row)?)?;
                }
                if draft.key(target)? != entity.key {
                    let message = "ON CONFLICT DO UPDATE cannot change the key of a row";
                    return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                }
                self.put(write, done, entity.key.clone(), Before::Seen(Some(entity.timestamp)), draft);
            }
        }
        let left_out = conflicts.iter().map(|(entity, _)| &entity.key).filter(|key| !updated.contains_key(*key));
        done.kept.extend(left_out.cloned());
        // A row that was updated is not looked at again, whatever the condition says.
        let later = conflicts
            .iter()
            .enumerate()
            .find(|(place, (entity, _))| updated.get(&entity.key).is_some_and(|first| first < place));
        if later.is_some() { Err(twice()) } else { Ok(()) }
    }

    async fn updated(&self, write: &Write, assignments: &[(usize, Expr)]) -> Result<Done> {
        let Some(query) = write.query()? else { return Ok(Done::default()) };
        let mut budget = Budget::beside(self.held_bytes);
        let mut rows = self.rows(write, self.planner, query).await?;
        check_types(write, assignments.iter().map(|(at, _)| *at), rows.schema().fields().iter().skip(KEY_COLUMNS))?;
        let mut found = Found::new(write, KEY_COLUMNS + assignments.len(), &rows.schema());
        let (mut keys, mut drafts) = (Vec::new(), Vec::new());
        let mut pending: Vec<(Key, Vec<Option<Value>>)> = Vec::new();
        loop {
            let batch = rows.try_next().await.map_err(from_datafusion)?;
            if let Some(batch) = &batch {
                let values = assignments.iter().enumerate();
                let values = values
                    .map(|(place, (at, _))| self.assigned(&write.target.columns[*at], batch, KEY_COLUMNS + place))
                    .collect::<Result<Vec<_>>>()?;
                for (row, key) in found.rows_of(batch)? {
                    let values = values.iter().map(|values| values.value(row)).collect::<Result<Vec<_>>>()?;
                    pending.push((key, values));
                }
            }
            if !pending.is_empty() && (batch.is_none() || pending.len() >= ROWS_AT_ONCE) {
                let chunk = std::mem::take(&mut pending);
                let (chunk_keys, values): (Vec<Key>, Vec<_>) = chunk.into_iter().unzip();
                for ((key, values), entity) in
                    chunk_keys.iter().zip(values).zip(self.entities(write, &chunk_keys).await?)
                {
                    let entity = entity.ok_or_else(|| vanished(key))?;
                    let mut draft = Draft::of(&entity);
                    for ((at, _), value) in assignments.iter().zip(values) {
                        draft.assign(&write.target.columns[*at], value)?;
                    }
                    budget.take(draft.memory_bytes())?;
                    drafts.push((draft, entity.timestamp));
                }
                keys.extend(chunk_keys);
            }
            if batch.is_none() {
                break;
            }
        }
        let mut done = Done { returned: found.returned()?, ..Done::default() };
        done.returned.are_written = true;
        self.moved(write, keys, drafts, &mut done).await?;
        Ok(done)
    }

    /// Updated rows, some of which may have another key than before.
    async fn moved(
        &self,
        write: &Write,
        keys: Vec<Key>,
        drafts: Vec<(Draft, DateTime)>,
        done: &mut Done,
    ) -> Result<()> {
        let target = &write.target;
        let new_keys = drafts.iter().map(|(draft, _)| draft.key(target)).collect::<Result<Vec<_>>>()?;
        if new_keys == keys {
            for (key, (draft, seen)) in keys.into_iter().zip(drafts) {
                self.put(write, done, key, Before::Seen(Some(seen)), draft);
            }
            return Ok(());
        }
        // By key: what was there, and what is to be.
        let mut seen: HashMap<Key, Option<DateTime>> = HashMap::new();
        for (key, (_, timestamp)) in keys.iter().zip(&drafts) {
            seen.insert(key.clone(), Some(*timestamp));
        }
        let foreign: Vec<Key> = new_keys.iter().filter(|key| !seen.contains_key(*key)).cloned().collect();
        for (key, entity) in foreign.iter().zip(self.entities(write, &foreign).await?) {
            if entity.is_some() {
                return Err(duplicate_key(target.name(), key));
            }
            seen.insert(key.clone(), None);
        }
        let mut taken = HashSet::with_capacity(new_keys.len());
        if let Some(twice) = new_keys.iter().find(|key| !taken.insert(*key)) {
            return Err(duplicate_key(target.name(), twice));
        }
        for key in keys.iter().filter(|key| !taken.contains(*key)) {
            let before = Before::Seen(seen.get(key).copied().flatten());
            done.changes.push(Change { key: key.clone(), before, after: None });
        }
        for (key, (draft, _)) in new_keys.into_iter().zip(drafts) {
            let before = Before::Seen(seen.get(&key).copied().flatten());
            self.put(write, done, key, before, draft);
        }
        Ok(())
    }

    async fn deleted(&self, write: &Write) -> Result<Done> {
        let Some(query) = write.query()? else { return Ok(Done::default()) };
        let mut budget = Budget::beside(self.held_bytes);
        let mut rows = self.rows(write, self.planner, query).await?;
        let mut found = Found::new(write, KEY_COLUMNS, &rows.schema());
        let mut keys = Vec::new();
        while let Some(batch) = rows.try_next().await.map_err(from_datafusion)? {
            for (_, key) in found.rows_of(&batch)? {
                budget.take((key.partition.len() + key.row.len() + 160) as u64)?;
                keys.push(key);
            }
        }
        let mut done = Done { returned: found.returned()?, ..Done::default() };
        for chunk in keys.chunks(ROWS_AT_ONCE) {
            for (key, entity) in chunk.iter().zip(self.entities(write, chunk).await?) {
                let entity = entity.ok_or_else(|| vanished(key))?;
                done.count += 1;
                let before = Before::Seen(Some(entity.timestamp));
                done.changes.push(Change { key: key.clone(), before, after: None });
                if write.returning.is_some() {
                    done.returned.entities.push(Entity::clone(&entity));
                }
            }
        }
        Ok(done)
    }

    async fn merged(&self, write: &Write, clauses: &[Clause]) -> Result<Done> {
        let Some(query) = write.query()? else { return Ok(Done::default()) };
        let target = &write.target;
        let mut budget = Budget::beside(self.held_bytes);
        let mut rows = self.rows(write, self.planner, query).await?;
        let assigned = clauses.iter().flat_map(|clause| clause.action.assignments());
        check_types(write, assigned.map(|(at, _)| *at), rows.schema().fields().iter().skip(KEY_COLUMNS + 1))?;
        let mut changed: Vec<(Key, usize)> = Vec::new();
        let mut drafts: Vec<Vec<Option<Value>>> = Vec::new();
        let (mut new_keys, mut new_drafts) = (Vec::new(), Vec::new());
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
                    of_clause.push((*at, self.assigned(&target.columns[*at], &batch, place)?));
                    place += 1;
                }
                values.push(of_clause);
            }
            for row in 0..batch.num_rows() {
                if decisions.is_null(row) {
                    continue;
                }
                let number = decisions.value(row) as usize;
                let Some((clause, values)) = clauses.get(number).zip(values.get(number)) else { continue };
                if let ClauseAction::Nothing = clause.action {
                    continue;
                }
                if let ClauseAction::Insert(_) = clause.action {
                    let mut draft = Draft::default();
                    for (at, values) in values {
                        draft.assign(&target.columns[*at], values.value(row)?)?;
                    }
                    budget.take(draft.memory_bytes())?;
                    new_keys.push(draft.key(target)?);
                    new_drafts.push(draft);
                } else {
                    budget.take(256)?;
                    let given = values.iter().map(|(_, values)| values.value(row)).collect::<Result<Vec<_>>>()?;
                    changed.push((key_of(&batch, row)?, number));
                    drafts.push(given);
                }
            }
        }
        let mut done = Done::default();
        let mut keys = HashSet::new();
        if changed.iter().any(|(key, _)| !keys.insert(key)) {
            let message = "MERGE command cannot affect row a second time";
            let hint = "Ensure that not more than one source row matches any one target row.";
            return Err(Error::new(SqlState::CARDINALITY_VIOLATION, message).with_hint(hint));
        }
        let all: Vec<Key> = changed.iter().map(|(key, _)| key.clone()).collect();
        let (mut updated_keys, mut updated_drafts) = (Vec::new(), Vec::new());
        let mut gone = HashSet::new();
        let found = self.entities(write, &all).await?;
        for (((key, number), given), entity) in changed.iter().zip(drafts).zip(found) {
            let entity = entity.ok_or_else(|| vanished(key))?;
            match &clauses[*number].action {
                ClauseAction::Update(assignments) => {
                    let mut draft = Draft::of(&entity);
                    for ((at, _), value) in assignments.iter().zip(given) {
                        draft.assign(&target.columns[*at], value)?;
                    }
                    budget.take(draft.memory_bytes())?;
                    updated_keys.push(key.clone());
                    updated_drafts.push((draft, entity.timestamp));
                }
                ClauseAction::Delete | ClauseAction::Insert(_) | ClauseAction::Nothing => {
                    done.count += 1;
                    gone.insert(key.clone());
                    let before = Before::Seen(Some(entity.timestamp));
                    done.changes.push(Change { key: key.clone(), before, after: None });
                }
            }
        }
        self.moved(write, updated_keys, updated_drafts, &mut done).await?;
        let mut written: HashSet<Key> = done.changes.iter().map(|change| change.key.clone()).collect();
        let existing = self.entities(write, &new_keys).await?;
        for ((key, draft), existing) in new_keys.into_iter().zip(new_drafts).zip(existing) {
            if existing.is_some() || !written.insert(key.clone()) {
                return Err(duplicate_key(target.name(), &key));
            }
            self.put(write, &mut done, key, Before::Seen(None), draft);
        }
        Ok(done)
    }
}

/// Refuses assignments of a type that a column does not take, be there rows or not.
pub(crate) fn check_types<'a>(
    write: &Write,
    columns: impl Iterator<Item = usize>,
    fields: impl Iterator<Item = &'a FieldRef>,
) -> Result<()> {
    for (at, field) in columns.zip(fields) {
        AssignedColumn::taken(&write.target.columns[at], field)?;
    }
    Ok(())
}

fn twice() -> Error {
    let message = "ON CONFLICT DO UPDATE command cannot affect row a second time";
    let hint = "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.";
    Error::new(SqlState::CARDINALITY_VIOLATION, message).with_hint(hint)
}

/// A row that was selected is of the same snapshot as the entity.
fn vanished(key: &Key) -> Error {
    let message = format!("the entity ({}, {}) was selected and cannot be read", key.partition, key.row);
    Error::new(SqlState::INTERNAL_ERROR, message)
}

/// As PostgreSQL tells of a key that is there already.
pub(crate) fn duplicate_key(table: &str, key: &Key) -> Error {
    let name = constraint_name(table);
    let message = format!("duplicate key value violates unique constraint \"{name}\"");
    let detail = format!("Key (\"PartitionKey\", \"RowKey\")=({}, {}) already exists.", key.partition, key.row);
    Error::new(SqlState::UNIQUE_VIOLATION, message).with_detail(detail)
}
