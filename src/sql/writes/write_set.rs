//! The write set of a transaction: what its block has written and not yet committed.
//!
//! Operations come in, and go out at COMMIT. Between, entities are kept once, in a third shape: as
//! versions of a delta, which the transaction's scans and look-ups merge with those of the table.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::memory_budget::{TRANSACTION_BYTES_MAX, WriteMemory, too_large};
use super::row_locks::{LockedKeys, RowLocks};
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::rows::{PropertyId, PropertyNames, Rows};
use rowkey_model::{DateTime, Key, ValueRef};
use rowkey_postgres::cancellation::Signals;
use rowkey_storage::delta::{Generation, Locations, Version};
use rowkey_storage::{Change, Condition, Content, KeyHash, Operation, OwnWrites, Snapshot, TableSnapshot};

/// The writes of a transaction, numbered by the statements that made them.
#[derive(Debug)]
pub(crate) struct WriteSet {
    tables: Arc<OwnWrites>,
    names: HashMap<u64, Arc<PropertyNames>>,
    /// By table: the version that the transaction saw before it first wrote the entity.
    seen: HashMap<u64, HashMap<Key, Option<DateTime>>>,
    /// Tables that the transaction has truncated: what it writes to them afterwards is made for no
    /// version.
    truncated: BTreeSet<u64>,
    /// Rows that were read FOR UPDATE or FOR SHARE.
    row_locks: RowLocks,
    /// Number of the last statement that wrote, or read rows so.
    statement: u64,
    memory: WriteMemory,
}

/// The write set of a block, shared with the compute threads that run its statements. Each
/// statement adds its writes atomically, also if its future is dropped meanwhile.
#[derive(Debug, Clone)]
pub(crate) struct SharedWriteSet(Arc<Mutex<WriteSet>>);

impl SharedWriteSet {
    /// An empty one, and the memory that is held for it.
    pub(crate) fn new(memory: WriteMemory) -> Self {
        Self(Arc::new(Mutex::new(WriteSet {
            tables: Arc::default(),
            names: HashMap::new(),
            seen: HashMap::new(),
            truncated: BTreeSet::new(),
            row_locks: RowLocks::default(),
            statement: 0,
            memory,
        })))
    }

    /// The write set, between two statements.
    pub(crate) fn lock(&self) -> MutexGuard<'_, WriteSet> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the operations of a statement ([`WriteSet::add`]), unless it is to stop: the next one
    /// of its block may have begun.
    pub(crate) fn add(
        &self,
        table: &TableSnapshot,
        operations: Vec<Operation<'static>>,
        now: DateTime,
        signals: &Signals,
    ) -> Result<()> {
        let mut write_set = self.lock();
        signals.check()?;
        write_set.add(table, operations, now)
    }

    /// Adds rows that a statement has read FOR UPDATE or FOR SHARE, unless it is to stop.
    pub(crate) fn lock_rows(&self, table: u64, keys: Vec<Key>, is_exclusive: bool, signals: &Signals) -> Result<()> {
        let mut write_set = self.lock();
        signals.check()?;
        write_set.lock_rows(table, keys, is_exclusive)
    }
}

/// The write set at a savepoint: statements after it have greater numbers.
#[derive(Debug, Clone)]
pub(crate) struct WriteSetMark {
    tables: Arc<OwnWrites>,
    names: HashMap<u64, Arc<PropertyNames>>,
    truncated: BTreeSet<u64>,
    statement: u64,
}

impl WriteSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.values().all(|writes| writes.is_empty())
    }

    /// About how much memory it takes, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let seen = |keys: &HashMap<Key, _>| keys.len() as u64 * 160;
        let writes: u64 = self.tables.values().map(|writes| writes.memory_bytes()).sum();
        writes + self.seen.values().map(seen).sum::<u64>() + self.row_locks.memory_bytes()
    }

    /// A snapshot as the transaction sees it.
    pub(crate) fn seen_by(&self, snapshot: Snapshot) -> Snapshot {
        if self.is_empty() { snapshot } else { snapshot.with_own_writes(Arc::clone(&self.tables)) }
    }

    /// Where a savepoint rolls back to.
    pub(crate) fn mark(&self) -> WriteSetMark {
        let Self { tables, names, truncated, statement, .. } = self;
        WriteSetMark {
            tables: Arc::clone(tables),
            names: names.clone(),
            truncated: truncated.clone(),
            statement: *statement,
        }
    }

    /// The writes without those after a mark. Nothing changes yet.
    pub(crate) fn undone(&self, mark: &WriteSetMark) -> UndoneWrites {
        UndoneWrites(up_to(&mark.tables, mark.statement))
    }

    /// Goes back to a mark, with what [`Self::undone`] made of it; gives the writes before, which
    /// may take long to drop.
    pub(crate) fn roll_back(&mut self, mark: &WriteSetMark, undone: UndoneWrites) -> Arc<OwnWrites> {
        self.names.clone_from(&mark.names);
        self.truncated.clone_from(&mark.truncated);
        self.row_locks.roll_back(mark.statement);
        std::mem::replace(&mut self.tables, undone.0)
    }

    /// Takes back what statements after this one have written.
    fn take_back(&mut self, statement: u64) {
        self.tables = up_to(&self.tables, statement);
    }

    /// The table is truncated, and what was written to it so far goes.
    pub(crate) fn truncate(&mut self, table: u64) {
        self.forget(table);
        self.truncated.insert(table);
    }

    /// The table is dropped, and what was written to it so far goes.
    pub(crate) fn forget(&mut self, table: u64) {
        Arc::make_mut(&mut self.tables).remove(&table);
        self.names.remove(&table);
        self.row_locks.forget(table);
    }

    /// Adds rows that a statement has read FOR UPDATE or FOR SHARE.
    fn lock_rows(&mut self, table: u64, keys: Vec<Key>, is_exclusive: bool) -> Result<()> {
        self.statement += 1;
        self.row_locks.add(table, keys, is_exclusive, self.statement);
        let held = self.hold_memory();
        if held.is_err() {
            self.row_locks.roll_back(self.statement - 1);
        }
        held
    }

    /// Holds the memory that it takes by now.
    fn hold_memory(&mut self) -> Result<()> {
        let bytes = self.memory_bytes();
        if bytes > TRANSACTION_BYTES_MAX { Err(too_large()) } else { self.memory.resize(bytes) }
    }

    /// Whether rows were read FOR UPDATE or FOR SHARE.
    pub(crate) fn has_row_locks(&self) -> bool {
        !self.row_locks.is_empty()
    }

    /// The keys of those rows, but those that are written anyway.
    pub(crate) fn locked_keys(&self, written: &[Operation<'_>]) -> Vec<LockedKeys> {
        self.row_locks.keys_beside(written)
    }

    /// Adds the operations of a statement: all of them, or none and an error. `now` is the time of
    /// the transaction.
    pub(crate) fn add(
        &mut self,
        table: &TableSnapshot,
        operations: Vec<Operation<'static>>,
        now: DateTime,
    ) -> Result<()> {
        let names = table.names();
        let mut rows = Rows::with_capacity(operations.len(), 0);
        let mut written = Vec::with_capacity(operations.len());
        for Operation { key, change, condition, .. } in operations {
            let Condition::Unchanged(seen) = condition else {
                return Err(Error::new(SqlState::INTERNAL_ERROR, "an entity is written that was not read"));
            };
            let is_deleted = match &change {
                Change::Delete => {
                    rows.push(&names, key.as_ref().as_ref(), None, std::iter::empty())?;
                    true
                }
                Change::InsertOrReplace(properties) => {
                    // Later than the version before, as the one that is committed will be.
                    let timestamp = match seen {
                        Some(seen) if seen >= now => DateTime::from_micros(seen.micros() + 1, 0),
                        _ => DateTime::from_micros(now.micros(), 0),
                    };
                    let properties = numbered(&names, properties)?;
                    rows.push(&names, key.as_ref().as_ref(), Some(timestamp), properties.into_iter())?;
                    false
                }
                Change::Insert(_) | Change::Replace(_) | Change::Merge(_) | Change::InsertOrMerge(_) | Change::Keep => {
                    return Err(Error::new(
                        SqlState::INTERNAL_ERROR,
                        "no statement of a transaction makes this change",
                    ));
                }
            };
            written.push((key.into_owned(), seen, is_deleted));
        }
        let id = table.table.id;
        self.statement += 1;
        let tables = Arc::make_mut(&mut self.tables);
        let writes = Arc::clone(tables.entry(id).or_insert_with(|| Arc::new(Generation::default())));
        let is_truncated = self.truncated.contains(&id);
        let seen_before = self.seen.entry(id).or_default();
        for (row, (key, seen, is_deleted)) in rows.to_encoded().zip(written) {
            if !is_truncated {
                // What was seen first is the version of the snapshot; later ones are the
                // transaction's own.
                seen_before.entry(key).or_insert(seen);
            }
            let hash = KeyHash::of(row.as_ref().key_bytes());
            let version = match is_deleted {
                true => Version::deleted(row, Locations::unknown()),
                false => Version::written(row, Locations::unknown()),
            };
            writes.add(self.statement, hash, version);
        }
        self.names.insert(id, names);
        let held = self.hold_memory();
        if held.is_err() {
            self.take_back(self.statement - 1);
        }
        held
    }

    /// The operations that COMMIT makes durable: one for each entity, for the version that the
    /// transaction saw first.
    pub(crate) fn operations(&self) -> Vec<Operation<'static>> {
        let mut operations = Vec::new();
        for (&table, writes) in self.tables.iter() {
            let Some(names) = self.names.get(&table) else { continue };
            let seen = self.seen.get(&table);
            for version in writes.visible(u64::MAX) {
                let key = version.key().to_key();
                let is_truncated = self.truncated.contains(&table);
                let seen = seen.and_then(|seen| seen.get(&key)).copied().flatten().filter(|_| !is_truncated);
                let change = match version.row() {
                    Some(row) => {
                        let entity = row.properties().map(|(id, value)| (names.name(id), value.to_value()));
                        Change::InsertOrReplace(Cow::Owned(entity.collect()))
                    }
                    None if seen.is_some() => Change::Delete,
                    // Made and removed by the same transaction.
                    None => continue,
                };
                operations.push(Operation {
                    table,
                    key: Cow::Owned(key),
                    change,
                    condition: Condition::Unchanged(seen),
                });
            }
        }
        operations
    }
}

/// The writes of a block without those after a savepoint.
#[derive(Debug)]
pub(crate) struct UndoneWrites(Arc<OwnWrites>);

/// The writes of statements up to this one.
fn up_to(tables: &Arc<OwnWrites>, statement: u64) -> Arc<OwnWrites> {
    let mut tables = Arc::clone(tables);
    for writes in Arc::make_mut(&mut tables).values_mut() {
        if writes.last_sequence() > statement {
            *writes = Arc::new(writes.up_to(statement));
        }
    }
    tables
}

/// Properties with their numbers; names and values are checked.
fn numbered<'v>(names: &PropertyNames, properties: &'v Content<'_>) -> Result<Vec<(PropertyId, ValueRef<'v>)>> {
    let mut numbered = Vec::with_capacity(properties.len());
    for (name, value) in properties.iter() {
        value.validate(name)?;
        numbered.push((names.accept(name)?, ValueRef::from(value)));
    }
    Ok(numbered)
}
