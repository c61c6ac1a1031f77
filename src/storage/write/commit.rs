//! From operations to a log record.
//!
//! What lies in run files is looked up before the commit lock is taken; under it, only memory is touched: conditions are checked against
//! the newest version, in flight or durable, the new versions are entered with the record's sequence number, and the record is handed
//! to the log, whose order is the order of commits. The answer waits for the record to be durable, so whatever an operation was
//! built on is durable too.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::operation::{Change, Condition, Operation, Properties, Refusal, Written};
use super::payload::{TableWrites, encode};
use crate::model::{DateTime, EdmType, Entity, Rejected, Rule};
use crate::rows::{PropertyId, PropertyNames, RowEncoder, ValueRef, key_bytes};
use crate::storage::catalog::{COLUMNS_MAX, Edit, PropertyColumn, Table};
use crate::storage::delta::{Locations, TableDelta, Version};
use crate::storage::error::{Error, Result};
use crate::storage::log::PAYLOAD_BYTES_MAX;
use crate::storage::manifest::Manifest;
use crate::storage::snapshot::{Gaps, TableSnapshot};
use crate::storage::store::{Head, Store};

/// Log records of this kind hold entity writes, and the catalog edits that they bring along.
pub const ENTITY_WRITES: u8 = 3;

/// What run files hold for a key, by one manifest.
pub(super) struct Found {
    pub manifest: Manifest,
    /// There is no recent version up to this sequence number.
    pub sequence: u64,
    pub entity: Option<Arc<Entity>>,
    pub locations: Locations,
}

/// The newest version of an entity.
enum Current<'a> {
    Absent,
    Recent(&'a Version),
    Stored(&'a Entity),
}

impl Current<'_> {
    fn timestamp(&self) -> Option<DateTime> {
        match self {
            Current::Absent => None,
            Current::Recent(version) => version.timestamp(),
            Current::Stored(entity) => Some(entity.timestamp),
        }
    }
}

impl Store {
    /// Applies operations, all or none, as one log record; when this returns they are durable and visible. A key occurs once among
    /// them. They may be of several tables and partitions: what the service asks of an entity group is for the caller to check.
    pub async fn write(&self, operations: &[Operation]) -> Result<Written> {
        loop {
            self.room_for_writes(operations.iter().map(|operation| operation.table)).await?;
            let found = self.find(operations).await?;
            let appended = {
                let mut head = self.head()?;
                head.append_writes(self, operations, &found, &[])?
            };
            // None if a fold was committed meanwhile, or is about to be: what was found lies elsewhere now.
            let Some((timestamp, answer)) = appended else {
                self.settled().await?;
                continue;
            };
            let sequence = answer.await?;
            self.after_writes(operations.iter().map(|operation| operation.table));
            return Ok(Written { timestamp, sequence });
        }
    }

    /// Looks into run files for the keys that have no recent version.
    pub(super) async fn find(&self, operations: &[Operation]) -> Result<Vec<Option<Found>>> {
        let snapshot = self.snapshot();
        let mut found = Vec::with_capacity(operations.len());
        let mut gaps = Gaps::default();
        let mut last: Option<TableSnapshot> = None;
        for operation in operations {
            let Some(table) = snapshot.table(operation.table) else {
                found.push(None);
                continue;
            };
            let key = operation.key.as_ref();
            let table = match last.take().filter(|last| last.table.id == operation.table) {
                Some(last) => last,
                None => snapshot.table_snapshot(table),
            };
            let table = last.insert(table);
            if table.recent(key).is_some() {
                found.push(None);
                continue;
            }
            let manifest = table.table.manifest.clone();
            let stored = table.find_in_files(self.files(), key, &mut gaps).await?;
            let place = stored.as_ref().map(|&(_, file, row)| (file, row));
            let locations = Locations::found(manifest.newest_file_id() + 1, place);
            let entity = stored.map(|(entity, ..)| entity);
            found.push(Some(Found { manifest, sequence: snapshot.sequence, entity, locations }));
        }
        Ok(found)
    }
}

/// The record's Timestamp, and the log's answer to come.
pub(super) type Appending = (DateTime, crate::storage::log::Appended);

impl Head {
    /// Checks and enters operations. `None` if what was found in run files is out of date. `definitions` are edits that the catalog has
    /// followed already and that the same record is to tell of.
    pub(super) fn append_writes(
        &mut self,
        store: &Store,
        operations: &[Operation],
        found: &[Option<Found>],
        definitions: &[Edit],
    ) -> Result<Option<Appending>> {
        let mut recent: Vec<Option<Arc<Version>>> = Vec::with_capacity(operations.len());
        for (operation, found) in operations.iter().zip(found) {
            let table = self.table(operation.table)?;
            let looked_up_to = found.as_ref().map_or(0, |found| found.sequence);
            let version = self
                .deltas
                .get(&operation.table)
                .and_then(|delta| delta.newest_above(&key_bytes(operation.key.as_ref()), looked_up_to));
            if version.is_none() && !found.as_ref().is_some_and(|found| found.manifest.is_same(&table.manifest)) {
                return Ok(None);
            }
            recent.push(version);
        }
        let current = |place: usize| match (&recent[place], &found[place]) {
            (Some(version), _) if version.is_deleted() => Current::Absent,
            (Some(version), _) => Current::Recent(version),
            (None, Some(Found { entity: Some(entity), .. })) => Current::Stored(entity),
            (None, _) => Current::Absent,
        };
        let mut timestamp = self.next_timestamp(store.clock().now())?;
        for (place, operation) in operations.iter().enumerate() {
            let current = current(place);
            if let Err(refusal) = check(&operation.change, operation.condition, current.timestamp()) {
                let table = self.table(operation.table)?.name.clone();
                return Err(Error::Refused { index: place, table, key: operation.key.clone(), refusal });
            }
            // A version is always later than the one it replaces, whatever the clock says.
            if let Some(before) = current.timestamp().filter(|before| *before >= timestamp) {
                timestamp = DateTime::from_micros(before.micros() + 1, 0);
                timestamp.validate("Timestamp")?;
            }
        }
        let mut tables: BTreeMap<u64, TableWrites> = BTreeMap::new();
        let mut encoding = Encoding::default();
        for (place, operation) in operations.iter().enumerate() {
            let delta = self.delta(operation.table)?;
            let names = delta.names();
            let locations = match (&recent[place], &found[place]) {
                (None, Some(found)) => found.locations.clone(),
                (Some(version), _) => version.locations(),
                (None, None) => Locations::unknown(),
            };
            let version = encoding
                .version(names, operation, &current(place), timestamp, locations)
                .map_err(|rejected| Error::RejectedAt { index: place, rejected })?;
            let writes = tables.entry(operation.table).or_insert_with(|| TableWrites {
                table: operation.table,
                names: Arc::clone(names),
                versions: Vec::new(),
            });
            writes.versions.push(version);
        }
        let tables: Vec<TableWrites> = tables.into_values().collect();
        let mut edits = Vec::new();
        for writes in &tables {
            let table = Arc::clone(self.table(writes.table)?);
            edits.extend(self.columns_for(&table, writes));
        }
        let payload = match definitions {
            [] => encode(&edits, &tables),
            _ => encode(&[definitions, &edits].concat(), &tables),
        };
        let payload = payload.map_err(|error| Error::corrupt("catalog edits", error))?;
        if payload.len() > PAYLOAD_BYTES_MAX {
            return Err(Error::TransactionTooLarge {
                bytes: payload.len() as u64,
                bytes_max: PAYLOAD_BYTES_MAX as u64,
            });
        }
        let synced = !definitions.is_empty();
        let answer = self.append(store, ENTITY_WRITES, payload, &edits, synced, |head, sequence| {
            for writes in tables {
                let Some(delta) = head.deltas.get(&writes.table) else { continue };
                for version in writes.versions {
                    delta.active().add(sequence, version);
                }
                head.seal_when_full(writes.table);
            }
        })?;
        self.last_timestamp = timestamp_of_clock(timestamp, self.last_timestamp, store.clock().now());
        Ok(Some((timestamp, answer)))
    }

    fn table(&self, id: u64) -> Result<&Arc<Table>> {
        self.catalog.table_by_id(id).ok_or_else(|| Error::NoSuchTable(format!("{id}")))
    }

    fn delta(&self, table: u64) -> Result<&Arc<TableDelta>> {
        self.deltas.get(&table).ok_or_else(|| Error::NoSuchTable(format!("{table}")))
    }

    /// Whole microseconds, later than all before, so that an entity deleted and inserted again never has an ETag it had before.
    fn next_timestamp(&self, now: DateTime) -> Result<DateTime> {
        let now = DateTime::from_micros(now.micros(), 0);
        let next = now.max(DateTime::from_micros(self.last_timestamp.micros() + 1, 0));
        next.validate("Timestamp")?;
        Ok(next)
    }

    /// The edit that gives properties and types that are new to a table their columns, if there are any.
    fn columns_for(&mut self, table: &Arc<Table>, writes: &TableWrites) -> Option<Edit> {
        let known = self.known_properties.entry(table.id).or_default();
        if known.0 != table.schema_version || known.1.is_empty() {
            known.0 = table.schema_version;
            known.1.clear();
            for column in &table.columns {
                let id = writes.names.intern(&column.name);
                known.1.extend(column.types.iter().map(|&edm| (id, edm)));
            }
        }
        let mut columns: Option<Vec<PropertyColumn>> = None;
        let rows = writes.versions.iter().filter_map(|version| version.row());
        // Entities of one write are mostly alike.
        let mut last: Vec<(PropertyId, EdmType)> = Vec::new();
        for (nth, property) in rows.flat_map(|row| row.properties().enumerate()) {
            let property @ (id, edm) = (property.0, property.1.edm_type());
            match last.get_mut(nth) {
                Some(last) if *last == property => continue,
                Some(last) => *last = property,
                None => last.push(property),
            }
            if known.1.contains(&(id, edm)) {
                continue;
            }
            known.1.insert((id, edm));
            let columns = columns.get_or_insert_with(|| table.columns.clone());
            add_column(columns, &writes.names.name(id), edm);
        }
        let columns = columns.filter(|columns| *columns != table.columns)?;
        Some(Edit::SetColumns { table: table.id, columns })
    }
}

/// Adds a type of a property to the columns of a table; beyond the greatest number of columns a new property stays without.
pub(in crate::storage) fn add_column(columns: &mut Vec<PropertyColumn>, name: &Arc<str>, edm: EdmType) {
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

/// One entity with a Timestamp far ahead, as an import may bring it, does not pull those of all others along.
fn timestamp_of_clock(written: DateTime, last: DateTime, now: DateTime) -> DateTime {
    written.min(last.max(now).max(DateTime::from_micros(last.micros() + 1, 0)))
}

fn check(change: &Change, condition: Condition, current: Option<DateTime>) -> Result<(), Refusal> {
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
        (Change::Replace(_) | Change::Merge(_) | Change::Delete, None) => Err(Refusal::Missing),
        _ => Ok(()),
    }
}

/// What is used again from one version of a write to the next.
#[derive(Default)]
struct Encoding {
    encoder: RowEncoder,
    /// The table of the last entity: every table numbers names for itself.
    table: u64,
    /// Names of the last entity's properties with their numbers, in its order: those of the next one are mostly the same.
    names: Vec<(Arc<str>, PropertyId)>,
}

impl Encoding {
    /// The version that an operation makes of the current one.
    fn version(
        &mut self,
        names: &PropertyNames,
        operation: &Operation,
        current: &Current<'_>,
        timestamp: DateTime,
        locations: Locations,
    ) -> Result<Arc<Version>, Rejected> {
        let Operation { key, change, .. } = operation;
        let (set, base) = match (change, current) {
            (Change::Delete, _) => return Version::deleted(names, key.as_ref(), locations),
            (Change::Insert(set) | Change::Replace(set) | Change::InsertOrReplace(set), _) => (set, None),
            (Change::Merge(set) | Change::InsertOrMerge(set), Current::Absent) => (set, None),
            (Change::Merge(set) | Change::InsertOrMerge(set), Current::Recent(version)) => {
                (set, version.row().map(|row| row.properties().collect::<Vec<_>>()))
            }
            (Change::Merge(set) | Change::InsertOrMerge(set), Current::Stored(entity)) => {
                let stored = entity.properties().map(|(name, value)| (names.intern(name), ValueRef::from(value)));
                (set, Some(stored.collect()))
            }
        };
        if self.table != operation.table {
            self.table = operation.table;
            self.names.clear();
        }
        let set = self.numbered(names, set)?;
        let row = match base {
            None => self.encoder.encode(names, key.as_ref(), timestamp, set.into_iter()),
            Some(mut base) => {
                base.retain(|(id, _)| set.iter().all(|(changed, _)| changed != id));
                self.encoder.encode(names, key.as_ref(), timestamp, base.into_iter().chain(set))
            }
        };
        Ok(Version::written(row?, locations))
    }

    /// Properties with their numbers; names and values are checked.
    fn numbered<'v>(
        &mut self,
        names: &PropertyNames,
        properties: &'v Properties,
    ) -> Result<Vec<(PropertyId, ValueRef<'v>)>, Rejected> {
        let mut numbered = Vec::with_capacity(properties.len());
        for (nth, (name, value)) in properties.iter().enumerate() {
            value.validate(name)?;
            let id = match self.names.get(nth).filter(|(last, _)| last == name) {
                Some((_, id)) => *id,
                None => {
                    let id = number(names, name)?;
                    self.names.truncate(nth);
                    if self.names.len() == nth {
                        self.names.push((Arc::clone(name), id));
                    }
                    id
                }
            };
            numbered.push((id, ValueRef::from(value)));
        }
        Ok(numbered)
    }
}

/// The number of a property's name, which is checked if it is new.
fn number(names: &PropertyNames, name: &str) -> Result<PropertyId, Rejected> {
    if let Some(id) = names.find(name) {
        return Ok(id);
    }
    crate::model::validate_property_name(name)?;
    if names.len() >= crate::rows::PROPERTY_NAMES_MAX {
        let limit = format!("a table has at most {} different ones", crate::rows::PROPERTY_NAMES_MAX);
        return Err(Rejected::new("property name", name, Rule::PropertyCount, limit));
    }
    Ok(names.intern(name))
}
