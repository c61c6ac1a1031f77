//! From the columns of a run file back to entities.

use std::sync::Arc;

use arrow::array::{Array, AsArray, BinaryArray, Int8Array, TimestampMicrosecondArray};
use arrow::datatypes::{Int8Type, TimestampMicrosecondType};
use arrow::record_batch::RecordBatch;

use super::layout::RunLayout;
use super::open::OpenRun;
use super::other;
use crate::error::{Error, Result};
use rowkey_model::columns::{EntityView, KeyReader, PARTITION_KEY, PropertyLookup, PropertyReader, ROW_KEY, TIMESTAMP};
use rowkey_model::rows::{PropertyId, PropertyNames, Rows};
use rowkey_model::{DateTime, Entity, KeyRef, Value, ValueRef};

/// A batch with all columns of a run file, taken apart once so that rows can be read one by one.
#[derive(Debug)]
pub struct EntityColumns<'a> {
    path: &'a str,
    keys: KeyReader<'a>,
    timestamps: &'a TimestampMicrosecondArray,
    ticks: &'a Int8Array,
    columns: Vec<Column<'a>>,
    other: Option<&'a BinaryArray>,
}

#[derive(Debug)]
struct Column<'a> {
    name: &'a Arc<str>,
    values: PropertyReader<'a>,
}

impl<'a> EntityColumns<'a> {
    /// `batch` has all columns of the file, in file order.
    pub fn of(open: &'a OpenRun, batch: &'a RecordBatch) -> Result<Self> {
        Self::new(&open.run.path, &open.layout, batch)
            .ok_or_else(|| Error::corrupt(&open.run.path, "its columns are not those of the manifest"))
    }

    fn new(path: &'a str, layout: &'a RunLayout, batch: &'a RecordBatch) -> Option<Self> {
        let columns = layout
            .columns
            .iter()
            .zip(layout.positions())
            .map(|(column, position)| {
                let ticks = match position.tick {
                    Some(at) => Some(batch.columns().get(at)?),
                    None => None,
                };
                let values = PropertyReader::new(column.edm, batch.columns().get(position.value)?, ticks)?;
                Some(Column { name: &column.property, values })
            })
            .collect::<Option<Vec<_>>>()?;
        let other = match layout.other_position() {
            Some(at) => Some(batch.columns().get(at)?.as_binary_opt::<i32>()?),
            None => None,
        };
        Some(Self {
            path,
            keys: KeyReader::new(batch.columns())?,
            timestamps: batch.columns().get(2)?.as_primitive_opt::<TimestampMicrosecondType>()?,
            ticks: batch.columns().get(3)?.as_primitive_opt::<Int8Type>()?,
            columns,
            other,
        })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// The key of row `i`; panics if there is none.
    pub fn key(&self, i: usize) -> KeyRef<'a> {
        self.keys.get(i)
    }

    /// The last write of row `i`; panics if there is none.
    pub fn timestamp(&self, i: usize) -> DateTime {
        DateTime::from_micros(self.timestamps.value(i), self.ticks.value(i))
    }

    /// What row `i` has in the property column at `place` of the layout.
    pub(super) fn value(&self, place: usize, i: usize) -> Option<ValueRef<'a>> {
        self.columns.get(place)?.values.get(i)
    }

    /// Row `i`, to be looked at without an entity of its own.
    pub(crate) fn row(&self, i: usize) -> Result<ColumnsRow<'_>> {
        Ok(ColumnsRow { columns: self, at: i, other: self.other(i)? })
    }

    /// The columns in the order of their names.
    pub(crate) fn by_name(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.columns.len()).collect();
        places.sort_by_key(|&place| &**self.columns[place].name);
        places
    }

    /// Row `i` as it is stored; `by_name` is [`Self::by_name`].
    pub(crate) fn view<'v>(&'v self, i: usize, by_name: &'v [usize]) -> Result<ColumnsView<'v>> {
        Ok(ColumnsView { row: self.row(i)?, by_name })
    }

    /// Row `i` as an entity of its own.
    pub fn entity(&self, i: usize) -> Result<Entity> {
        let mut properties = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            if let Some(value) = column.values.get(i) {
                properties.push((Arc::clone(column.name), value.to_value()));
            }
        }
        properties.append(&mut self.other(i)?);
        Ok(Entity::from_parts(self.key(i).to_key(), self.timestamp(i), properties))
    }

    /// Appends all rows, properties numbered by `names`.
    pub fn append_to(&self, rows: &mut Rows, names: &PropertyNames) -> Result<()> {
        self.append_where(|_| true, rows, names)
    }

    /// Appends the rows whose keys are wanted, properties numbered by `names`.
    pub fn append_where(
        &self,
        mut is_wanted: impl FnMut(KeyRef<'a>) -> bool,
        rows: &mut Rows,
        names: &PropertyNames,
    ) -> Result<()> {
        // In the order of their numbers, which is the one that rows have them in.
        let mut columns: Vec<(PropertyId, &Column<'_>)> =
            self.columns.iter().map(|column| (names.intern(column.name), column)).collect();
        columns.sort_by_key(|(id, _)| *id);
        let mut builder = rows.builder(names);
        for i in (0..self.len()).filter(|&i| is_wanted(self.key(i))) {
            builder.begin();
            for &(id, column) in &columns {
                if let Some(value) = column.values.get(i) {
                    builder.set(id, value);
                }
            }
            for (name, value) in self.other(i)? {
                builder.set(names.intern(&name), ValueRef::from(&value));
            }
            let key = self.key(i);
            builder
                .finish(key.partition, key.row, Some(self.timestamp(i)))
                .map_err(|rejected| Error::corrupt(self.path, rejected))?;
        }
        Ok(())
    }

    fn other(&self, i: usize) -> Result<Vec<(Arc<str>, Value)>> {
        match self.other {
            Some(other) if other.is_valid(i) => other::decode(other.value(i))
                .ok_or_else(|| Error::corrupt(self.path, format!("(other) of {:?} cannot be read", self.key(i)))),
            _ => Ok(Vec::new()),
        }
    }
}

/// One row of the columns of a run file.
#[derive(Debug)]
pub(crate) struct ColumnsRow<'a> {
    columns: &'a EntityColumns<'a>,
    at: usize,
    other: Vec<(Arc<str>, Value)>,
}

impl PropertyLookup for ColumnsRow<'_> {
    fn property(&self, name: &str) -> Option<ValueRef<'_>> {
        let Self { columns, at, other } = self;
        match name {
            PARTITION_KEY => Some(ValueRef::String(columns.key(*at).partition)),
            ROW_KEY => Some(ValueRef::String(columns.key(*at).row)),
            TIMESTAMP => Some(ValueRef::DateTime(columns.timestamp(*at))),
            name => {
                // A property has a column for each of its types, and a value in one of them.
                let mut of_name = columns.columns.iter().filter(|column| **column.name == *name);
                let value = of_name.find_map(|column| column.values.get(*at));
                value.or_else(|| other.iter().find(|(other, _)| **other == *name).map(|(_, value)| value.into()))
            }
        }
    }
}

/// The same, whose properties come in the order of their names.
#[derive(Debug)]
pub(crate) struct ColumnsView<'a> {
    row: ColumnsRow<'a>,
    by_name: &'a [usize],
}

impl ColumnsView<'_> {
    /// What the row has in columns, in the order of their names.
    fn in_columns(&self) -> impl Iterator<Item = (&Arc<str>, ValueRef<'_>)> {
        let ColumnsRow { columns, at, .. } = &self.row;
        let columns = self.by_name.iter().filter_map(|&place| columns.columns.get(place));
        columns.filter_map(|column| column.values.get(*at).map(|value| (column.name, value)))
    }
}

impl PropertyLookup for ColumnsView<'_> {
    fn property(&self, name: &str) -> Option<ValueRef<'_>> {
        self.row.property(name)
    }
}

impl EntityView for ColumnsView<'_> {
    fn key(&self) -> KeyRef<'_> {
        self.row.columns.key(self.row.at)
    }

    fn timestamp(&self) -> DateTime {
        self.row.columns.timestamp(self.row.at)
    }

    fn each_property(&self, take: &mut dyn FnMut(&str, ValueRef<'_>)) {
        if self.row.other.is_empty() {
            self.in_columns().for_each(|(name, value)| take(name, value));
            return;
        }
        let other = self.row.other.iter().map(|(name, value)| (name, ValueRef::from(value)));
        let mut properties: Vec<_> = self.in_columns().chain(other).collect();
        properties.sort_by_key(|(name, _)| &***name);
        properties.into_iter().for_each(|(name, value)| take(name, value));
    }

    fn to_entity(&self) -> Entity {
        let in_columns = self.in_columns().map(|(name, value)| (Arc::clone(name), value.to_value()));
        let properties = in_columns.chain(self.row.other.iter().cloned()).collect();
        Entity::from_parts(self.key().to_key(), self.timestamp(), properties)
    }
}
