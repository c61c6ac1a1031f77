//! Rows of a query as entities, if they have keys.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef};

use crate::planner::Column;
use rowkey_base::{Error, Result, SqlState};
use rowkey_formats::Survey;
use rowkey_model::columns::{PropertyReader, property_type};
use rowkey_model::rows::{PropertyId, PropertyNames, Rows};
use rowkey_model::{EdmType, Value, ValueRef, validate_property_name};

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
            let at = place(name).filter(|at| edm_type(&columns[*at].field) == Some(EdmType::String));
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
        let arrays = batch.columns().iter().map(widened).collect::<Result<Vec<_>>>()?;
        let reader = |at: usize, edm: EdmType| PropertyReader::new(edm, &arrays[at], None).ok_or_else(defect);
        let (partitions, row_keys) = (reader(self.partition, EdmType::String)?, reader(self.row, EdmType::String)?);
        let timestamps = self.timestamp.map(|at| reader(at, EdmType::DateTime)).transpose()?;
        let property =
            |(at, id, edm): &(usize, PropertyId, EdmType)| Ok((*id, self.names.name(*id), reader(*at, *edm)?));
        let properties = self.properties.iter().map(property).collect::<Result<Vec<_>>>()?;
        let mut rows = Rows::with_capacity(batch.num_rows(), 0);
        for i in 0..batch.num_rows() {
            let mut builder = rows.builder(&self.names);
            builder.begin();
            for (id, name, values) in &properties {
                let Some(value) = values.get(i) else { continue };
                if !matches!(value, ValueRef::Boolean(_) | ValueRef::Int32(_)) {
                    check(name, value)?;
                }
                builder.set(*id, value);
            }
            let timestamp = match timestamps.and_then(|times| times.get(i)) {
                Some(ValueRef::DateTime(at)) => Some(at),
                _ => None,
            };
            let partition = not_null(partitions.text(i), "PartitionKey")?;
            builder.finish(partition, not_null(row_keys.text(i), "RowKey")?, timestamp)?;
        }
        Ok(rows)
    }
}

fn not_null<'t>(key: Option<&'t str>, column: &str) -> Result<&'t str> {
    key.ok_or_else(|| {
        let message = format!("null value in column \"{column}\" of an exported entity");
        Error::new(SqlState::NOT_NULL_VIOLATION, message)
    })
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

fn edm_type(field: &FieldRef) -> Option<EdmType> {
    Some(match field.data_type() {
        DataType::Int16 => EdmType::Int32,
        DataType::Float32 => EdmType::Double,
        // A `json` is held in bytes.
        DataType::LargeBinary => EdmType::String,
        data_type => return property_type(data_type),
    })
}

/// Numbers that are narrower than a property's widen to it.
fn widened(array: &ArrayRef) -> Result<ArrayRef> {
    let widened = match array.data_type() {
        DataType::Int16 => cast(array, &DataType::Int32),
        DataType::Float32 => cast(array, &DataType::Float64),
        DataType::LargeBinary => cast(array, &DataType::LargeUtf8),
        _ => return Ok(Arc::clone(array)),
    };
    widened.map_err(|error| Error::new(SqlState::INTERNAL_ERROR, error.to_string()))
}
