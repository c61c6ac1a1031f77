//! What a transaction block has written and not yet committed.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::changes::{Before, Change, TRANSACTION_BYTES_MAX, too_large};
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::rows::{PropertyId, PropertyNames, Rows, ValueRef};
use rowkey_model::{DateTime, Key};
use rowkey_storage::delta::{Generation, Locations, Version};
use rowkey_storage::{Change as Done, Condition, KeyHash, Operation, OwnWrites, Properties, Snapshot, TableSnapshot};

/// The writes of a transaction, numbered by the statements that made them.
#[derive(Debug, Default)]
pub(crate) struct OwnChanges {
    tables: Arc<OwnWrites>,
    names: HashMap<u64, Arc<PropertyNames>>,
    /// By table: the version that the transaction saw before it first wrote the entity.
    seen: HashMap<u64, HashMap<Key, Option<DateTime>>>,
    /// Tables that the transaction has emptied: what it writes to them afterwards depends on
    /// nothing.
    emptied: BTreeSet<u64>,
    /// Number of the last statement that wrote.
    statement: u64,
}

/// Where a savepoint is: what comes later has greater numbers.
#[derive(Debug, Clone)]
pub(crate) struct Mark {
    tables: Arc<OwnWrites>,
    names: HashMap<u64, Arc<PropertyNames>>,
    emptied: BTreeSet<u64>,
    statement: u64,
}

impl OwnChanges {
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.values().all(|writes| writes.is_empty())
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        let seen = |keys: &HashMap<Key, _>| keys.len() as u64 * 160;
        let writes: u64 = self.tables.values().map(|writes| writes.memory_bytes()).sum();
        writes + self.seen.values().map(seen).sum::<u64>()
    }

    /// A snapshot as the transaction sees it.
    pub(crate) fn seen_by(&self, snapshot: Snapshot) -> Snapshot {
        if self.is_empty() { snapshot } else { snapshot.with_own_writes(Arc::clone(&self.tables)) }
    }

    pub(crate) fn mark(&self) -> Mark {
        let Self { tables, names, emptied, statement, .. } = self;
        Mark { tables: Arc::clone(tables), names: names.clone(), emptied: emptied.clone(), statement: *statement }
    }

    /// Takes back what was written after a mark.
    pub(crate) fn roll_back(&mut self, mark: &Mark) {
        self.tables = Arc::clone(&mark.tables);
        self.names.clone_from(&mark.names);
        self.emptied.clone_from(&mark.emptied);
        self.take_back(mark.statement);
    }

    /// Takes back what statements after this one have written.
    fn take_back(&mut self, statement: u64) {
        for writes in Arc::make_mut(&mut self.tables).values_mut() {
            if writes.last_sequence() > statement {
                *writes = Arc::new(writes.up_to(statement));
            }
        }
    }

    /// What was written to a table so far goes with everything else in it.
    pub(crate) fn empty(&mut self, table: u64) {
        self.forget(table);
        self.emptied.insert(table);
    }

    /// What was written to a table so far goes with the table.
    pub(crate) fn forget(&mut self, table: u64) {
        Arc::make_mut(&mut self.tables).remove(&table);
        self.names.remove(&table);
    }

    /// Adds what a statement writes: all of it, or nothing and an error.
    pub(crate) fn add(&mut self, table: &TableSnapshot, changes: Vec<Change>, now: DateTime) -> Result<()> {
        let names = table.names();
        let mut rows = Rows::with_capacity(changes.len(), 0);
        let mut written = Vec::with_capacity(changes.len());
        for change in changes {
            let seen = match change.before {
                Before::Seen(seen) => seen,
                Before::Any | Before::Absent => {
                    return Err(Error::new(SqlState::INTERNAL_ERROR, "an entity is written that was not read"));
                }
            };
            match &change.after {
                None => rows.push(&names, change.key.as_ref(), None, std::iter::empty())?,
                Some(properties) => {
                    // Later than the version before, as the one that is committed will be.
                    let timestamp = match seen {
                        Some(seen) if seen >= now => DateTime::from_micros(seen.micros() + 1, 0),
                        _ => DateTime::from_micros(now.micros(), 0),
                    };
                    let properties = numbered(&names, properties)?;
                    rows.push(&names, change.key.as_ref(), Some(timestamp), properties.into_iter())?;
                }
            }
            written.push((change.key, seen, change.after.is_none()));
        }
        let id = table.table.id;
        self.statement += 1;
        let tables = Arc::make_mut(&mut self.tables);
        let writes = Arc::clone(tables.entry(id).or_insert_with(|| Arc::new(Generation::default())));
        let is_emptied = self.emptied.contains(&id);
        let seen_before = self.seen.entry(id).or_default();
        for (row, (key, seen, is_deleted)) in rows.to_encoded().zip(written) {
            if !is_emptied {
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
        if self.memory_bytes() > TRANSACTION_BYTES_MAX {
            self.take_back(self.statement - 1);
            return Err(too_large());
        }
        Ok(())
    }

    /// What the store is asked to do at COMMIT.
    pub(crate) fn operations(&self) -> Vec<Operation<'static>> {
        let mut operations = Vec::new();
        for (&table, writes) in self.tables.iter() {
            let Some(names) = self.names.get(&table) else { continue };
            let seen = self.seen.get(&table);
            for version in writes.visible(u64::MAX) {
                let key = version.key().to_key();
                let is_emptied = self.emptied.contains(&table);
                let seen = seen.and_then(|seen| seen.get(&key)).copied().flatten().filter(|_| !is_emptied);
                let change = match version.row() {
                    Some(row) => {
                        let entity = row.properties().map(|(id, value)| (names.name(id), value.to_value()));
                        Done::InsertOrReplace(Cow::Owned(entity.collect()))
                    }
                    None if seen.is_some() => Done::Delete,
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

/// Properties with their numbers; names and values are checked.
fn numbered<'v>(names: &PropertyNames, properties: &'v Properties) -> Result<Vec<(PropertyId, ValueRef<'v>)>> {
    let mut numbered = Vec::with_capacity(properties.len());
    for (name, value) in properties {
        value.validate(name)?;
        numbered.push((names.accept(name)?, ValueRef::from(value)));
    }
    Ok(numbered)
}
