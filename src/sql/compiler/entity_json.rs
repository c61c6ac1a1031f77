//! `rowkey.entity_json(table)`: a row of a table as the Table service writes the entity, with the
//! types of its properties and its ETag (specification, section 2.5, minimal metadata).

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_datafusion_err, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use rowkey_base::{Error, SqlState};
use rowkey_formats::entity_json::{EntityEncoder, MetadataLevel, TableAddress};
use rowkey_model::columns::{PARTITION_KEY, PropertyReader, ROW_KEY, TIMESTAMP, property_type};
use rowkey_model::{DateTime, EdmType, Entity, Key, Value, ValueRef};
use rowkey_storage::run::{OTHER_COLUMN, decode_other};

use crate::planner::ENTITY_JSON;
use crate::provider::ticks_name;
use rowkey_postgres::error::external;

/// The function; it is called with the name and the value of every column of a table.
pub(crate) fn entity_json() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(EntityJson { signature: Signature::variadic_any(Volatility::Immutable) }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct EntityJson {
    signature: Signature,
}

impl ScalarUDFImpl for EntityJson {
    fn name(&self) -> &str {
        ENTITY_JSON
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let columns = named_columns(&args.args, rows)?;
        let entities = EntityColumns::of(&columns)?;
        // In a feed, where there is no address beside the properties.
        let encoder = EntityEncoder::new(MetadataLevel::Minimal, &TableAddress::new("", "", ""));
        let mut texts = StringViewBuilder::with_capacity(rows);
        let mut written = Vec::new();
        for row in 0..rows {
            let Some(entity) = entities.entity(row)? else {
                texts.append_null();
                continue;
            };
            written.clear();
            encoder.encode_in_feed(&entity, &mut written);
            let text = std::str::from_utf8(&written).map_err(|error| DataFusionError::External(Box::new(error)))?;
            texts.append_value(text);
        }
        Ok(ColumnarValue::Array(Arc::new(texts.finish())))
    }
}

fn named_columns(args: &[ColumnarValue], rows: usize) -> Result<BTreeMap<String, ArrayRef>> {
    let mut columns = BTreeMap::new();
    for pair in args.chunks(2) {
        let [ColumnarValue::Scalar(ScalarValue::Utf8(Some(name)) | ScalarValue::Utf8View(Some(name))), value] = pair
        else {
            return exec_err!("{ENTITY_JSON} is called with names and values");
        };
        columns.insert(name.clone(), value.to_array(rows)?);
    }
    Ok(columns)
}

/// The columns of a table, each as what it says of an entity.
struct EntityColumns<'a> {
    partitions: PropertyReader<'a>,
    rows: PropertyReader<'a>,
    timestamps: &'a ArrayRef,
    properties: Vec<PropertyColumn<'a>>,
    other: Option<&'a ArrayRef>,
}

/// A column with values of a property.
struct PropertyColumn<'a> {
    property: &'a str,
    values: PropertyReader<'a>,
    ticks: Option<&'a ArrayRef>,
}

impl<'a> EntityColumns<'a> {
    fn of(columns: &'a BTreeMap<String, ArrayRef>) -> Result<Self> {
        let missing = |name: &str| exec_datafusion_err!("{ENTITY_JSON} lacks the column \"{name}\"");
        let key = |name: &str| {
            let column = columns.get(name).ok_or_else(|| missing(name))?;
            PropertyReader::new(EdmType::String, column, None).ok_or_else(|| missing(name))
        };
        let timestamps = system(&ticks_name(TIMESTAMP));
        let mut properties = Vec::new();
        for (name, column) in columns {
            let property = name.split_once(':').map_or(name.as_str(), |(property, _)| property);
            if property.is_empty() || [PARTITION_KEY, ROW_KEY, TIMESTAMP, OTHER_COLUMN].contains(&name.as_str()) {
                continue;
            }
            let edm = property_type(column.data_type());
            let values = edm.and_then(|edm| PropertyReader::new(edm, column, None)).ok_or_else(|| missing(name))?;
            let ticks = columns.get(&system(&ticks_name(property))).filter(|_| edm == Some(EdmType::DateTime));
            properties.push(PropertyColumn { property, values, ticks });
        }
        Ok(Self {
            partitions: key(PARTITION_KEY)?,
            rows: key(ROW_KEY)?,
            timestamps: columns.get(&timestamps).ok_or_else(|| missing(&timestamps))?,
            properties,
            other: columns.get(OTHER_COLUMN),
        })
    }

    /// The entity of a row; none where an outer join has none.
    fn entity(&self, row: usize) -> Result<Option<Entity>> {
        let (Some(ValueRef::String(partition)), Some(ValueRef::String(row_key))) =
            (self.partitions.get(row), self.rows.get(row))
        else {
            return Ok(None);
        };
        let mut properties: BTreeMap<&str, Value> = BTreeMap::new();
        // `Age` comes before `Age:Int64`, which has the value in its own type.
        for column in &self.properties {
            let value = match (column.values.get(row), column.ticks) {
                (None, _) => continue,
                (Some(_), Some(ticks)) => Value::DateTime(time(ticks, row)),
                (Some(value), None) => value.to_value(),
            };
            properties.insert(column.property, value);
        }
        let mut properties: Vec<(Arc<str>, Value)> =
            properties.into_iter().map(|(name, value)| (Arc::from(name), value)).collect();
        if let Some(other) = self.other.and_then(|other| other.as_binary_view_opt()).filter(|other| other.is_valid(row))
        {
            let Some(others) = decode_other(other.value(row)) else {
                let message = format!("\"{OTHER_COLUMN}\" of a row cannot be read");
                return Err(external(Error::new(SqlState::INTERNAL_ERROR, message)));
            };
            properties.extend(others);
        }
        Ok(Some(Entity::from_parts(Key::new(partition, row_key), time(self.timestamps, row), properties)))
    }
}

/// The name under which a system column comes.
fn system(name: &str) -> String {
    format!(":{name}")
}

fn time(ticks: &ArrayRef, row: usize) -> DateTime {
    DateTime::from_dot_net_ticks(ticks.as_primitive::<Int64Type>().value(row))
}
