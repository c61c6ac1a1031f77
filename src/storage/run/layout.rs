//! Which columns a run file has.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow_schema::extension::Uuid;

use rowkey_model::EdmType;

/// Name of the first column.
pub const PARTITION_KEY: &str = "PartitionKey";
/// Name of the second column.
pub const ROW_KEY: &str = "RowKey";
/// Name of the third column: the last write, in microseconds.
pub const TIMESTAMP: &str = "Timestamp";
pub(super) const TIMESTAMP_TICK: &str = "Timestamp:tick";
/// Properties without a column of their own, encoded together.
pub const OTHER_COLUMN: &str = "(other)";

/// PartitionKey, RowKey, Timestamp and its tick come first in every file.
pub(super) const KEY_COLUMNS: usize = 4;

/// One property in one type, as it lies in a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct RunColumn {
    pub property: Arc<str>,
    #[serde(rename = "type")]
    pub edm: EdmType,
    /// The file holds the property in several types, so the column's name carries this one:
    /// `Age:Int64`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub typed_name: bool,
    /// DateTimes with a 100 ns digit have it in a column of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tick: bool,
}

impl RunColumn {
    /// Name of the column in the file.
    pub fn name(&self) -> String {
        if self.typed_name { format!("{}:{}", self.property, self.edm) } else { self.property.to_string() }
    }

    /// Name of the column with the 100 ns digits, if there is one.
    pub fn tick_name(&self) -> Option<String> {
        self.tick.then(|| format!("{}:tick", self.property))
    }

    fn fields(&self) -> impl Iterator<Item = Field> {
        let value = value_field(&self.name(), self.edm);
        std::iter::once(value).chain(self.tick_name().map(|name| Field::new(name, DataType::Int8, true)))
    }
}

/// The Arrow field of a property's values in a file: nullable, a missing property is null.
pub(super) fn value_field(name: &str, edm: EdmType) -> Field {
    match edm {
        EdmType::Binary => Field::new(name, DataType::Binary, true),
        EdmType::Boolean => Field::new(name, DataType::Boolean, true),
        EdmType::DateTime => Field::new(name, utc_micros(), true),
        EdmType::Double => Field::new(name, DataType::Float64, true),
        EdmType::Guid => Field::new(name, DataType::FixedSizeBinary(16), true).with_extension_type(Uuid),
        EdmType::Int32 => Field::new(name, DataType::Int32, true),
        EdmType::Int64 => Field::new(name, DataType::Int64, true),
        EdmType::String => Field::new(name, DataType::Utf8, true),
    }
}

/// Timestamps in files and in SQL: microseconds in UTC.
pub fn utc_micros() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// The property columns of a file, in file order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunLayout {
    pub columns: Vec<RunColumn>,
    /// The file has an [`OTHER_COLUMN`].
    pub other: bool,
}

impl RunLayout {
    /// The file's Arrow schema.
    pub fn schema(&self) -> SchemaRef {
        let mut fields = vec![
            Field::new(PARTITION_KEY, DataType::Utf8, false),
            Field::new(ROW_KEY, DataType::Utf8, false),
            Field::new(TIMESTAMP, utc_micros(), false),
            Field::new(TIMESTAMP_TICK, DataType::Int8, false),
        ];
        fields.extend(self.columns.iter().flat_map(RunColumn::fields));
        if self.other {
            fields.push(Field::new(OTHER_COLUMN, DataType::Binary, true));
        }
        Arc::new(Schema::new(fields))
    }

    /// The schema as scans read it: strings and binaries as views, which is how SQL sees them.
    pub fn view_schema(&self) -> SchemaRef {
        let fields = self
            .schema()
            .fields()
            .iter()
            .map(|field| match field.data_type() {
                DataType::Utf8 => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
                DataType::Binary => Arc::new(field.as_ref().clone().with_data_type(DataType::BinaryView)),
                _ => Arc::clone(field),
            })
            .collect::<Vec<_>>();
        Arc::new(Schema::new(fields))
    }

    /// Position of each property column (and of its tick) in the file's schema.
    pub fn positions(&self) -> Vec<ColumnPosition> {
        let mut next = KEY_COLUMNS;
        let position = |column: &RunColumn| {
            let value = next;
            next += 1 + usize::from(column.tick);
            ColumnPosition { value, tick: column.tick.then_some(value + 1) }
        };
        self.columns.iter().map(position).collect()
    }

    /// Position of [`OTHER_COLUMN`], behind all others.
    pub fn other_position(&self) -> Option<usize> {
        self.other.then(|| KEY_COLUMNS + self.columns.iter().map(|c| 1 + usize::from(c.tick)).sum::<usize>())
    }
}

/// Where a property column lies in the file's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnPosition {
    pub value: usize,
    pub tick: Option<usize>,
}
