//! Building Arrow arrays of one property column, row by row, with nulls where entities lack the property.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, Float64Builder, Int8Builder, Int32Builder,
    Int64Builder, StringBuilder, TimestampMicrosecondBuilder,
};

use super::layout::RunColumn;
use crate::model::EdmType;
use crate::rows::ValueRef;

/// A column under construction. Rows before the next value are filled with nulls when it comes.
#[derive(Debug)]
pub(super) struct ColumnBuilder {
    values: Values,
    tick: Option<Int8Builder>,
    rows: usize,
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

impl ColumnBuilder {
    pub fn new(column: &RunColumn) -> Self {
        let values = match column.edm {
            EdmType::Binary => Values::Binary(BinaryBuilder::new()),
            EdmType::Boolean => Values::Boolean(BooleanBuilder::new()),
            EdmType::DateTime => Values::DateTime(TimestampMicrosecondBuilder::new().with_timezone("UTC")),
            EdmType::Double => Values::Double(Float64Builder::new()),
            EdmType::Guid => Values::Guid(FixedSizeBinaryBuilder::new(16)),
            EdmType::Int32 => Values::Int32(Int32Builder::new()),
            EdmType::Int64 => Values::Int64(Int64Builder::new()),
            EdmType::String => Values::String(StringBuilder::new()),
        };
        Self { values, tick: column.tick.then(Int8Builder::new), rows: 0 }
    }

    /// Sets the value of row `row`, which is not before the last one set. A value of another type is left out: the layout
    /// gives each type its column.
    pub fn set(&mut self, row: usize, value: ValueRef<'_>) {
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

    /// The arrays of `rows` rows (the value's, then the tick's), and a fresh start.
    pub fn finish(&mut self, rows: usize) -> impl Iterator<Item = ArrayRef> {
        self.fill(rows);
        self.rows = 0;
        let values: ArrayRef = match &mut self.values {
            Values::Binary(b) => Arc::new(b.finish()),
            Values::Boolean(b) => Arc::new(b.finish()),
            Values::DateTime(b) => Arc::new(b.finish()),
            Values::Double(b) => Arc::new(b.finish()),
            Values::Guid(b) => Arc::new(b.finish()),
            Values::Int32(b) => Arc::new(b.finish()),
            Values::Int64(b) => Arc::new(b.finish()),
            Values::String(b) => Arc::new(b.finish()),
        };
        std::iter::once(values).chain(self.tick.as_mut().map(|tick| Arc::new(tick.finish()) as ArrayRef))
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
