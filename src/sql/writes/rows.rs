//! Entities as rows of a table, for queries over what a statement has written.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewBuilder, BooleanBuilder, FixedSizeBinaryBuilder, Float64Builder, Int32Builder, Int64Builder,
    RecordBatch, RecordBatchOptions, StringViewBuilder, TimestampMicrosecondBuilder,
};
use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::catalog::{MemTable, TableProvider};
use datafusion::common::DataFusionError;

use super::target::{Takes, TargetColumn};
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::{Entity, Value};
use rowkey_postgres::error::from_datafusion;

/// A column of the rows in memory.
pub(super) type MemoryColumn = (FieldRef, ArrayRef);

/// The values of one column of some entities.
pub(super) fn column_of(column: &TargetColumn, entities: &[Entity]) -> Result<ArrayRef> {
    if column.takes == Takes::Timestamp {
        let mut built = TimestampMicrosecondBuilder::with_capacity(entities.len());
        entities.iter().for_each(|entity| built.append_value(entity.timestamp.micros()));
        return Ok(Arc::new(built.finish().with_data_type(column.field.data_type().clone())));
    }
    if matches!(column.takes, Takes::PartitionKey | Takes::RowKey) {
        let mut built = StringViewBuilder::with_capacity(entities.len());
        for entity in entities {
            let key = &entity.key;
            built.append_value(if column.takes == Takes::PartitionKey { &key.partition } else { &key.row });
        }
        return Ok(Arc::new(built.finish()));
    }
    let Some(property) = column.takes.property() else {
        let message = format!("column \"{}\" cannot be read back from a statement that writes", column.name);
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    };
    let typed = match &column.takes {
        Takes::Typed { edm, .. } => Some(*edm),
        _ => None,
    };
    let values = entities
        .iter()
        .map(|entity| entity.get(property).filter(|value| typed.is_none_or(|edm| value.edm_type() == edm)));
    values_of(column, values)
}

fn values_of<'v>(column: &TargetColumn, values: impl Iterator<Item = Option<&'v Value>>) -> Result<ArrayRef> {
    let data_type = column.field.data_type();
    Ok(match data_type {
        DataType::Boolean => {
            let mut built = BooleanBuilder::new();
            values.for_each(|value| {
                built.append_option(match value {
                    Some(Value::Boolean(value)) => Some(*value),
                    _ => None,
                });
            });
            Arc::new(built.finish())
        }
        DataType::Int32 => {
            let mut built = Int32Builder::new();
            values.for_each(|value| {
                built.append_option(match value {
                    Some(Value::Int32(value)) => Some(*value),
                    _ => None,
                });
            });
            Arc::new(built.finish())
        }
        DataType::Int64 => {
            let mut built = Int64Builder::new();
            values.for_each(|value| {
                built.append_option(match value {
                    Some(Value::Int32(value)) => Some(i64::from(*value)),
                    Some(Value::Int64(value)) => Some(*value),
                    _ => None,
                });
            });
            Arc::new(built.finish())
        }
        DataType::Float64 => {
            let mut built = Float64Builder::new();
            values.for_each(|value| {
                built.append_option(match value {
                    Some(Value::Int32(value)) => Some(f64::from(*value)),
                    Some(Value::Int64(value)) => Some(*value as f64),
                    Some(Value::Double(value)) => Some(*value),
                    _ => None,
                });
            });
            Arc::new(built.finish())
        }
        DataType::Timestamp(..) => {
            let mut built = TimestampMicrosecondBuilder::new();
            values.for_each(|value| {
                built.append_option(match value {
                    Some(Value::DateTime(at)) => Some(at.micros()),
                    _ => None,
                });
            });
            Arc::new(built.finish().with_data_type(data_type.clone()))
        }
        DataType::FixedSizeBinary(16) => {
            let mut built = FixedSizeBinaryBuilder::new(16);
            for value in values {
                match value {
                    Some(Value::Guid(guid)) => {
                        built.append_value(guid.as_bytes()).map_err(DataFusionError::from).map_err(from_datafusion)?
                    }
                    _ => built.append_null(),
                }
            }
            Arc::new(built.finish())
        }
        DataType::BinaryView => {
            let mut built = BinaryViewBuilder::new();
            values.for_each(|value| {
                built.append_option(match value {
                    Some(Value::Binary(bytes)) => Some(bytes),
                    _ => None,
                });
            });
            Arc::new(built.finish())
        }
        DataType::Utf8View => {
            let mut built = StringViewBuilder::new();
            values.for_each(|value| match value {
                Some(Value::String(text)) => built.append_value(text),
                Some(other) => built.append_value(other.to_string()),
                None => built.append_null(),
            });
            Arc::new(built.finish())
        }
        other => {
            let message = format!("column \"{}\" has the unknown type {other}", column.name);
            return Err(Error::new(SqlState::INTERNAL_ERROR, message));
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
