//! Statements that write entities of given keys, run without the query engine: nothing has to be
//! found for them.
//!
//! `INSERT ... VALUES` of constants and parameters, `UPDATE ... SET` of such, or of such added to
//! the column, and `DELETE`, both `WHERE "PartitionKey" = .. AND "RowKey" = ..`, are recognised
//! when they are prepared ([`KeyWrite::of`]) and come to the same changes as by way of a query
//! ([`KeyWrite::changes`]). Where a value needs a cast, or the table is not what it was, the caller
//! takes the long way.

use std::sync::{Arc, Weak};

use datafusion::sql::sqlparser::ast::{self, BinaryOperator, Expr};

use super::changes::{Before, Budget, Change};
use super::draft::Draft;
use super::given::{Given, Values, assigned, sum};
use super::run::duplicate_key;
use super::target::{Target, TargetColumn};
use super::write::{Action, Conflict, Source, Write};
use crate::planner::PlanningSettings;
use rowkey_base::Result;
use rowkey_model::{Entity, Key, Value};
use rowkey_postgres::settings::Settings;
use rowkey_postgres::syntax::Literal;
use rowkey_postgres::types::{PostgresType, SqlValue};
use rowkey_storage::run::{PARTITION_KEY, ROW_KEY, RunFiles};
use rowkey_storage::{Snapshot, Table, TableSnapshot};

/// Rows of VALUES that are written this way; longer statements spend their time elsewhere.
const ROWS_MAX: usize = 1000;

/// A write of entities whose keys are known before anything is read.
#[derive(Debug)]
pub(crate) struct KeyWrite {
    /// The table without what was in it when the statement was prepared.
    target: Target,
    /// The table as it was then.
    seen: Weak<Table>,
    action: KeyAction,
    types: Vec<&'static PostgresType>,
    /// The settings by which its constants were read and its table was found.
    settings: Settings,
    planning: PlanningSettings,
}

#[derive(Debug)]
enum KeyAction {
    Insert { columns: Vec<usize>, rows: Vec<Vec<Given>>, or: Or },
    Update { key: (Given, Given), assignments: Vec<(usize, Given)> },
    Delete { key: (Given, Given) },
}

/// What becomes of an INSERT whose key exists.
#[derive(Debug)]
enum Or {
    Fail,
    Skip,
    Replace,
    Update(Vec<(usize, Given)>),
}

/// What a write by key comes to.
#[derive(Debug)]
pub(crate) struct KeyChanges {
    pub table: TableSnapshot,
    pub changes: Vec<Change>,
    /// The entity that a row was left out for.
    pub kept: Option<Key>,
    /// Rows inserted, updated or deleted.
    pub count: u64,
}

impl KeyWrite {
    /// The write that a statement comes to, if it is one of this kind.
    pub(crate) fn of(write: &Write, types: &[&'static PostgresType], settings: &Settings) -> Option<Self> {
        if write.returning.is_some() || write.with.is_some() || !write.others.is_empty() {
            return None;
        }
        let style = settings.style();
        let action = match &write.action {
            Action::Insert { columns, source: Source::Values(rows), conflict } if rows.len() <= ROWS_MAX => {
                let row = |row: &Vec<Expr>| {
                    let cells = columns.iter().zip(row);
                    cells
                        .map(|(at, expr)| Given::read(expr, &write.target.columns[*at], style))
                        .collect::<Option<Vec<_>>>()
                };
                let rows = rows.iter().map(row).collect::<Option<Vec<_>>>()?;
                let or = match conflict {
                    Conflict::Fail => Or::Fail,
                    Conflict::Nothing => Or::Skip,
                    Conflict::Replace => Or::Replace,
                    Conflict::Update { assignments, selection: None } => {
                        Or::Update(assigned(write, assignments, columns, style)?)
                    }
                    Conflict::Update { .. } => return None,
                };
                // A key that comes twice is settled between the rows, which is told by the long
                // way.
                if rows.len() > 1 && !matches!(or, Or::Fail) {
                    return None;
                }
                KeyAction::Insert { columns: columns.clone(), rows, or }
            }
            Action::Update { assignments, selection: Some(selection) } => {
                let key = key_of(selection, &write.alias)?;
                KeyAction::Update { key, assignments: assigned(write, assignments, &[], style)? }
            }
            Action::Delete { selection: Some(selection) } => {
                KeyAction::Delete { key: key_of(selection, &write.alias)? }
            }
            _ => return None,
        };
        Some(Self {
            target: Target {
                snapshot: write.target.snapshot.without_content(),
                columns: Arc::clone(&write.target.columns),
            },
            seen: Arc::downgrade(write.target.table()),
            action,
            types: types.to_vec(),
            settings: settings.clone(),
            planning: PlanningSettings::of(settings),
        })
    }

    /// Whether it is the same in a snapshot, and with settings, as when it was prepared.
    pub(crate) fn fits(&self, snapshot: &Snapshot, settings: &Settings) -> bool {
        self.is_of(settings) && self.table_of(snapshot).is_some()
    }

    fn is_of(&self, settings: &Settings) -> bool {
        settings.is_unchanged_since(&self.settings) || self.planning == PlanningSettings::of(settings)
    }

    /// What is to be written, as a snapshot has it. With `commits` the statement is a transaction
    /// by itself: then the commit finds out whether a key exists. `None` if the statement has to be
    /// run in another way.
    pub(crate) async fn changes(
        &self,
        files: &RunFiles,
        snapshot: &Snapshot,
        settings: &Settings,
        values: Values<'_>,
        commits: bool,
        held_bytes: u64,
    ) -> Result<Option<KeyChanges>> {
        if !self.is_of(settings) {
            return Ok(None);
        }
        let Some(table) = self.table_of(snapshot) else { return Ok(None) };
        let table = snapshot.table_snapshot(table);
        let mut budget = Budget::beside(held_bytes);
        let mut done = KeyChanges { table, changes: Vec::new(), kept: None, count: 0 };
        match &self.action {
            KeyAction::Insert { columns, rows, or } => {
                let fit = |at: &usize, given: &Given| self.fits_column(given, &self.target.columns[*at], values);
                // What does not fit in a row is told before what is there already for the one ahead
                // of it.
                if rows.len() > 1 && !commits {
                    let mut given = rows.iter().flat_map(|row| columns.iter().zip(row));
                    if !given.all(|(at, given)| fit(at, given)) {
                        return Ok(None);
                    }
                }
                // As is a literal, whether it is needed or not.
                if let (Or::Update(assignments), Values::Written(_)) = (or, values)
                    && !assignments.iter().all(|(at, given)| fit(at, given))
                {
                    return Ok(None);
                }
                done.changes.reserve_exact(rows.len());
                for row in rows {
                    let mut draft = Draft::with_room(columns.len());
                    for (at, given) in columns.iter().zip(row) {
                        let column = &self.target.columns[*at];
                        let Some(value) = self.value(given, column, values) else { return Ok(None) };
                        draft.assign(column, value)?;
                    }
                    budget.take(draft.memory_bytes())?;
                    let key = draft.take_key(&self.target)?;
                    let before = match or {
                        Or::Fail if commits => Before::Absent,
                        Or::Replace if commits => Before::Any,
                        or => match (or, entity(&done.table, files, key.as_ref()).await?) {
                            (Or::Fail, Some(_)) => return Err(duplicate_key(self.target.name(), &key)),
                            (Or::Skip, Some(_)) => {
                                done.kept = Some(key);
                                continue;
                            }
                            (Or::Update(assignments), Some(existing)) => {
                                let Some(updated) = self.updated(&existing, assignments, values)? else {
                                    return Ok(None);
                                };
                                done.put(key, Before::Seen(Some(existing.timestamp)), updated);
                                continue;
                            }
                            (_, existing) => Before::Seen(existing.map(|entity| entity.timestamp)),
                        },
                    };
                    done.put(key, before, draft);
                }
                // Keys that come twice are found by sorting them; the long way tells which.
                if done.changes.len() > 1 {
                    let mut keys: Vec<&Key> = done.changes.iter().map(|change| &change.key).collect();
                    keys.sort_unstable();
                    if keys.windows(2).any(|pair| pair[0] == pair[1]) {
                        return Ok(None);
                    }
                }
            }
            KeyAction::Update { key, assignments } => {
                let Some(key) = self.key(key, values) else { return Ok(None) };
                let Some(entity) = entity(&done.table, files, key.as_ref()).await? else {
                    // A value that does not fit is an error all the same.
                    let fit = |(at, given): &(usize, Given)| self.fits_column(given, &self.target.columns[*at], values);
                    return Ok(assignments.iter().all(fit).then_some(done));
                };
                let Some(draft) = self.updated(&entity, assignments, values)? else { return Ok(None) };
                budget.take(draft.memory_bytes())?;
                done.put(entity.key.clone(), Before::Seen(Some(entity.timestamp)), draft);
            }
            KeyAction::Delete { key } => {
                let Some(key) = self.key(key, values) else { return Ok(None) };
                let Some(entity) = entity(&done.table, files, key.as_ref()).await? else { return Ok(Some(done)) };
                done.count = 1;
                let before = Before::Seen(Some(entity.timestamp));
                done.changes.push(Change { key: entity.key.clone(), before, after: None });
            }
        }
        Ok(Some(done))
    }

    /// The entity with the values of SET. `None` if one needs a cast.
    fn updated(&self, entity: &Entity, assignments: &[(usize, Given)], values: Values<'_>) -> Result<Option<Draft>> {
        let mut draft = Draft::of(entity);
        for (at, given) in assignments {
            let column = &self.target.columns[*at];
            let value = match given {
                Given::Sum { by, negative } => {
                    self.value(by, column, values).and_then(|by| sum(entity, column, by, *negative))
                }
                given => self.value(given, column, values),
            };
            let Some(value) = value else { return Ok(None) };
            draft.assign(column, value)?;
        }
        Ok(Some(draft))
    }

    /// Whether a value, or what is added, needs no cast.
    fn fits_column(&self, given: &Given, column: &TargetColumn, values: Values<'_>) -> bool {
        let given = if let Given::Sum { by, .. } = given { by } else { given };
        self.value(given, column, values).is_some()
    }

    /// `None` if the value needs a cast, or an entity; `Some(None)` is NULL.
    fn value(&self, given: &Given, column: &TargetColumn, values: Values<'_>) -> Option<Option<Value>> {
        match given {
            Given::Constant(value) => Some(value.clone()),
            Given::Parameter(place) => values.get(*place, &self.types, column, self.settings.style()),
            Given::Proposed(place) => match &self.action {
                // Of the same column, so that it is read the same.
                KeyAction::Insert { rows, .. } => self.value(rows.first()?.get(*place)?, column, values),
                KeyAction::Update { .. } | KeyAction::Delete { .. } => None,
            },
            Given::Sum { .. } => None,
        }
    }

    /// `None` where a part is NULL, to which nothing is equal, or no text.
    fn key(&self, key: &(Given, Given), values: Values<'_>) -> Option<Key> {
        let part = |given: &Given| match (given, values) {
            (Given::Constant(Some(Value::String(text))), _) => Some(text.clone()),
            (Given::Parameter(place), Values::Sent(values)) => {
                match (values.get(*place)?, self.types.get(*place)?.name) {
                    (SqlValue::Text(text), "text" | "varchar") => Some(text.clone()),
                    _ => None,
                }
            }
            (Given::Parameter(place), Values::Written(literals)) => match literals.get(*place)? {
                Literal::Text(text) => Some(text.clone()),
                Literal::Number { .. } => None,
            },
            _ => None,
        };
        Some(Key::new(part(&key.0)?, part(&key.1)?))
    }

    /// The table in a snapshot, if it has the columns that it had.
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

impl KeyChanges {
    fn put(&mut self, key: Key, before: Before, draft: Draft) {
        self.count += 1;
        self.changes.push(Change { key, before, after: Some(draft.properties) });
    }
}

/// Boxed, since an entity that was written lately is not read from files.
async fn entity(table: &TableSnapshot, files: &RunFiles, key: rowkey_model::KeyRef<'_>) -> Result<Option<Arc<Entity>>> {
    Ok(Box::pin(table.get(files, key)).await?)
}

/// The one key that a condition leaves.
fn key_of(selection: &Expr, alias: &str) -> Option<(Given, Given)> {
    let (mut partition, mut row) = (None, None);
    let mut parts = vec![selection];
    while let Some(part) = parts.pop() {
        match part {
            Expr::Nested(inner) => parts.push(inner),
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => parts.extend([left.as_ref(), right.as_ref()]),
            Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
                let (name, value) = match (key_column(left, alias), key_column(right, alias)) {
                    (Some(name), None) => (name, right),
                    (None, Some(name)) => (name, left),
                    _ => return None,
                };
                let slot = if name == PARTITION_KEY { &mut partition } else { &mut row };
                if slot.is_some() {
                    return None;
                }
                *slot = Some(key_part(value)?);
            }
            _ => return None,
        }
    }
    Some((partition?, row?))
}

fn key_column<'a>(expr: &'a Expr, alias: &str) -> Option<&'a str> {
    match expr {
        Expr::Nested(inner) => key_column(inner, alias),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [relation, name] if relation.value == alias => {
                [PARTITION_KEY, ROW_KEY].contains(&name.value.as_str()).then_some(&*name.value)
            }
            _ => None,
        },
        _ => None,
    }
}

fn key_part(expr: &Expr) -> Option<Given> {
    let Expr::Value(value) = expr else { return None };
    match &value.value {
        ast::Value::SingleQuotedString(text) => Some(Given::Constant(Some(Value::String(text.clone())))),
        ast::Value::Placeholder(name) => {
            let number: usize = name.strip_prefix('$')?.parse().ok()?;
            Some(Given::Parameter(number.checked_sub(1)?))
        }
        _ => None,
    }
}
