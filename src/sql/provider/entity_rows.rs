//! Entities and rows of run files in the columns of their table, without a scan: what reads of few
//! keys are answered from.

use std::borrow::Borrow;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryViewBuilder, BooleanBuilder, FixedSizeBinaryBuilder, Float64Builder, Int32Builder,
    Int64Builder, RecordBatch, StringViewBuilder, TimestampMicrosecondBuilder,
};
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr_adapter::PhysicalExprAdapterFactory;

use super::adapter::EntityColumnAdapterFactory;
use super::columns::{ColumnSource, Shown, TableColumns};
use rowkey_model::{EdmType, Entity, Value};
use rowkey_storage::run::{PARTITION_KEY, ROW_KEY, TIMESTAMP, utc_micros};

/// Some columns of a table, as a scan would give them.
#[derive(Debug, Clone)]
pub(crate) struct EntityRows {
    columns: TableColumns,
    wanted: Vec<(Column, Wanted)>,
}

/// What of an entity a column shows.
#[derive(Debug, Clone)]
enum Wanted {
    PartitionKey,
    RowKey,
    Timestamp,
    Typed(Arc<str>, EdmType),
    Shown(Arc<str>, Shown),
}

impl EntityRows {
    /// The columns at `places` among those of the table. `None` if there is one that entities alone
    /// do not tell.
    pub(crate) fn new(columns: &TableColumns, places: impl IntoIterator<Item = usize>) -> Option<Self> {
        let wanted = |place: usize| {
            let name = columns.schema().fields().get(place)?.name();
            let wanted = match (columns.source(name)?, name.as_str()) {
                (ColumnSource::Key, PARTITION_KEY) => Wanted::PartitionKey,
                (ColumnSource::Key, ROW_KEY) => Wanted::RowKey,
                (ColumnSource::Key, TIMESTAMP) => Wanted::Timestamp,
                (ColumnSource::Typed { property, edm }, _) => Wanted::Typed(Arc::clone(property), *edm),
                (ColumnSource::Shown { property, shown, .. }, _) => Wanted::Shown(Arc::clone(property), *shown),
                _ => return None,
            };
            Some((Column::new(name, place), wanted))
        };
        let wanted = places.into_iter().map(wanted).collect::<Option<Vec<_>>>()?;
        Some(Self { columns: columns.clone(), wanted })
    }

    /// The columns of entities, one row each.
    pub(crate) fn of_entities<E: Borrow<Entity>>(&self, entities: &[E]) -> Result<Vec<ArrayRef>> {
        self.wanted.iter().map(|(_, wanted)| wanted.column(entities.iter().map(Borrow::borrow))).collect()
    }

    /// The columns of rows that have all columns of a run file.
    pub(crate) fn of_rows(&self, rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let factory = EntityColumnAdapterFactory { columns: self.columns.clone() };
        let adapter = factory.create(Arc::clone(self.columns.schema()), rows.schema())?;
        let column = |(column, _): &(Column, Wanted)| {
            let column: Arc<dyn PhysicalExpr> = Arc::new(column.clone());
            adapter.rewrite(column)?.evaluate(rows)?.into_array(rows.num_rows())
        };
        self.wanted.iter().map(column).collect()
    }
}

impl Wanted {
    fn column<'a>(&self, entities: impl Iterator<Item = &'a Entity>) -> Result<ArrayRef> {
        Ok(match self {
            Wanted::PartitionKey => texts(entities.map(|entity| Some(entity.key.partition.as_str()))),
            Wanted::RowKey => texts(entities.map(|entity| Some(entity.key.row.as_str()))),
            Wanted::Timestamp => times(entities.map(|entity| Some(entity.timestamp.micros()))),
            Wanted::Typed(property, edm) => typed(*edm, entities.map(|entity| entity.get(property)))?,
            Wanted::Shown(property, shown) => shown_in(*shown, entities.map(|entity| entity.get(property))),
        })
    }
}

/// Values of one type; others are none.
fn typed<'a>(edm: EdmType, values: impl Iterator<Item = Option<&'a Value>>) -> Result<ArrayRef> {
    Ok(match edm {
        EdmType::Binary => {
            let mut builder = BinaryViewBuilder::new();
            for value in values {
                match value {
                    Some(Value::Binary(bytes)) => builder.append_value(bytes),
                    _ => builder.append_null(),
                }
            }
            finished(builder.finish())
        }
        EdmType::Boolean => {
            let mut builder = BooleanBuilder::new();
            for value in values {
                match value {
                    Some(Value::Boolean(value)) => builder.append_value(*value),
                    _ => builder.append_null(),
                }
            }
            finished(builder.finish())
        }
        EdmType::DateTime => times(values.map(|value| match value {
            Some(Value::DateTime(at)) => Some(at.micros()),
            _ => None,
        })),
        EdmType::Double => {
            let mut builder = Float64Builder::new();
            for value in values {
                match value {
                    Some(Value::Double(value)) => builder.append_value(*value),
                    _ => builder.append_null(),
                }
            }
            finished(builder.finish())
        }
        EdmType::Guid => {
            let mut builder = FixedSizeBinaryBuilder::new(16);
            for value in values {
                match value {
                    Some(Value::Guid(guid)) => builder.append_value(guid.as_bytes())?,
                    _ => builder.append_null(),
                }
            }
            finished(builder.finish())
        }
        EdmType::Int32 => {
            let mut builder = Int32Builder::new();
            for value in values {
                match value {
                    Some(Value::Int32(value)) => builder.append_value(*value),
                    _ => builder.append_null(),
                }
            }
            finished(builder.finish())
        }
        EdmType::Int64 => integers(values.map(|value| match value {
            Some(Value::Int64(value)) => Some(*value),
            _ => None,
        })),
        EdmType::String => texts(values.map(|value| match value {
            Some(Value::String(text)) => Some(text.as_str()),
            _ => None,
        })),
    })
}

/// Values of several types in one, as [`super::display_columns::DisplayValue`] brings them.
fn shown_in<'a>(shown: Shown, values: impl Iterator<Item = Option<&'a Value>>) -> ArrayRef {
    let integer = |value: Option<&Value>| match value {
        Some(Value::Int32(value)) => Some(i64::from(*value)),
        Some(Value::Int64(value)) => Some(*value),
        _ => None,
    };
    match shown {
        Shown::Int64 => integers(values.map(integer)),
        Shown::Double => {
            let mut builder = Float64Builder::new();
            for value in values {
                builder.append_option(match value {
                    Some(Value::Double(value)) => Some(*value),
                    value => integer(value).map(|value| value as f64),
                });
            }
            finished(builder.finish())
        }
        Shown::Text => {
            let mut builder = StringViewBuilder::new();
            for value in values {
                match value {
                    Some(Value::String(text)) => builder.append_value(text),
                    Some(value) => builder.append_value(value.to_string()),
                    None => builder.append_null(),
                }
            }
            finished(builder.finish())
        }
    }
}

fn texts<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    let mut builder = StringViewBuilder::new();
    values.for_each(|value| builder.append_option(value));
    finished(builder.finish())
}

fn integers(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    let mut builder = Int64Builder::new();
    values.for_each(|value| builder.append_option(value));
    finished(builder.finish())
}

fn times(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    let mut builder = TimestampMicrosecondBuilder::new().with_data_type(utc_micros());
    values.for_each(|value| builder.append_option(value));
    finished(builder.finish())
}

fn finished(array: impl Array + 'static) -> ArrayRef {
    Arc::new(array)
}
