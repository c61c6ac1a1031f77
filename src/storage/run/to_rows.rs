//! From the columns of a run file back to entities.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, FixedSizeBinaryArray, Float64Array, Int8Array, Int32Array,
    Int64Array, StringArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{Float64Type, Int8Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow::record_batch::RecordBatch;

use super::layout::RunLayout;
use super::open::OpenRun;
use super::other;
use crate::error::{Error, Result};
use rowkey_model::rows::{PropertyId, PropertyNames, Rows, ValueRef};
use rowkey_model::{DateTime, EdmType, Entity, KeyRef, Value};

/// A batch with all columns of a run file, taken apart once so that rows can be read one by one.
#[derive(Debug)]
pub struct EntityColumns<'a> {
    path: &'a str,
    partitions: &'a StringArray,
    rows: &'a StringArray,
    timestamps: &'a TimestampMicrosecondArray,
    ticks: &'a Int8Array,
    columns: Vec<Column<'a>>,
    other: Option<&'a BinaryArray>,
}

#[derive(Debug)]
struct Column<'a> {
    name: &'a Arc<str>,
    values: Values<'a>,
}

#[derive(Debug)]
enum Values<'a> {
    Binary(&'a BinaryArray),
    Boolean(&'a BooleanArray),
    DateTime(&'a TimestampMicrosecondArray, Option<&'a Int8Array>),
    Double(&'a Float64Array),
    Guid(&'a FixedSizeBinaryArray),
    Int32(&'a Int32Array),
    Int64(&'a Int64Array),
    String(&'a StringArray),
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
                let tick = match position.tick {
                    Some(at) => Some(batch.columns().get(at)?.as_primitive_opt::<Int8Type>()?),
                    None => None,
                };
                let values = Values::of(column.edm, batch.columns().get(position.value)?, tick)?;
                Some(Column { name: &column.property, values })
            })
            .collect::<Option<Vec<_>>>()?;
        let other = match layout.other_position() {
            Some(at) => Some(batch.columns().get(at)?.as_binary_opt::<i32>()?),
            None => None,
        };
        Some(Self {
            path,
            partitions: batch.columns().first()?.as_string_opt()?,
            rows: batch.columns().get(1)?.as_string_opt()?,
            timestamps: batch.columns().get(2)?.as_primitive_opt::<TimestampMicrosecondType>()?,
            ticks: batch.columns().get(3)?.as_primitive_opt::<Int8Type>()?,
            columns,
            other,
        })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.partitions.len()
    }

    /// The key of row `i`; panics if there is none.
    pub fn key(&self, i: usize) -> KeyRef<'a> {
        KeyRef { partition: self.partitions.value(i), row: self.rows.value(i) }
    }

    /// The last write of row `i`; panics if there is none.
    pub fn timestamp(&self, i: usize) -> DateTime {
        DateTime::from_micros(self.timestamps.value(i), self.ticks.value(i))
    }

    /// What row `i` has in the property column at `place` of the layout.
    pub(super) fn value(&self, place: usize, i: usize) -> Option<ValueRef<'a>> {
        self.columns.get(place)?.values.get(i)
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

impl<'a> Values<'a> {
    fn of(edm: EdmType, array: &'a ArrayRef, tick: Option<&'a Int8Array>) -> Option<Self> {
        Some(match edm {
            EdmType::Binary => Values::Binary(array.as_binary_opt()?),
            EdmType::Boolean => Values::Boolean(array.as_boolean_opt()?),
            EdmType::DateTime => Values::DateTime(array.as_primitive_opt::<TimestampMicrosecondType>()?, tick),
            EdmType::Double => Values::Double(array.as_primitive_opt::<Float64Type>()?),
            EdmType::Guid => Values::Guid(array.as_fixed_size_binary_opt()?),
            EdmType::Int32 => Values::Int32(array.as_primitive_opt::<Int32Type>()?),
            EdmType::Int64 => Values::Int64(array.as_primitive_opt::<Int64Type>()?),
            EdmType::String => Values::String(array.as_string_opt()?),
        })
    }

    fn get(&self, i: usize) -> Option<ValueRef<'a>> {
        fn valid<A: Array>(array: &A, i: usize) -> Option<&A> {
            array.is_valid(i).then_some(array)
        }
        Some(match self {
            Values::Binary(a) => ValueRef::Binary(valid(*a, i).map(|_| a.value(i))?),
            Values::Boolean(a) => ValueRef::Boolean(valid(*a, i)?.value(i)),
            Values::DateTime(a, tick) => {
                let tick = tick.filter(|tick| tick.is_valid(i)).map_or(0, |tick| tick.value(i));
                ValueRef::DateTime(DateTime::from_micros(valid(*a, i)?.value(i), tick))
            }
            Values::Double(a) => ValueRef::Double(valid(*a, i)?.value(i)),
            Values::Guid(a) => {
                let bytes = valid(*a, i).map(|_| a.value(i))?;
                ValueRef::Guid(uuid::Uuid::from_slice(bytes).ok()?)
            }
            Values::Int32(a) => ValueRef::Int32(valid(*a, i)?.value(i)),
            Values::Int64(a) => ValueRef::Int64(valid(*a, i)?.value(i)),
            Values::String(a) => ValueRef::String(valid(*a, i).map(|_| a.value(i))?),
        })
    }
}
