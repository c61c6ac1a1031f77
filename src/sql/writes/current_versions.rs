//! The current versions of the entities that a statement writes to: the keys that its query
//! matches, and the entities of keys.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, new_empty_array};
use arrow::compute::interleave;
use arrow::datatypes::{FieldRef, Schema};
use datafusion::common::DataFusionError;

use super::returning::Returned;
use super::write::Write;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::{Entity, Key, KeyRange};
use rowkey_postgres::cancellation::Signals;
use rowkey_postgres::error::from_datafusion;
use rowkey_storage::run::RunFiles;
use rowkey_storage::{Snapshot, TableSnapshot};

/// A scan costs about as much for this many rows as a look-up for one.
const SCANNED_ROWS_PER_LOOKUP: u64 = 30;
/// Fewer keys are always looked up; this many look-ups lie between checks for cancellation.
const KEYS_AT_ONCE: usize = 1024;

/// The entities of some keys, in the order of the keys; `None` for a key without one. Many keys of
/// a small table are read in one scan.
pub(crate) async fn current_versions(
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
    let mut batches = snapshot.range(Arc::clone(files), KeyRange::all());
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

/// Refuses to skip rows for entities that another transaction has deleted since this one's
/// snapshot. PostgreSQL would insert the rows: it looks keys up in what is committed, whatever the
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
    let now = current_versions(&newest.table_snapshot(table), files, signals, &committed).await?;
    match committed.iter().zip(now).find(|(_, entity)| entity.is_none()) {
        Some((key, _)) => Err(changed_meanwhile(&table.name, key)),
        None => Ok(()),
    }
}

/// The error where another transaction has changed an entity first.
pub(crate) fn changed_meanwhile(table: &str, key: &Key) -> Error {
    let detail = format!("The entity ({}, {}) of \"{table}\" was changed meanwhile.", key.partition, key.row);
    Error::new(SqlState::SERIALIZATION_FAILURE, "could not serialize access due to concurrent update")
        .with_detail(detail)
}

/// The rows that the query of UPDATE or DELETE matches: each key once, with the columns of other
/// relations that RETURNING names.
pub(super) struct MatchedRows {
    keys: HashSet<Key>,
    /// Where the columns of other relations begin.
    others_from: usize,
    batches: Vec<Vec<ArrayRef>>,
    fields: Vec<FieldRef>,
    /// Batch and row of every key.
    places: Vec<(usize, usize)>,
    wants_others: bool,
}

impl MatchedRows {
    pub(super) fn new(write: &Write, others_from: usize, schema: &Schema) -> Self {
        let wants_others = write.returned().iter().any(|(alias, _)| *alias != write.alias);
        let fields = schema.fields().iter().skip(others_from).filter(|_| wants_others).cloned().collect();
        Self { keys: HashSet::new(), others_from, batches: Vec::new(), fields, places: Vec::new(), wants_others }
    }

    /// Adds a batch; gives its rows whose keys no row before has.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<Vec<(usize, Key)>> {
        let mut rows = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            let key = key_of(batch, row)?;
            if self.keys.insert(key.clone()) {
                rows.push((row, key));
            }
        }
        if self.wants_others {
            let number = self.batches.len();
            self.batches.push(batch.columns()[self.others_from..].to_vec());
            self.places.extend(rows.iter().map(|(row, _)| (number, *row)));
        }
        Ok(rows)
    }

    /// What RETURNING reads of other relations; the entities are to be added.
    pub(super) fn into_returned(self) -> Result<Returned> {
        let mut others = Vec::new();
        for (place, field) in self.fields.iter().enumerate() {
            let arrays: Vec<&dyn Array> = self.batches.iter().map(|columns| columns[place].as_ref()).collect();
            let values = match arrays.is_empty() {
                true => new_empty_array(field.data_type()),
                false => interleave(&arrays, &self.places).map_err(DataFusionError::from).map_err(from_datafusion)?,
            };
            others.push((Arc::clone(field), values));
        }
        Ok(Returned { others, ..Returned::default() })
    }
}

/// The key in the first two columns of a row.
pub(crate) fn key_of(batch: &RecordBatch, row: usize) -> Result<Key> {
    let part = |place: usize| {
        let array = batch.column(place);
        let text = array.as_string_view_opt().filter(|array| array.is_valid(row)).map(|array| array.value(row));
        text.ok_or_else(|| Error::new(SqlState::INTERNAL_ERROR, "a row to be written has no key"))
    };
    Ok(Key::new(part(0)?, part(1)?))
}
