//! Building Arrow arrays of one property column, row by row, with nulls where entities lack the
//! property.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, Float64Builder, Int8Builder, Int32Builder,
    Int64Builder, StringBuilder, TimestampMicrosecondBuilder,
};

use super::layout::RunColumn;
use rowkey_model::EdmType;
use rowkey_model::rows::ValueRef;

/// A column under construction. Rows before the next value are filled with nulls when it comes.
#[derive(Debug)]
pub(super) struct ColumnBuilder {
    values: Values,
    tick: Option<Int8Builder>,
    rows: usize,
}

/// What a batch of a column needs: growing by halves would copy it several times.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub rows: usize,
    /// Of all texts or binaries.
    pub bytes: usize,
}

#[derive(Debug)]
enum Values {
    Binary(BinaryBuilder),
    Boolean(BooleanBuilder),
    DateTime(TimestampMicrosecondBuilder),
    Double(Float64Builder),
    Guid(FixedSizeBinaryBuilder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    String(StringBuilder),
}

impl Values {
    fn new(edm: EdmType, Room { rows, bytes }: Room) -> Self {
        match edm {
            EdmType::Binary => Values::Binary(BinaryBuilder::with_capacity(rows, bytes)),
            EdmType::Boolean => Values::Boolean(BooleanBuilder::with_capacity(rows)),
            EdmType::DateTime => {
                Values::DateTime(TimestampMicrosecondBuilder::with_capacity(rows).with_timezone("UTC"))
            }
            EdmType::Double => Values::Double(Float64Builder::with_capacity(rows)),
            EdmType::Guid => Values::Guid(FixedSizeBinaryBuilder::with_capacity(rows, 16)),
            EdmType::Int32 => Values::Int32(Int32Builder::with_capacity(rows)),
            EdmType::Int64 => Values::Int64(Int64Builder::with_capacity(rows)),
            EdmType::String => Values::String(StringBuilder::with_capacity(rows, bytes)),
        }
    }
}

impl ColumnBuilder {
    /// `room` is what a batch is expected to need.
    pub(super) fn new(column: &RunColumn, room: Room) -> Self {
        let tick = column.tick.then(|| Int8Builder::with_capacity(room.rows));
        Self { values: Values::new(column.edm, room), tick, rows: 0 }
    }

    /// Sets the value of row `row`, which is not before the last one set. A value of another type
    /// is left out: the layout gives each type its column.
    pub(super) fn set(&mut self, row: usize, value: ValueRef<'_>) {
        self.fill(row);
        match (&mut self.values, value) {
            (Values::Binary(b), ValueRef::Binary(v)) => b.append_value(v),
            (Values::Boolean(b), ValueRef::Boolean(v)) => b.append_value(v),
            (Values::DateTime(b), ValueRef::DateTime(v)) => {
                b.append_value(v.micros());
                if let Some(tick) = &mut self.tick {
                    tick.append_value(v.tick());
                }
            }
            (Values::Double(b), ValueRef::Double(v)) => b.append_value(v),
            (Values::Guid(b), ValueRef::Guid(v)) => {
                // Sixteen bytes always fit a column of sixteen.
                let fits = b.append_value(v.as_bytes());
                debug_assert!(fits.is_ok());
            }
            (Values::Int32(b), ValueRef::Int32(v)) => b.append_value(v),
            (Values::Int64(b), ValueRef::Int64(v)) => b.append_value(v),
            (Values::String(b), ValueRef::String(v)) => b.append_value(v),
            (_, other) => {
                debug_assert!(false, "a {} in a column of another type", other.edm_type());
                return;
            }
        }
        self.rows = row + 1;
    }

    /// The arrays of `rows` rows: the value's, then the tick's.
    pub(super) fn finish(mut self, rows: usize) -> impl Iterator<Item = ArrayRef> {
        self.fill(rows);
        let values: ArrayRef = match self.values {
            Values::Binary(mut b) => Arc::new(b.finish()),
            Values::Boolean(mut b) => Arc::new(b.finish()),
            Values::DateTime(mut b) => Arc::new(b.finish()),
            Values::Double(mut b) => Arc::new(b.finish()),
            Values::Guid(mut b) => Arc::new(b.finish()),
            Values::Int32(mut b) => Arc::new(b.finish()),
            Values::Int64(mut b) => Arc::new(b.finish()),
            Values::String(mut b) => Arc::new(b.finish()),
        };
        std::iter::once(values).chain(self.tick.map(|mut tick| Arc::new(tick.finish()) as ArrayRef))
    }

    fn fill(&mut self, to: usize) {
        let count = to.saturating_sub(self.rows);
        if count == 0 {
            return;
        }
        match &mut self.values {
            Values::Binary(b) => b.append_nulls(count),
            Values::Boolean(b) => b.append_nulls(count),
            Values::DateTime(b) => b.append_nulls(count),
            Values::Double(b) => b.append_nulls(count),
            Values::Guid(b) => (0..count).for_each(|_| b.append_null()),
            Values::Int32(b) => b.append_nulls(count),
            Values::Int64(b) => b.append_nulls(count),
            Values::String(b) => b.append_nulls(count),
        }
        if let Some(tick) = &mut self.tick {
            tick.append_nulls(count);
        }
        self.rows = to;
    }
}
