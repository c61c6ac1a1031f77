//! What a statement is to write.

use std::borrow::Cow;
use std::sync::Arc;

use rowkey_base::{Error, Result, SqlState};
use rowkey_model::{DateTime, Entity, Key};
use rowkey_postgres::cancellation::Signals;
use rowkey_storage::run::RunFiles;
use rowkey_storage::{Change as Done, Condition, Operation, Properties, Snapshot, TableSnapshot};

/// Memory of everything that a transaction writes, in bytes.
pub(crate) const TRANSACTION_BYTES_MAX: u64 = 256 << 20;

/// What becomes of one entity.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub key: Key,
    pub before: Before,
    /// Its properties; None if it goes.
    pub after: Option<Properties>,
}

/// What the statement knows of the entity it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// Nothing, and any will do.
    Any,
    /// Nothing; that it does not exist is found out by the commit.
    Absent,
    /// The version that was read, by its Timestamp; None if there was none.
    Seen(Option<DateTime>),
}

impl Change {
    /// What the store is asked to do. An entity that neither was nor is needs nothing.
    pub(crate) fn operation(&self, table: u64) -> Option<Operation<'_>> {
        let Self { key, before, after } = self;
        let content = after.as_deref().map(Cow::Borrowed);
        let (change, condition) = match (content, *before) {
            (Some(content), Before::Any) => (Done::InsertOrReplace(content), Condition::Any),
            (Some(content), Before::Absent) => (Done::Insert(content), Condition::Any),
            (Some(content), Before::Seen(seen)) => (Done::InsertOrReplace(content), Condition::Unchanged(seen)),
            (None, Before::Seen(Some(seen))) => (Done::Delete, Condition::Unchanged(Some(seen))),
            (None, _) => return None,
        };
        Some(Operation { table, key: Cow::Borrowed(key), change, condition })
    }
}

/// Counts the memory that a statement takes for what it writes.
#[derive(Debug)]
pub(crate) struct Budget {
    left: u64,
}

impl Budget {
    /// What a transaction that holds so many bytes may still take.
    pub(crate) fn beside(held: u64) -> Self {
        Self { left: TRANSACTION_BYTES_MAX.saturating_sub(held) }
    }

    pub(crate) fn take(&mut self, bytes: u64) -> Result<()> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(too_large()),
        }
    }
}

pub(crate) fn too_large() -> Error {
    let message = format!("a transaction writes more than {} MiB", TRANSACTION_BYTES_MAX >> 20);
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
        .with_hint("write in several transactions, or use `rowkey import`")
}

/// Refuses to leave rows out for entities that another transaction has deleted since this one's
/// snapshot. PostgreSQL would insert them: it looks keys up in what is committed, whatever the
/// snapshot.
pub(crate) async fn refuse_if_deleted(
    seen: &TableSnapshot,
    newest: &Snapshot,
    files: &Arc<RunFiles>,
    signals: &Signals,
    keys: &[Key],
) -> Result<()> {
    let committed = keys.iter().filter(|key| !seen.has_own_version(key.as_ref()));
    let committed: Vec<Key> = committed.cloned().collect();
    let Some(key) = committed.first() else { return Ok(()) };
    let Some(table) = newest.table(seen.table.id) else { return Err(changed_meanwhile(&seen.table.name, key)) };
    let now = entities(&newest.table_snapshot(table), files, signals, &committed).await?;
    match committed.iter().zip(now).find(|(_, entity)| entity.is_none()) {
        Some((key, _)) => Err(changed_meanwhile(&table.name, key)),
        None => Ok(()),
    }
}

/// Another transaction was first.
pub(crate) fn changed_meanwhile(table: &str, key: &Key) -> Error {
    let detail = format!("The entity ({}, {}) of \"{table}\" was changed meanwhile.", key.partition, key.row);
    Error::new(SqlState::SERIALIZATION_FAILURE, "could not serialize access due to concurrent update")
        .with_detail(detail)
}

/// Reading by scan costs about this many rows for each that is looked up by its key.
const SCANNED_ROWS_PER_LOOKUP: u64 = 30;
/// Keys looked up, or scanned for, at a time.
const KEYS_AT_ONCE: usize = 1024;

/// The entities of some keys, in their order. Many of a table that is small are read in one scan.
pub(crate) async fn entities(
    snapshot: &TableSnapshot,
    files: &Arc<RunFiles>,
    signals: &Signals,
    keys: &[Key],
) -> Result<Vec<Option<Arc<Entity>>>> {
    let rows: u64 = snapshot.table.manifest.files().map(|file| file.live_rows()).sum();
    let mut found: Vec<Option<Arc<Entity>>> = vec![None; keys.len()];
    if keys.len() < KEYS_AT_ONCE || keys.len() as u64 * SCANNED_ROWS_PER_LOOKUP < rows {
        for (place, key) in keys.iter().enumerate() {
            if place % KEYS_AT_ONCE == 0 {
                signals.check()?;
            }
            found[place] = snapshot.get(files, key.as_ref()).await?;
        }
        return Ok(found);
    }
    let mut sorted: Vec<usize> = (0..keys.len()).collect();
    sorted.sort_by(|a, b| keys[*a].cmp(&keys[*b]));
    let mut wanted = sorted.into_iter().peekable();
    let mut batches = snapshot.range(Arc::clone(files), rowkey_model::KeyRange::all());
    while let Some(batch) = futures::TryStreamExt::try_next(&mut batches).await? {
        signals.check()?;
        for entity in batch {
            while wanted.next_if(|place| keys[*place] < entity.key).is_some() {}
            let entity = match wanted.peek() {
                Some(place) if keys[*place] == entity.key => Arc::new(entity),
                Some(_) => continue,
                None => return Ok(found),
            };
            while let Some(place) = wanted.next_if(|place| keys[*place] == entity.key) {
                found[place] = Some(Arc::clone(&entity));
            }
        }
    }
    Ok(found)
}
