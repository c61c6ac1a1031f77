//! From values to Arrow arrays.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, BinaryViewBuilder, BooleanBuilder, FixedSizeBinaryBuilder, Float64Builder, Int8Builder,
    Int32Builder, Int64Builder, StringBuilder, StringViewBuilder, TimestampMicrosecondBuilder,
};

use super::{BytesLayout, UTC};
use crate::{EdmType, ValueRef};

/// What a column is expected to need: growing by halves would copy it several times.
#[derive(Debug, Clone, Copy, Default)]
pub struct Capacity {
    pub rows: usize,
    /// Of all texts or binaries together; views take it for no hint.
    pub bytes: usize,
}

/// The column of a property in one type under construction.
///
/// Values are set by row number, in ascending order; rows without one are filled with nulls in one
/// go when the next value comes.
#[derive(Debug)]
pub struct PropertyBuilder {
    values: Values,
    ticks: Option<Int8Builder>,
    /// Rows that are in the arrays.
    filled: usize,
}

#[derive(Debug)]
enum Values {
    Binary(BinaryBuilder),
    BinaryView(BinaryViewBuilder),
    Boolean(BooleanBuilder),
    DateTime(TimestampMicrosecondBuilder),
    Double(Float64Builder),
    Guid(FixedSizeBinaryBuilder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    String(StringBuilder),
    StringView(StringViewBuilder),
}

impl PropertyBuilder {
    /// `capacity` is a guess; a column that takes more grows.
    pub fn new(edm: EdmType, layout: BytesLayout, capacity: Capacity) -> Self {
        Self { values: Values::new(edm, layout, capacity), ticks: None, filled: 0 }
    }

    /// With a column for the 100 ns digits of DateTimes, which are cut off otherwise.
    pub fn with_ticks(mut self, capacity: Capacity) -> Self {
        self.ticks = Some(Int8Builder::with_capacity(capacity.rows));
        self
    }

    /// Sets the value of row `row`, which lies behind the last one set. A value of another type is
    /// left out; tells whether it is of this one.
    #[inline]
    pub fn set(&mut self, row: usize, value: ValueRef<'_>) -> bool {
        debug_assert!(row >= self.filled, "rows are set in ascending order");
        self.fill(row);
        match (&mut self.values, value) {
            (Values::Binary(to), ValueRef::Binary(bytes)) => to.append_value(bytes),
            (Values::BinaryView(to), ValueRef::Binary(bytes)) => to.append_value(bytes),
            (Values::Boolean(to), ValueRef::Boolean(value)) => to.append_value(value),
            (Values::DateTime(to), ValueRef::DateTime(at)) => {
                to.append_value(at.micros());
                if let Some(ticks) = &mut self.ticks {
                    ticks.append_value(at.tick());
                }
            }
            (Values::Double(to), ValueRef::Double(value)) => to.append_value(value),
            (Values::Guid(to), ValueRef::Guid(guid)) => {
                // Sixteen bytes always fit a column of sixteen.
                let fits = to.append_value(guid.as_bytes());
                debug_assert!(fits.is_ok());
            }
            (Values::Int32(to), ValueRef::Int32(value)) => to.append_value(value),
            (Values::Int64(to), ValueRef::Int64(value)) => to.append_value(value),
            (Values::String(to), ValueRef::String(text)) => to.append_value(text),
            (Values::StringView(to), ValueRef::String(text)) => to.append_value(text),
            _ => return false,
        }
        self.filled = row + 1;
        true
    }

    /// The array of the values of `rows` rows, and that of their 100 ns digits. The builder begins
    /// anew.
    pub fn finish(&mut self, rows: usize) -> (ArrayRef, Option<ArrayRef>) {
        self.fill(rows);
        self.filled = 0;
        (self.values.finish(), self.ticks.as_mut().map(|ticks| Arc::new(ticks.finish()) as ArrayRef))
    }

    fn fill(&mut self, to: usize) {
        let count = to.saturating_sub(self.filled);
        if count == 0 {
            return;
        }
        self.values.append_nulls(count);
        if let Some(ticks) = &mut self.ticks {
            ticks.append_nulls(count);
        }
        self.filled = to;
    }
}

impl Values {
    fn new(edm: EdmType, layout: BytesLayout, Capacity { rows, bytes }: Capacity) -> Self {
        match (edm, layout) {
            (EdmType::Binary, BytesLayout::Offsets) => Values::Binary(BinaryBuilder::with_capacity(rows, bytes)),
            (EdmType::Binary, BytesLayout::Views) => Values::BinaryView(BinaryViewBuilder::with_capacity(rows)),
            (EdmType::Boolean, _) => Values::Boolean(BooleanBuilder::with_capacity(rows)),
            (EdmType::DateTime, _) => {
                Values::DateTime(TimestampMicrosecondBuilder::with_capacity(rows).with_timezone(UTC))
            }
            (EdmType::Double, _) => Values::Double(Float64Builder::with_capacity(rows)),
            (EdmType::Guid, _) => Values::Guid(FixedSizeBinaryBuilder::with_capacity(rows, 16)),
            (EdmType::Int32, _) => Values::Int32(Int32Builder::with_capacity(rows)),
            (EdmType::Int64, _) => Values::Int64(Int64Builder::with_capacity(rows)),
            (EdmType::String, BytesLayout::Offsets) => Values::String(StringBuilder::with_capacity(rows, bytes)),
            (EdmType::String, BytesLayout::Views) => Values::StringView(StringViewBuilder::with_capacity(rows)),
        }
    }

    fn append_nulls(&mut self, count: usize) {
        match self {
            Values::Binary(to) => to.append_nulls(count),
            Values::BinaryView(to) => (0..count).for_each(|_| to.append_null()),
            Values::Boolean(to) => to.append_nulls(count),
            Values::DateTime(to) => to.append_nulls(count),
            Values::Double(to) => to.append_nulls(count),
            Values::Guid(to) => to.append_nulls(count),
            Values::Int32(to) => to.append_nulls(count),
            Values::Int64(to) => to.append_nulls(count),
            Values::String(to) => to.append_nulls(count),
            Values::StringView(to) => (0..count).for_each(|_| to.append_null()),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Values::Binary(to) => Arc::new(to.finish()),
            Values::BinaryView(to) => Arc::new(to.finish()),
            Values::Boolean(to) => Arc::new(to.finish()),
            Values::DateTime(to) => Arc::new(to.finish()),
            Values::Double(to) => Arc::new(to.finish()),
            Values::Guid(to) => Arc::new(to.finish()),
            Values::Int32(to) => Arc::new(to.finish()),
            Values::Int64(to) => Arc::new(to.finish()),
            Values::String(to) => Arc::new(to.finish()),
            Values::StringView(to) => Arc::new(to.finish()),
        }
    }
}

/// The values of a property in one type, one for each row. Values of other types are nulls, and
/// 100 ns digits are cut off.
pub fn property_array<'v>(
    edm: EdmType,
    layout: BytesLayout,
    values: impl ExactSizeIterator<Item = Option<ValueRef<'v>>>,
) -> ArrayRef {
    let rows = values.len();
    let mut builder = PropertyBuilder::new(edm, layout, Capacity { rows, bytes: 0 });
    for (row, value) in values.enumerate() {
        if let Some(value) = value {
            builder.set(row, value);
        }
    }
    builder.finish(rows).0
}
