//! Operations as rows of the delta and as bytes of the log.
//!
//! What most operations write does not depend on what is there: it is encoded before the commit
//! lock is taken, and gets its Timestamp under it. A merge is encoded under the lock, with the
//! newest version in hand.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::delta::{Locations, TableDelta, Version};
use crate::error::{Error, Result};
use crate::operation::{Change, Content, Operation};
use crate::records::{TableWriter, TableWrites};
use rowkey_model::rows::{PropertyId, PropertyNames, Rows};
use rowkey_model::{DateTime, EdmType, Entity, KeyRef, Rejected, ValueRef};

/// The newest version of an entity.
pub(super) enum Current<'a> {
    Absent,
    Recent(&'a Version),
    Stored(&'a Entity),
}

impl Current<'_> {
    pub(super) fn timestamp(&self) -> Option<DateTime> {
        match self {
            Current::Absent => None,
            Current::Recent(version) => version.timestamp(),
            Current::Stored(entity) => Some(entity.timestamp),
        }
    }
}

/// What some operations write.
#[derive(Debug)]
pub(super) struct EncodedWrites {
    /// Tables and what is written to them; mostly it is one.
    pub tables: Vec<(u64, EncodedTable)>,
    /// The first operation that breaks a rule, and how: an error once all conditions are known to
    /// hold.
    refused: Option<(usize, Rejected)>,
}

/// What some operations write to one table.
#[derive(Debug)]
pub(super) struct EncodedTable {
    names: Arc<PropertyNames>,
    /// Of deleted entities the key alone.
    rows: Rows,
    /// By row: the place of its operation, and whether it deletes the entity.
    operations: Vec<(usize, bool)>,
    /// Properties and types that occur, in the order they were met.
    pub kinds: Vec<(PropertyId, EdmType)>,
    writes: TableWrites,
}

impl EncodedWrites {
    /// Encodes operations that do not depend on what is there; `None` if one of them does, or its
    /// table has no delta.
    pub(super) fn beforehand<'d>(
        operations: &[Operation<'_>],
        delta: impl Fn(u64) -> Option<&'d Arc<TableDelta>>,
    ) -> Option<Self> {
        let depends = |change: &Change<'_>| matches!(change, Change::Merge(_) | Change::InsertOrMerge(_));
        if operations.iter().any(|operation| depends(&operation.change) || delta(operation.table).is_none()) {
            return None;
        }
        Self::encode(operations, delta, |_| Current::Absent).ok()
    }

    /// Encodes operations, each with what is there.
    pub(super) fn encode<'d, 'c>(
        operations: &[Operation<'_>],
        delta: impl Fn(u64) -> Option<&'d Arc<TableDelta>>,
        current: impl Fn(usize) -> Current<'c>,
    ) -> Result<Self> {
        let mut encoders: Vec<(u64, Encoder)> = Vec::new();
        let mut refused = None;
        for (place, operation) in operations.iter().enumerate().filter(|(_, operation)| !operation.keeps()) {
            let id = operation.table;
            let known = encoders.iter().rposition(|(table, _)| *table == id);
            let at = match known {
                Some(at) => at,
                None => {
                    let names = Arc::clone(delta(id).ok_or_else(|| Error::NoSuchTable(format!("{id}")))?.names());
                    encoders.push((id, Encoder::new(names, operations.len() - place)));
                    encoders.len() - 1
                }
            };
            if let Err(rejected) = encoders[at].1.push(place, operation, &current(place)) {
                refused = Some((place, rejected));
                break;
            }
        }
        let tables = encoders.into_iter().map(|(id, encoder)| (id, encoder.finish(id)));
        Ok(Self { tables: tables.collect(), refused })
    }

    /// Whether properties are numbered as in these deltas.
    pub(super) fn is_of<'d>(&self, delta: impl Fn(u64) -> Option<&'d Arc<TableDelta>>) -> bool {
        let mut tables = self.tables.iter();
        tables.all(|(id, table)| delta(*id).is_some_and(|delta| Arc::ptr_eq(delta.names(), &table.names)))
    }

    /// Gives all entities their Timestamp, unless one of them breaks a rule.
    pub(super) fn set_timestamp(&mut self, timestamp: DateTime) -> Result<()> {
        if let Some((index, rejected)) = self.refused.take() {
            return Err(Error::RejectedAt { index, rejected });
        }
        for (_, table) in &mut self.tables {
            table.rows.set_timestamps(timestamp);
            table.writes.set_timestamps(timestamp);
        }
        Ok(())
    }

    /// The writes as they lie in the log, taken out: large ones should not be in memory twice for
    /// long.
    pub(super) fn take_writes(&mut self) -> Vec<TableWrites> {
        self.tables.iter_mut().map(|(_, table)| std::mem::take(&mut table.writes)).collect()
    }
}

impl EncodedTable {
    pub(super) fn names(&self) -> &Arc<PropertyNames> {
        &self.names
    }

    /// The versions, each with the place of its operation; `locations` says by that where the key
    /// lies in run files.
    pub(super) fn versions(
        &self,
        locations: impl Fn(usize) -> Locations,
    ) -> impl Iterator<Item = (usize, Arc<Version>)> {
        self.rows.to_encoded().zip(&self.operations).map(move |(row, &(place, is_deleted))| {
            let version = match is_deleted {
                true => Version::deleted(row, locations(place)),
                false => Version::written(row, locations(place)),
            };
            (place, version)
        })
    }
}

/// Encodes the operations on one table.
struct Encoder {
    names: Arc<PropertyNames>,
    last_names: LastNames,
    output: Output,
    operations: Vec<(usize, bool)>,
}

impl Encoder {
    fn new(names: Arc<PropertyNames>, count: usize) -> Self {
        let rows = Rows::with_capacity(count, count * ROW_BYTES_EXPECTED);
        Self {
            names,
            last_names: LastNames::default(),
            output: Output { rows, writes: TableWriter::new(count), kinds: Kinds::default() },
            operations: Vec::with_capacity(count),
        }
    }

    /// Appends what an operation makes of the current version.
    fn push(&mut self, place: usize, operation: &Operation<'_>, current: &Current<'_>) -> Result<(), Rejected> {
        let Self { names, last_names, output, operations } = self;
        let key = operation.key.as_ref().as_ref();
        operations.push((place, matches!(operation.change, Change::Delete)));
        let (set, base) = match (&operation.change, current) {
            (Change::Keep, _) => return Ok(()),
            (Change::Delete, _) => {
                output.writes.delete(key);
                return output.rows.push(names, key, None, std::iter::empty());
            }
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
        let numbered = last_names.numbered(set, names);
        let Some(mut merged) = base else { return output.write(names, key, numbered) };
        let changed = numbered.collect::<Result<Vec<_>, _>>()?;
        merged.retain(|(id, _)| changed.iter().all(|(changed, _)| changed != id));
        merged.extend(changed);
        output.write(names, key, merged.into_iter().map(Ok))
    }

    fn finish(self, table: u64) -> EncodedTable {
        let Self { names, output: Output { rows, writes, kinds }, operations, .. } = self;
        let writes = writes.finish(table, &names);
        EncodedTable { names, rows, operations, kinds: kinds.met, writes }
    }
}

/// Names of the last entity's properties with their numbers, in its order: those of the next one
/// are mostly the same.
#[derive(Default)]
struct LastNames(Vec<(Arc<str>, PropertyId)>);

impl LastNames {
    /// Properties with their numbers; names and values are checked.
    fn numbered<'v>(
        &mut self,
        properties: &'v Content<'_>,
        names: &PropertyNames,
    ) -> impl ExactSizeIterator<Item = Result<(PropertyId, ValueRef<'v>), Rejected>> {
        properties.iter().enumerate().map(move |(nth, (name, value))| {
            value.validate(name)?;
            Ok((self.number(nth, name, names)?, ValueRef::from(value)))
        })
    }

    fn number(&mut self, nth: usize, name: &Arc<str>, names: &PropertyNames) -> Result<PropertyId, Rejected> {
        if let Some((_, id)) = self.0.get(nth).filter(|(last, _)| last == name) {
            return Ok(*id);
        }
        let id = names.accept(name)?;
        self.0.truncate(nth);
        if self.0.len() == nth {
            self.0.push((Arc::clone(name), id));
        }
        Ok(id)
    }
}

/// What becomes of entities.
struct Output {
    rows: Rows,
    writes: TableWriter,
    kinds: Kinds,
}

impl Output {
    /// Adds an entity; one that breaks a rule leaves writes behind that must not reach the log.
    fn write<'v>(
        &mut self,
        names: &PropertyNames,
        key: KeyRef<'_>,
        properties: impl ExactSizeIterator<Item = Result<(PropertyId, ValueRef<'v>), Rejected>>,
    ) -> Result<(), Rejected> {
        let mut row = self.rows.builder(names);
        row.begin();
        self.writes.begin_entity(key, properties.len());
        for (nth, property) in properties.enumerate() {
            let (id, value) = property?;
            self.kinds.meet(nth, (id, value.edm_type()));
            row.set(id, value);
            self.writes.property(nth, id, value);
        }
        row.finish(key.partition, key.row, Some(DateTime::MIN))
    }
}

/// What is reserved for one entity.
const ROW_BYTES_EXPECTED: usize = 160;

/// Properties and types that occur.
#[derive(Default)]
struct Kinds {
    met: Vec<(PropertyId, EdmType)>,
    known: BTreeSet<(PropertyId, EdmType)>,
    /// Of the last entities, by place: those of the next one are mostly the same.
    last: Vec<(PropertyId, EdmType)>,
}

impl Kinds {
    fn meet(&mut self, nth: usize, kind: (PropertyId, EdmType)) {
        match self.last.get_mut(nth) {
            Some(last) if *last == kind => return,
            Some(last) => *last = kind,
            None => self.last.push(kind),
        }
        if self.known.insert(kind) {
            self.met.push(kind);
        }
    }
}
