//! Properties as columns of Arrow arrays: types, names, and the ways there and back.
//!
//! | property | Arrow |
//! |---|---|
//! | Binary | `Binary` or `BinaryView` |
//! | Boolean | `Boolean` |
//! | DateTime | `Timestamp(µs, "UTC")`, rounded down; the 100 ns digit is an `Int8` column beside it |
//! | Double | `Float64` |
//! | Guid | `FixedSizeBinary(16)` with the extension type `arrow.uuid` |
//! | Int32, Int64 | `Int32`, `Int64` |
//! | String | `Utf8` or `Utf8View` |
//!
//! Null says that an entity lacks the property. A property that entities have in several types has
//! a column for each, named `Age:Int64`; the column of digits is `HiredAt:tick`. No property's name
//! has a colon.

mod entity_view;
mod keys;
mod property_builder;
mod property_lookup;
mod property_reader;

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, TimeUnit};
use arrow::error::ArrowError;
use arrow_schema::extension::Uuid;

pub use entity_view::EntityView;
pub use keys::{KEY_COLUMNS, KeyBuilder, KeyReader, PARTITION_KEY, ROW_KEY, TIMESTAMP, key_fields};
pub use property_builder::{Capacity, PropertyBuilder, property_array};
pub use property_lookup::PropertyLookup;
pub use property_reader::PropertyReader;

use crate::EdmType;

/// How texts and binaries lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BytesLayout {
    /// Offsets into one buffer, `Utf8` and `Binary`: what files hold.
    Offsets,
    /// Views, `Utf8View` and `BinaryView`: what DataFusion computes with.
    Views,
}

/// The Arrow type of a property's values.
pub fn data_type(edm: EdmType, layout: BytesLayout) -> DataType {
    match (edm, layout) {
        (EdmType::Binary, BytesLayout::Offsets) => DataType::Binary,
        (EdmType::Binary, BytesLayout::Views) => DataType::BinaryView,
        (EdmType::Boolean, _) => DataType::Boolean,
        (EdmType::DateTime, _) => utc_micros(),
        (EdmType::Double, _) => DataType::Float64,
        (EdmType::Guid, _) => DataType::FixedSizeBinary(16),
        (EdmType::Int32, _) => DataType::Int32,
        (EdmType::Int64, _) => DataType::Int64,
        (EdmType::String, BytesLayout::Offsets) => DataType::Utf8,
        (EdmType::String, BytesLayout::Views) => DataType::Utf8View,
    }
}

/// Whether an Arrow type holds texts, be it by numbers of them.
pub fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// The property type whose values an Arrow type holds, in either layout; timestamps may be of any
/// zone. `None` for types that no property has.
pub fn property_type(data_type: &DataType) -> Option<EdmType> {
    Some(match data_type {
        DataType::Binary | DataType::BinaryView => EdmType::Binary,
        DataType::Boolean => EdmType::Boolean,
        DataType::Timestamp(TimeUnit::Microsecond, _) => EdmType::DateTime,
        DataType::Float64 => EdmType::Double,
        DataType::FixedSizeBinary(16) => EdmType::Guid,
        DataType::Int32 => EdmType::Int32,
        DataType::Int64 => EdmType::Int64,
        DataType::Utf8 | DataType::Utf8View => EdmType::String,
        _ => return None,
    })
}

/// The Arrow field of a property's values: nullable.
pub fn field(name: impl Into<String>, edm: EdmType, layout: BytesLayout) -> Field {
    let field = Field::new(name, data_type(edm, layout), true);
    if edm == EdmType::Guid { field.with_extension_type(Uuid) } else { field }
}

/// The same field with texts and binaries as views.
pub fn view_field(field: &FieldRef) -> FieldRef {
    let views = match field.data_type() {
        DataType::Utf8 => DataType::Utf8View,
        DataType::Binary => DataType::BinaryView,
        _ => return Arc::clone(field),
    };
    Arc::new(field.as_ref().clone().with_data_type(views))
}

/// The same rows with texts and binaries as views. Fails where a column cannot be cast to them.
pub fn view_batch(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let schema = Arc::new(Schema::new(batch.schema_ref().fields().iter().map(view_field).collect::<Vec<_>>()));
    let views = batch.columns().iter().zip(schema.fields()).map(|(column, field)| cast(column, field.data_type()));
    let views = views.collect::<Result<Vec<_>, _>>()?;
    RecordBatch::try_new(schema, views)
}

/// The Arrow field of the 100 ns digits of DateTimes: nullable.
pub fn tick_field(name: impl Into<String>) -> Field {
    Field::new(name, DataType::Int8, true)
}

/// The name of the column for one of several types of a property.
pub fn typed_name(property: &str, edm: EdmType) -> String {
    format!("{property}:{edm}")
}

/// The name of the column with the 100 ns digits of a property.
pub fn tick_name(property: &str) -> String {
    format!("{property}:tick")
}

/// Timestamps in files and in SQL: microseconds in UTC.
pub fn utc_micros() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into()))
}

const UTC: &str = "UTC";

#[cfg(test)]
mod tests;
