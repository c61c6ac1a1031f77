//! Entities on their way into the columns of a batch.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, Float64Builder, Int8Builder, Int32Builder,
    Int64Builder, RecordBatch, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow::datatypes::{DataType, Field, SchemaRef, TimeUnit};
use arrow::error::ArrowError;
use arrow_schema::extension::Uuid;

use crate::output::WriteError;
use crate::survey::{Cells, Survey};
use rowkey_model::EdmType;
use rowkey_model::rows::{RowRef, ValueRef};

const UTC: &str = "UTC";

/// Builders of all columns.
pub(super) struct Columns {
    cells: Cells,
    rows: usize,
    partition: StringBuilder,
    row: StringBuilder,
    timestamp: TimestampMicrosecondBuilder,
    tick: Int8Builder,
    properties: Vec<PropertyColumns>,
}

/// The columns of one property: one for each type, and the digits of its times.
struct PropertyColumns {
    name: Arc<str>,
    types: Vec<(EdmType, Builder)>,
    tick: Option<Int8Builder>,
}

enum Builder {
    Binary(BinaryBuilder),
    Boolean(BooleanBuilder),
    DateTime(TimestampMicrosecondBuilder),
    Double(Float64Builder),
    Guid(FixedSizeBinaryBuilder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    String(StringBuilder),
}

impl Columns {
    pub(super) fn of(survey: &Survey) -> Self {
        let properties = survey.properties();
        let columns = properties.iter().map(|property| PropertyColumns {
            name: Arc::clone(&property.name),
            types: property.types.iter().map(|edm| (*edm, Builder::new(*edm))).collect(),
            tick: (property.ticks && property.types.contains(&EdmType::DateTime)).then(Int8Builder::new),
        });
        Self {
            rows: 0,
            partition: StringBuilder::new(),
            row: StringBuilder::new(),
            timestamp: TimestampMicrosecondBuilder::new().with_timezone(UTC),
            tick: Int8Builder::new(),
            properties: columns.collect(),
            cells: Cells::of(survey, &properties),
        }
    }

    pub(super) fn fields(&self) -> Vec<Field> {
        let micros = || DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into()));
        let mut fields = vec![
            Field::new("PartitionKey", DataType::Utf8, false),
            Field::new("RowKey", DataType::Utf8, false),
            Field::new("Timestamp", micros(), true),
            Field::new("Timestamp:tick", DataType::Int8, true),
        ];
        for property in &self.properties {
            for (edm, _) in &property.types {
                let name = match property.types.len() {
                    1 => property.name.to_string(),
                    _ => format!("{}:{edm}", property.name),
                };
                fields.push(match edm {
                    EdmType::Binary => Field::new(name, DataType::Binary, true),
                    EdmType::Boolean => Field::new(name, DataType::Boolean, true),
                    EdmType::DateTime => Field::new(name, micros(), true),
                    EdmType::Double => Field::new(name, DataType::Float64, true),
                    EdmType::Guid => Field::new(name, DataType::FixedSizeBinary(16), true).with_extension_type(Uuid),
                    EdmType::Int32 => Field::new(name, DataType::Int32, true),
                    EdmType::Int64 => Field::new(name, DataType::Int64, true),
                    EdmType::String => Field::new(name, DataType::Utf8, true),
                });
            }
            if property.tick.is_some() {
                fields.push(Field::new(format!("{}:tick", property.name), DataType::Int8, true));
            }
        }
        fields
    }

    /// Rows since the last batch.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn push(&mut self, output: &Arc<str>, row: RowRef<'_>) -> Result<(), WriteError> {
        let mut cells = Vec::new();
        self.cells.place(output, row, &mut cells)?;
        for (cell, property) in cells.into_iter().zip(&mut self.properties) {
            property.push(output, cell)?;
        }
        let key = row.key();
        self.partition.append_value(key.partition);
        self.row.append_value(key.row);
        self.timestamp.append_option(row.timestamp().map(|at| at.micros()));
        self.tick.append_option(row.timestamp().map(|at| at.tick()));
        self.rows += 1;
        Ok(())
    }

    pub(super) fn finish(&mut self, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
        let mut arrays: Vec<ArrayRef> = vec![
            Arc::new(self.partition.finish()),
            Arc::new(self.row.finish()),
            Arc::new(self.timestamp.finish()),
            Arc::new(self.tick.finish()),
        ];
        for property in &mut self.properties {
            arrays.extend(property.types.iter_mut().map(|(_, builder)| builder.finish()));
            arrays.extend(property.tick.as_mut().map(|tick| Arc::new(tick.finish()) as ArrayRef));
        }
        self.rows = 0;
        RecordBatch::try_new(Arc::clone(schema), arrays)
    }
}

impl PropertyColumns {
    fn push(&mut self, output: &Arc<str>, value: Option<ValueRef<'_>>) -> Result<(), WriteError> {
        let edm = value.map(|value| value.edm_type());
        let mut tick = None;
        let mut is_placed = value.is_none();
        for (of, builder) in &mut self.types {
            let own = value.filter(|_| edm == Some(*of));
            is_placed |= own.is_some();
            let pushed = builder.push(own);
            pushed.map_err(|error| WriteError::Parquet { name: Arc::clone(output), source: error.into() })?;
        }
        if let Some(ValueRef::DateTime(at)) = value {
            tick = Some(at.tick());
            is_placed &= self.tick.is_some() || at.tick() == 0;
        }
        if let Some(ticks) = &mut self.tick {
            ticks.append_option(tick);
        }
        if is_placed {
            return Ok(());
        }
        Err(WriteError::NoColumn { name: Arc::clone(output), property: self.name.to_string() })
    }
}

impl Builder {
    fn new(edm: EdmType) -> Self {
        match edm {
            EdmType::Binary => Builder::Binary(BinaryBuilder::new()),
            EdmType::Boolean => Builder::Boolean(BooleanBuilder::new()),
            EdmType::DateTime => Builder::DateTime(TimestampMicrosecondBuilder::new().with_timezone(UTC)),
            EdmType::Double => Builder::Double(Float64Builder::new()),
            EdmType::Guid => Builder::Guid(FixedSizeBinaryBuilder::new(16)),
            EdmType::Int32 => Builder::Int32(Int32Builder::new()),
            EdmType::Int64 => Builder::Int64(Int64Builder::new()),
            EdmType::String => Builder::String(StringBuilder::new()),
        }
    }

    /// Appends a value of this type, or null for any other.
    fn push(&mut self, value: Option<ValueRef<'_>>) -> Result<(), ArrowError> {
        match (self, value) {
            (Builder::Binary(to), Some(ValueRef::Binary(value))) => to.append_value(value),
            (Builder::Binary(to), _) => to.append_null(),
            (Builder::Boolean(to), Some(ValueRef::Boolean(value))) => to.append_value(value),
            (Builder::Boolean(to), _) => to.append_null(),
            (Builder::DateTime(to), Some(ValueRef::DateTime(at))) => to.append_value(at.micros()),
            (Builder::DateTime(to), _) => to.append_null(),
            (Builder::Double(to), Some(ValueRef::Double(value))) => to.append_value(value),
            (Builder::Double(to), _) => to.append_null(),
            (Builder::Guid(to), Some(ValueRef::Guid(value))) => return to.append_value(value.as_bytes()),
            (Builder::Guid(to), _) => to.append_null(),
            (Builder::Int32(to), Some(ValueRef::Int32(value))) => to.append_value(value),
            (Builder::Int32(to), _) => to.append_null(),
            (Builder::Int64(to), Some(ValueRef::Int64(value))) => to.append_value(value),
            (Builder::Int64(to), _) => to.append_null(),
            (Builder::String(to), Some(ValueRef::String(value))) => to.append_value(value),
            (Builder::String(to), _) => to.append_null(),
        }
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Binary(builder) => Arc::new(builder.finish()),
            Builder::Boolean(builder) => Arc::new(builder.finish()),
            Builder::DateTime(builder) => Arc::new(builder.finish()),
            Builder::Double(builder) => Arc::new(builder.finish()),
            Builder::Guid(builder) => Arc::new(builder.finish()),
            Builder::Int32(builder) => Arc::new(builder.finish()),
            Builder::Int64(builder) => Arc::new(builder.finish()),
            Builder::String(builder) => Arc::new(builder.finish()),
        }
    }
}
