//! Writes by key: `INSERT ... VALUES`, and `UPDATE ... SET` and `DELETE` of one key, with constants
//! and parameters for values.

use std::sync::{Arc, Weak};

use crate::planner::PlanningSettings;
use crate::writes::{
    ConstantExpr, MemoryBudget, ParameterValues, Target, TargetColumn, TargetRowBuilder, WriteResult, delete,
    duplicate_key, increment, insert, put,
};
use rowkey_base::Result;
use rowkey_model::{Entity, Key, KeyRange, KeyRef, Value};
use rowkey_postgres::settings::Settings;
use rowkey_postgres::syntax::Literal;
use rowkey_postgres::types::{PostgresType, SqlValue};
use rowkey_storage::run::RunFiles;
use rowkey_storage::{Condition, Snapshot, Table, TableSnapshot};

/// A write of entities whose keys are known before anything is read.
#[derive(Debug)]
pub(crate) struct KeyWrite {
    /// The table when the statement was prepared, without its content.
    pub(super) target: Target,
    /// That table itself, to find out cheaply whether it has changed.
    pub(super) seen: Weak<Table>,
    pub(super) action: KeyAction,
    pub(super) types: Vec<&'static PostgresType>,
    /// The settings by which its literals were read and its table was found.
    pub(super) settings: Settings,
    pub(super) planning: PlanningSettings,
}

#[derive(Debug)]
pub(super) enum KeyAction {
    Insert { columns: Vec<usize>, rows: Vec<Vec<ConstantExpr>>, on_conflict: OnConflict },
    Update { key: (ConstantExpr, ConstantExpr), assignments: Vec<(usize, ConstantExpr)> },
    Delete { key: (ConstantExpr, ConstantExpr) },
}

/// What becomes of a row of INSERT whose key exists.
#[derive(Debug)]
pub(super) enum OnConflict {
    Fail,
    Skip,
    Replace,
    Update(Vec<(usize, ConstantExpr)>),
}

/// A write of so many rows runs on the thread of the session.
const ROWS_HERE_MAX: usize = 128;
/// Decoded bytes of pages of which entities are read there.
const PAGE_BYTES_MAX: u64 = 4 << 20;

impl KeyWrite {
    /// Whether it is done in some microseconds; else it runs as any other statement.
    pub(crate) fn is_small(&self, values: ParameterValues<'_>) -> bool {
        let rows = match &self.action {
            KeyAction::Insert { rows, .. } => rows.len(),
            KeyAction::Update { .. } | KeyAction::Delete { .. } => 1,
        };
        rows <= ROWS_HERE_MAX && values.are_small()
    }

    /// Whether the statement means the same in a snapshot, and with settings, as when it was
    /// prepared.
    pub(crate) fn fits(&self, snapshot: &Snapshot, settings: &Settings) -> bool {
        self.is_of(settings) && self.table_of(snapshot).is_some()
    }

    fn is_of(&self, settings: &Settings) -> bool {
        settings.is_unchanged_since(&self.settings) || self.planning == PlanningSettings::of(settings)
    }

    /// The operations of the statement over a snapshot, and the table that they are for. If it is
    /// a transaction by itself, the commit finds out whether a key exists. `None` if it has to be
    /// run as any other statement.
    pub(crate) async fn operations(
        &self,
        files: &RunFiles,
        snapshot: &Snapshot,
        settings: &Settings,
        values: ParameterValues<'_>,
        is_transaction: bool,
        mut budget: MemoryBudget,
    ) -> Result<Option<(TableSnapshot, WriteResult)>> {
        if !self.is_of(settings) {
            return Ok(None);
        }
        let Some(table) = self.table_of(snapshot) else { return Ok(None) };
        let id = table.id;
        let table = snapshot.table_snapshot(table);
        let reads_entities = !matches!(&self.action, KeyAction::Insert { on_conflict: OnConflict::Fail, .. });
        if reads_entities && table.page_bytes_max(&KeyRange::all()) > PAGE_BYTES_MAX {
            return Ok(None);
        }
        let mut result = WriteResult::default();
        match &self.action {
            KeyAction::Insert { columns, rows, on_conflict } => {
                let fit = |at: &usize, expr: &ConstantExpr| self.fits_column(expr, &self.target.columns[*at], values);
                // PostgreSQL reads all rows before it looks for the key of the first one.
                if rows.len() > 1 && !is_transaction {
                    let mut cells = rows.iter().flat_map(|row| columns.iter().zip(row));
                    if !cells.all(|(at, expr)| fit(at, expr)) {
                        return Ok(None);
                    }
                }
                // And literals of DO UPDATE, whether the key exists or not.
                if let (OnConflict::Update(assignments), ParameterValues::Literals(_)) = (on_conflict, values)
                    && !assignments.iter().all(|(at, expr)| fit(at, expr))
                {
                    return Ok(None);
                }
                result.operations.reserve_exact(rows.len());
                for row in rows {
                    let mut built = TargetRowBuilder::with_capacity(columns.len());
                    for (at, expr) in columns.iter().zip(row) {
                        let column = &self.target.columns[*at];
                        let Some(value) = self.value(expr, column, values) else { return Ok(None) };
                        built.assign(column, value)?;
                    }
                    budget.take(built.memory_bytes())?;
                    let key = built.take_key(&self.target)?;
                    let condition = match on_conflict {
                        OnConflict::Fail if is_transaction => {
                            result.count += 1;
                            result.operations.push(insert(id, key, built.properties));
                            continue;
                        }
                        OnConflict::Replace if is_transaction => Condition::Any,
                        on_conflict => match (on_conflict, entity(&table, files, key.as_ref()).await?) {
                            (OnConflict::Fail, Some(_)) => return Err(duplicate_key(self.target.name(), &key)),
                            (OnConflict::Skip, Some(_)) => {
                                result.skipped.push(key);
                                continue;
                            }
                            (OnConflict::Update(assignments), Some(existing)) => {
                                let Some(updated) = self.update_row(&existing, assignments, values)? else {
                                    return Ok(None);
                                };
                                built = updated;
                                Condition::Unchanged(Some(existing.timestamp))
                            }
                            (_, existing) => Condition::Unchanged(existing.map(|entity| entity.timestamp)),
                        },
                    };
                    result.count += 1;
                    result.operations.push(put(id, key, built.properties, condition));
                }
                // The statement is run as any other to tell which key comes twice.
                if result.operations.len() > 1 {
                    let mut keys: Vec<&Key> = result.operations.iter().map(|operation| &*operation.key).collect();
                    keys.sort_unstable();
                    if keys.windows(2).any(|pair| pair[0] == pair[1]) {
                        return Ok(None);
                    }
                }
            }
            KeyAction::Update { key, assignments } => {
                let Some(key) = self.key(key, values) else { return Ok(None) };
                let Some(entity) = entity(&table, files, key.as_ref()).await? else {
                    // A value that does not fit is an error all the same.
                    let fit =
                        |(at, expr): &(usize, ConstantExpr)| self.fits_column(expr, &self.target.columns[*at], values);
                    return Ok(assignments.iter().all(fit).then_some((table, result)));
                };
                let Some(row) = self.update_row(&entity, assignments, values)? else { return Ok(None) };
                budget.take(row.memory_bytes())?;
                result.count = 1;
                let condition = Condition::Unchanged(Some(entity.timestamp));
                result.operations.push(put(id, entity.key.clone(), row.properties, condition));
            }
            KeyAction::Delete { key } => {
                let Some(key) = self.key(key, values) else { return Ok(None) };
                if let Some(entity) = entity(&table, files, key.as_ref()).await? {
                    result.count = 1;
                    result.operations.push(delete(id, entity.key.clone(), entity.timestamp));
                }
            }
        }
        Ok(Some((table, result)))
    }

    /// Builds the entity with the values of SET. `None` if one of them needs a cast.
    fn update_row(
        &self,
        entity: &Entity,
        assignments: &[(usize, ConstantExpr)],
        values: ParameterValues<'_>,
    ) -> Result<Option<TargetRowBuilder>> {
        let mut row = TargetRowBuilder::of(entity);
        for (at, expr) in assignments {
            let column = &self.target.columns[*at];
            let value = match expr {
                ConstantExpr::Increment { by, negative } => {
                    self.value(by, column, values).and_then(|by| increment(entity, column, by, *negative))
                }
                expr => self.value(expr, column, values),
            };
            let Some(value) = value else { return Ok(None) };
            row.assign(column, value)?;
        }
        Ok(Some(row))
    }

    /// Whether a value, or what is added, needs no cast.
    fn fits_column(&self, expr: &ConstantExpr, column: &TargetColumn, values: ParameterValues<'_>) -> bool {
        let expr = if let ConstantExpr::Increment { by, .. } = expr { by } else { expr };
        self.value(expr, column, values).is_some()
    }

    /// `None` if the value needs a cast, or an entity; `Some(None)` is NULL.
    fn value(&self, expr: &ConstantExpr, column: &TargetColumn, values: ParameterValues<'_>) -> Option<Option<Value>> {
        match expr {
            ConstantExpr::Literal(value) => Some(value.clone()),
            ConstantExpr::Parameter(place) => values.get(*place, &self.types, column, self.settings.style()),
            ConstantExpr::CastParameter(place, to) => {
                values.get_cast(*place, to, &self.types, column, self.settings.style())
            }
            ConstantExpr::Excluded(place) => match &self.action {
                // Of the same column, so that it is read the same.
                KeyAction::Insert { rows, .. } => self.value(rows.first()?.get(*place)?, column, values),
                KeyAction::Update { .. } | KeyAction::Delete { .. } => None,
            },
            ConstantExpr::Increment { .. } => None,
        }
    }

    /// `None` where a part is NULL, to which nothing is equal, or no text.
    fn key(&self, key: &(ConstantExpr, ConstantExpr), values: ParameterValues<'_>) -> Option<Key> {
        let part = |expr: &ConstantExpr| match (expr, values) {
            (ConstantExpr::Literal(Some(Value::String(text))), _) => Some(text.clone()),
            (ConstantExpr::Parameter(place), ParameterValues::Bound(values)) => {
                match (values.get(*place)?, self.types.get(*place)?.name) {
                    (SqlValue::Text(text), "text" | "varchar") => Some(text.clone()),
                    _ => None,
                }
            }
            (ConstantExpr::Parameter(place), ParameterValues::Literals(literals)) => match literals.get(*place)? {
                Literal::Text(text) => Some(text.clone()),
                Literal::Number { .. } => None,
            },
            _ => None,
        };
        Some(Key::new(part(&key.0)?, part(&key.1)?))
    }

    /// The table in a snapshot, if its name and columns are those that the statement was prepared
    /// for.
    fn table_of<'a>(&self, snapshot: &'a Snapshot) -> Option<&'a Arc<Table>> {
        let before = self.target.table();
        let now = snapshot.table(before.id)?;
        let same = self.seen.as_ptr() == Arc::as_ptr(now)
            || (now.schema_version == before.schema_version
                && now.columns == before.columns
                && now.name == before.name);
        same.then_some(now)
    }
}

/// The entity of a key. Boxed, since the entities that are written again are mostly found in the
/// delta, without a read of files.
async fn entity(table: &TableSnapshot, files: &RunFiles, key: KeyRef<'_>) -> Result<Option<Arc<Entity>>> {
    Ok(Box::pin(table.get(files, key)).await?)
}
