//! From operations to a log record.
//!
//! What lies in run files is looked up before the commit lock is taken; under it, only memory is
//! touched: conditions are checked against the newest version, in flight or durable, the new
//! versions are entered with the record's sequence number, and the record is handed to the log,
//! whose order is the order of commits. The answer waits for the record to be durable, so whatever
//! an operation was built on is durable too, and a refusal for a version in flight waits for that.

use std::sync::Arc;

use super::encoded::{Current, EncodedTable, EncodedWrites};
use super::lookup::{Lookup, Stored};
use crate::catalog::{COLUMNS_MAX, Edit, PropertyColumn, Table};
use crate::delta::{Locations, Version};
use crate::error::{Error, Result};
use crate::log::PAYLOAD_BYTES_MAX;
use crate::operation::{Change, Condition, Operation, Refusal};
use crate::records::{ENTITY_WRITES, encode};
use crate::state::Head;
use rowkey_base::clock::Clock;
use rowkey_model::{DateTime, EdmType};

/// The record's Timestamp, and the log's answer to come.
pub(super) type Appending = (DateTime, crate::log::Appended);

/// Checks and enters operations. `None` if what was found in run files is out of date, or if they
/// are refused for what is not durable yet: it is to be tried again when that is settled.
/// `definitions` are edits that the catalog has followed already and that the same record is to
/// tell of.
pub(super) fn append_writes(
    head: &mut Head,
    clock: &dyn Clock,
    operations: &[Operation<'_>],
    lookups: &[Lookup],
    encoded: Option<EncodedWrites>,
    definitions: &[Edit],
) -> Result<Option<Appending>> {
    let Some(Checked { recent, timestamp }) = check_all(head, clock, operations, lookups)? else { return Ok(None) };
    let current = |place: usize| current_version(&recent, lookups, place);
    let delta = |table: u64| head.deltas.get(&table);
    let mut encoded = match encoded.filter(|encoded| encoded.is_of(delta)) {
        Some(encoded) => encoded,
        None => EncodedWrites::encode(operations, delta, current)?,
    };
    encoded.set_timestamp(timestamp)?;
    let mut edits = Vec::new();
    for (id, writes) in &encoded.tables {
        let table = Arc::clone(find_table(head, *id)?);
        edits.extend(columns_for(head, &table, writes));
    }
    let writes = encoded.take_writes();
    let payload = match definitions {
        [] => encode(&edits, writes.iter()),
        _ => encode(&[definitions, &edits].concat(), writes.iter()),
    };
    drop(writes);
    let payload = payload.map_err(|error| Error::corrupt("catalog edits", error))?;
    if payload.len() > PAYLOAD_BYTES_MAX {
        return Err(Error::TransactionTooLarge { bytes: payload.len() as u64, bytes_max: PAYLOAD_BYTES_MAX as u64 });
    }
    let synced = !definitions.is_empty();
    let answer = head.append(ENTITY_WRITES, payload, &edits, synced, |head, sequence| {
        let locations = |place: usize| match (&recent[place], &lookups[place].stored) {
            (None, Some(stored)) => stored.locations.clone(),
            (Some(version), _) => version.locations(),
            (None, None) => Locations::unknown(),
        };
        for (table, writes) in &encoded.tables {
            let Some(delta) = head.deltas.get(table) else { continue };
            for (place, version) in writes.versions(locations) {
                delta.active().add(sequence, lookups[place].hash, version);
            }
            head.seal_when_full(*table);
        }
    })?;
    head.last_timestamp = timestamp_of_clock(timestamp, head.last_timestamp, clock.now());
    Ok(Some((timestamp, answer)))
}

/// Operations that may be entered.
pub(super) struct Checked {
    /// By operation: the version of its entity that is not in run files.
    recent: Vec<Option<Arc<Version>>>,
    /// Later than all versions that they are built on.
    pub timestamp: DateTime,
}

/// Checks operations against the newest versions. `None` as in [`append_writes`].
pub(super) fn check_all(
    head: &mut Head,
    clock: &dyn Clock,
    operations: &[Operation<'_>],
    lookups: &[Lookup],
) -> Result<Option<Checked>> {
    let mut recent: Vec<Option<Arc<Version>>> = Vec::with_capacity(operations.len());
    for (operation, lookup) in operations.iter().zip(lookups) {
        let table = find_table(head, operation.table)?;
        let looked_up_to = lookup.stored.as_ref().map_or(0, |stored| stored.sequence);
        let delta = head.deltas.get(&operation.table);
        let version = delta.and_then(|delta| delta.newest_above(&lookup.key, lookup.hash, looked_up_to));
        let is_same = |stored: &Stored| stored.manifest.is_same(&table.manifest);
        if version.is_none() && !lookup.stored.as_ref().is_some_and(is_same) {
            return Ok(None);
        }
        recent.push(version);
    }
    let mut timestamp = next_timestamp(head, clock.now())?;
    for (place, operation) in operations.iter().enumerate() {
        let current = current_version(&recent, lookups, place);
        if let Err(refusal) = check(&operation.change, operation.condition, current.timestamp()) {
            if is_refused_in_flight(head, operation, &lookups[place], recent[place].as_ref()) {
                return Ok(None);
            }
            let table = find_table(head, operation.table)?.name.clone();
            let key = operation.key.as_ref().clone();
            return Err(Error::Refused { index: place, table, key, refusal });
        }
        // A version is always later than the one it replaces, whatever the clock says.
        if let Some(before) = current.timestamp().filter(|before| *before >= timestamp) {
            timestamp = DateTime::from_micros(before.micros() + 1, 0);
            timestamp.validate("Timestamp")?;
        }
    }
    Ok(Some(Checked { recent, timestamp }))
}

/// The newest version of the entity of an operation.
fn current_version<'c>(recent: &'c [Option<Arc<Version>>], lookups: &'c [Lookup], place: usize) -> Current<'c> {
    match (&recent[place], &lookups[place].stored) {
        (Some(version), _) if version.is_deleted() => Current::Absent,
        (Some(version), _) => Current::Recent(version),
        (None, Some(Stored { entity: Some(entity), .. })) => Current::Stored(entity),
        (None, _) => Current::Absent,
    }
}

fn find_table(head: &Head, id: u64) -> Result<&Arc<Table>> {
    head.catalog.table_by_id(id).ok_or_else(|| Error::NoSuchTable(format!("{id}")))
}

/// Whole microseconds, later than all before, so that an entity deleted and inserted again
/// never has an ETag it had before.
fn next_timestamp(head: &Head, now: DateTime) -> Result<DateTime> {
    let now = DateTime::from_micros(now.micros(), 0);
    let next = now.max(DateTime::from_micros(head.last_timestamp.micros() + 1, 0));
    next.validate("Timestamp")?;
    Ok(next)
}

/// The edit that gives properties and types that are new to a table their columns, if there are
/// any.
fn columns_for(head: &mut Head, table: &Arc<Table>, writes: &EncodedTable) -> Option<Edit> {
    let known = head.known_properties.entry(table.id).or_default();
    if known.0 != table.schema_version || known.1.is_empty() {
        known.0 = table.schema_version;
        known.1.clear();
        for column in &table.columns {
            let id = writes.names().intern(&column.name);
            known.1.extend(column.types.iter().map(|&edm| (id, edm)));
        }
    }
    let mut columns: Option<Vec<PropertyColumn>> = None;
    for &(id, edm) in &writes.kinds {
        if known.1.contains(&(id, edm)) {
            continue;
        }
        known.1.insert((id, edm));
        let columns = columns.get_or_insert_with(|| table.columns.clone());
        add_column(columns, &writes.names().name(id), edm);
    }
    let columns = columns.filter(|columns| *columns != table.columns)?;
    Some(Edit::SetColumns { table: table.id, columns })
}

/// Adds a type of a property to the columns of a table; beyond the greatest number of columns a new
/// property stays without.
pub(crate) fn add_column(columns: &mut Vec<PropertyColumn>, name: &Arc<str>, edm: EdmType) {
    let room = columns.len() < COLUMNS_MAX;
    match columns.iter_mut().find(|column| column.name == *name) {
        Some(column) => {
            if let Err(at) = column.types.binary_search(&edm) {
                column.types.insert(at, edm);
            }
        }
        None if room => {
            columns.push(PropertyColumn { name: Arc::clone(name), types: vec![edm], declared: None });
        }
        None => {}
    }
}

/// One entity with a Timestamp far ahead, as an import may bring it, does not pull those of all
/// others along.
fn timestamp_of_clock(written: DateTime, last: DateTime, now: DateTime) -> DateTime {
    written.min(last.max(now).max(DateTime::from_micros(last.micros() + 1, 0)))
}

/// Whether an operation is refused only for a version that is not durable yet, and may never be:
/// whoever is told that an entity exists must find it after a crash.
fn is_refused_in_flight(
    head: &Head,
    operation: &Operation<'_>,
    lookup: &Lookup,
    newest: Option<&Arc<Version>>,
) -> bool {
    let Some(newest) = newest else { return false };
    let published = head.published();
    let delta = published.deltas.get(&operation.table);
    let current = match delta.and_then(|delta| delta.newest(&lookup.key, lookup.hash, published.sequence)) {
        Some((_, durable)) if Arc::ptr_eq(&durable, newest) => return false,
        Some((_, durable)) => durable.timestamp(),
        None => match &lookup.stored {
            Some(stored) => stored.entity.as_ref().map(|entity| entity.timestamp),
            // Folded since it was looked up.
            None => return true,
        },
    };
    check(&operation.change, operation.condition, current).is_ok()
}

fn check(change: &Change<'_>, condition: Condition, current: Option<DateTime>) -> Result<(), Refusal> {
    match condition {
        Condition::Unchanged(read) if read != current => return Err(Refusal::Changed),
        Condition::Unchanged(_) | Condition::Any => {}
        Condition::Etag(_) if current.is_none() => return Err(Refusal::Missing),
        Condition::Etag(etag) => {
            if let Some(actual) = current.filter(|actual| *actual != etag) {
                return Err(Refusal::EtagDiffers { actual });
            }
        }
    }
    match (change, current) {
        (Change::Insert(_), Some(_)) => Err(Refusal::Exists),
        (Change::Replace(_) | Change::Merge(_) | Change::Delete | Change::Keep, None) => Err(Refusal::Missing),
        _ => Ok(()),
    }
}
