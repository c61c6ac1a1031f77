//! Entities as rows of a table, for queries over what a statement has written.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, StringViewArray};
use arrow::datatypes::{FieldRef, Schema};
use datafusion::catalog::{MemTable, TableProvider};
use datafusion::common::DataFusionError;

use super::target::{Takes, TargetColumn};
use crate::provider::WidenedType;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::columns::{BytesLayout, TIMESTAMP, property_array};
use rowkey_model::{EdmType, Entity, Value, ValueRef};
use rowkey_postgres::error::from_datafusion;

/// A column of the rows in memory.
pub(super) type MemoryColumn = (FieldRef, ArrayRef);

/// The values of one column of some entities.
pub(super) fn column_of(column: &TargetColumn, entities: &[Entity]) -> Result<ArrayRef> {
    let typed = |edm, value: &dyn Fn(&Entity) -> Option<ValueRef<'_>>| {
        property_array(edm, BytesLayout::Views, entities.iter().map(value))
    };
    Ok(match &column.takes {
        Takes::PartitionKey => typed(EdmType::String, &|entity| Some(ValueRef::String(&entity.key.partition))),
        Takes::RowKey => typed(EdmType::String, &|entity| Some(ValueRef::String(&entity.key.row))),
        Takes::Timestamp => typed(EdmType::DateTime, &|entity| Some(ValueRef::DateTime(entity.timestamp))),
        Takes::Etag => Arc::new(entities.iter().map(|entity| Some(entity.etag())).collect::<StringViewArray>()),
        Takes::Ticks { property } => {
            let time = |entity: &Entity| match entity.get(property) {
                _ if **property == *TIMESTAMP => Some(entity.timestamp),
                Some(Value::DateTime(time)) => Some(*time),
                _ => None,
            };
            let ticks = |entity| Some(time(entity)?.dot_net_ticks());
            Arc::new(entities.iter().map(ticks).collect::<Int64Array>())
        }
        Takes::Typed { property, edm: EdmType::Int64 | EdmType::Double, beside: false }
        | Takes::Widened { property } => {
            let data_type = column.field.data_type();
            let to = WidenedType::of_data_type(data_type).ok_or_else(|| {
                let message = format!("column \"{}\" has the unknown type {data_type}", column.name);
                Error::new(SqlState::INTERNAL_ERROR, message)
            })?;
            to.array(entities.iter().map(|entity| entity.get(property).map(ValueRef::from)))
        }
        Takes::Typed { property, edm, .. } => typed(*edm, &|entity| entity.get(property).map(ValueRef::from)),
        Takes::Other => {
            let message = format!("column \"{}\" cannot be read back from a statement that writes", column.name);
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
    })
}

/// The relation of rows in memory.
pub(super) fn memory_table(columns: Vec<MemoryColumn>, rows: usize) -> Result<Arc<dyn TableProvider>> {
    let (fields, arrays): (Vec<FieldRef>, Vec<ArrayRef>) = columns.into_iter().unzip();
    let schema = Arc::new(Schema::new(fields));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options)
        .map_err(DataFusionError::from)
        .map_err(from_datafusion)?;
    Ok(Arc::new(MemTable::try_new(schema, vec![vec![batch]]).map_err(from_datafusion)?))
}
