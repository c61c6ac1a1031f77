//! Rows of a query as entities, if they have keys.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{
    DataType, FieldRef, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType,
};

use crate::planner::Column;
use rowkey_base::{Error, Result, SqlState};
use rowkey_formats::Survey;
use rowkey_model::rows::{PropertyId, PropertyNames, Rows, ValueRef};
use rowkey_model::{DateTime, EdmType, Value, validate_property_name};

/// Which column of a query is which part of an entity.
#[derive(Debug)]
pub(super) struct EntityRows {
    names: Arc<PropertyNames>,
    partition: usize,
    row: usize,
    timestamp: Option<usize>,
    properties: Vec<(usize, PropertyId, EdmType)>,
}

impl EntityRows {
    /// Refuses columns that entities do not have.
    pub(super) fn of(columns: &[Column]) -> Result<Self> {
        let names = Arc::new(PropertyNames::new());
        let place = |name: &str| columns.iter().position(|column| column.field.name() == name);
        let key = |name: &str| {
            let at = place(name).filter(|at| is_text(columns[*at].field.data_type()));
            at.ok_or_else(|| {
                Error::new(
                    SqlState::INVALID_STATEMENT,
                    format!("the query has no column \"{name}\", and the format holds entities"),
                )
                .with_hint("select the keys, or write the rows as parquet, ndjson or plain-csv")
            })
        };
        let (partition, row, timestamp) = (key("PartitionKey")?, key("RowKey")?, place("Timestamp"));
        if let Some(at) = timestamp
            && edm_type(&columns[at].field) != Some(EdmType::DateTime)
        {
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, "column \"Timestamp\" is no time"));
        }
        let mut properties = Vec::new();
        for (at, column) in columns.iter().enumerate() {
            let name = column.field.name();
            if [Some(partition), Some(row), timestamp].contains(&Some(at)) {
                continue;
            }
            validate_property_name(name).map_err(|rejected| {
                Error::from(rejected).with_hint("name it with AS; whole entities are exported by --table and --where")
            })?;
            let edm = edm_type(&column.field).ok_or_else(|| {
                let message = format!("column \"{name}\" has a type that entities do not have");
                Error::new(SqlState::DATATYPE_MISMATCH, message).with_hint("cast it, for example to text")
            })?;
            if names.find(name).is_some() {
                let message = format!("column \"{name}\" occurs twice, and an entity has each property once");
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
            }
            properties.push((at, names.intern(name), edm));
        }
        Ok(Self { names, partition, row, timestamp, properties })
    }

    pub(super) fn survey(&self) -> Survey {
        let mut survey = Survey::new(&self.names);
        for (_, id, edm) in &self.properties {
            survey.note(*id, *edm, false);
        }
        survey
    }

    pub(super) fn rows(&self, batch: &RecordBatch) -> Result<Rows> {
        let defect = || Error::new(SqlState::INTERNAL_ERROR, "a column has another type than the query");
        let mut rows = Rows::with_capacity(batch.num_rows(), 0);
        for i in 0..batch.num_rows() {
            let key = |at: usize, name: &str| {
                text(batch.column(at), i).ok_or_else(|| {
                    Error::new(
                        SqlState::NOT_NULL_VIOLATION,
                        format!("null value in column \"{name}\" of an exported entity"),
                    )
                })
            };
            let mut builder = rows.builder(&self.names);
            builder.begin();
            for (at, id, edm) in &self.properties {
                let array = batch.column(*at);
                if array.is_null(i) {
                    continue;
                }
                let value = value(array, *edm, i).ok_or_else(defect)?;
                if !matches!(value, ValueRef::Boolean(_) | ValueRef::Int32(_)) {
                    check(&self.names.name(*id), value)?;
                }
                builder.set(*id, value);
            }
            let timestamp = self.timestamp.map(|at| batch.column(at)).filter(|array| array.is_valid(i));
            let timestamp = match timestamp.and_then(|array| value(array, EdmType::DateTime, i)) {
                Some(ValueRef::DateTime(at)) => Some(at),
                _ => None,
            };
            builder.finish(key(self.partition, "PartitionKey")?, key(self.row, "RowKey")?, timestamp)?;
        }
        Ok(rows)
    }
}

/// Refuses what the data model does not hold; short texts need no copy.
fn check(name: &str, value: ValueRef<'_>) -> Result<()> {
    const SHORT_BYTES: usize = 32 << 10;
    match value {
        ValueRef::String(text) if text.len() <= SHORT_BYTES => Ok(()),
        ValueRef::Binary(bytes) if bytes.len() <= SHORT_BYTES => Ok(()),
        value => Ok(Value::validate(&value.to_value(), name)?),
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::Utf8View)
}

fn edm_type(field: &FieldRef) -> Option<EdmType> {
    Some(match field.data_type() {
        DataType::Boolean => EdmType::Boolean,
        DataType::Binary | DataType::BinaryView => EdmType::Binary,
        DataType::Int16 | DataType::Int32 => EdmType::Int32,
        DataType::Int64 => EdmType::Int64,
        DataType::Float32 | DataType::Float64 => EdmType::Double,
        DataType::FixedSizeBinary(16) => EdmType::Guid,
        DataType::Timestamp(TimeUnit::Microsecond, _) => EdmType::DateTime,
        data_type if is_text(data_type) => EdmType::String,
        _ => return None,
    })
}

fn text(array: &ArrayRef, i: usize) -> Option<&str> {
    match array.as_string_view_opt() {
        Some(texts) => texts.is_valid(i).then(|| texts.value(i)),
        None => array.as_string_opt::<i32>().filter(|texts| texts.is_valid(i)).map(|texts| texts.value(i)),
    }
}

fn value(array: &ArrayRef, edm: EdmType, i: usize) -> Option<ValueRef<'_>> {
    Some(match edm {
        EdmType::Boolean => ValueRef::Boolean(array.as_boolean_opt()?.value(i)),
        EdmType::Binary => ValueRef::Binary(match array.as_binary_view_opt() {
            Some(binaries) => binaries.value(i),
            None => array.as_binary_opt::<i32>()?.value(i),
        }),
        EdmType::Int32 => ValueRef::Int32(match array.as_primitive_opt::<Int32Type>() {
            Some(numbers) => numbers.value(i),
            None => i32::from(array.as_primitive_opt::<Int16Type>()?.value(i)),
        }),
        EdmType::Int64 => ValueRef::Int64(array.as_primitive_opt::<Int64Type>()?.value(i)),
        EdmType::Double => ValueRef::Double(match array.as_primitive_opt::<Float64Type>() {
            Some(numbers) => numbers.value(i),
            None => f64::from(array.as_primitive_opt::<Float32Type>()?.value(i)),
        }),
        EdmType::Guid => ValueRef::Guid(uuid::Uuid::from_slice(array.as_fixed_size_binary_opt()?.value(i)).ok()?),
        EdmType::DateTime => {
            let micros = array.as_primitive_opt::<TimestampMicrosecondType>()?.value(i);
            ValueRef::DateTime(DateTime::from_micros(micros, 0))
        }
        EdmType::String => ValueRef::String(text(array, i)?),
    })
}
