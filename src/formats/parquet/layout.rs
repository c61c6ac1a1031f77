//! What the columns of a Parquet file stand for.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};

use crate::error::Error;
use crate::key_columns::{KeyTemplate, key_option, key_option_of_its_own};
use crate::reading::Reading;
use rowkey_model::EdmType;
use rowkey_model::columns::is_text;
use rowkey_model::rows::{NameCache, PropertyId};

/// The columns of a file, by their places among the columns read.
#[derive(Debug)]
pub(super) struct Layout {
    /// Places in the file of the columns that are read.
    read: Vec<usize>,
    pub(super) partition: KeySource,
    pub(super) row: KeySource,
    /// True if the file is not one of ours, which name every type.
    pub(super) is_foreign: bool,
    pub(super) timestamp: Option<Dated>,
    pub(super) properties: Vec<Property>,
}

/// Where a key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeySource {
    /// A column of texts.
    Column(usize),
    /// Columns by name, read for this alone or as properties as well.
    Template(KeyTemplate, Vec<(Arc<str>, usize, EdmType)>),
}

/// A column of dates and the one of its ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dated {
    pub(super) column: usize,
    pub(super) tick: Option<usize>,
}

/// A column of property values.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Property {
    pub(super) id: PropertyId,
    pub(super) name: String,
    pub(super) edm_type: EdmType,
    /// The type that the user wants instead.
    pub(super) wanted: Option<EdmType>,
    pub(super) column: usize,
    pub(super) tick: Option<usize>,
}

impl Layout {
    pub(super) fn of(input: &Arc<str>, schema: &Schema, reading: &Reading<'_>) -> Result<Layout, Error> {
        let mapped = reading.options.keys.clone().unwrap_or_default();
        let refuse = |column: &str, reason: String| Error::Column {
            input: Arc::clone(input),
            column: column.to_owned(),
            reason,
        };
        let mut cache = NameCache::new(reading.names);
        let mut read = Vec::new();
        let mut seen = HashSet::new();
        let mut keys: HashMap<&str, usize> = HashMap::new();
        let mut ticks: HashMap<&str, (usize, &str)> = HashMap::new();
        let mut columns_of_keys: HashMap<&str, Option<(usize, EdmType)>> =
            mapped.columns().map(|column| (&**column, None)).collect();
        let mut properties = Vec::new();
        for (at, field) in schema.fields().iter().enumerate() {
            let name = field.name().as_str();
            let is_index = name.starts_with("__index_level_") && name.ends_with("__");
            if name.starts_with("odata.") || is_index {
                continue;
            }
            if name == "(other)" {
                return Err(refuse(name, "properties that share one column cannot be imported yet".to_owned()));
            }
            if !seen.insert(name) {
                return Err(refuse(name, "the column occurs twice".to_owned()));
            }
            // pandas writes a column without any value so.
            let is_key = ["PartitionKey", "RowKey"].contains(&name) || columns_of_keys.contains_key(name);
            if field.data_type().is_null() && !is_key {
                continue;
            }
            let column = read.len();
            read.push(at);
            if let Some(source) = columns_of_keys.get_mut(name) {
                let edm_type = edm_type(field).filter(|edm_type| *edm_type != EdmType::Binary);
                let unfit = || refuse(name, format!("a key cannot be made of values of type {}", field.data_type()));
                *source = Some((column, edm_type.ok_or_else(unfit)?));
                if mapped.is_key(name) {
                    continue;
                }
            }
            match (name, name.split_once(':')) {
                ("PartitionKey", _) if mapped.partition.is_some() => {}
                ("RowKey", _) if mapped.row.is_some() => {}
                ("PartitionKey" | "RowKey", _) => {
                    if !is_text(field.data_type()) {
                        let mut reason = format!("the column must hold strings, it holds {}", field.data_type());
                        if edm_type(field).is_some_and(|edm_type| edm_type != EdmType::Binary) {
                            reason.push_str(&format!("; {}", key_option_of_its_own(name)));
                        }
                        return Err(refuse(name, reason));
                    }
                    keys.insert(name, column);
                }
                ("Timestamp", _) => {
                    if edm_type(field) != Some(EdmType::DateTime) && !is_text(field.data_type()) {
                        return Err(refuse(
                            name,
                            format!("the column must hold timestamps, it holds {}", field.data_type()),
                        ));
                    }
                    keys.insert(name, column);
                }
                (_, Some((property, "tick"))) => {
                    if !field.data_type().is_integer() {
                        return Err(refuse(
                            name,
                            format!("the column must hold integers, it holds {}", field.data_type()),
                        ));
                    }
                    ticks.insert(property, (column, name));
                }
                (_, typed) => {
                    let (property, wanted) = match typed {
                        Some((property, type_name)) => match EdmType::ALL.into_iter().find(|t| t.name() == type_name) {
                            Some(edm_type) => (property, Some(edm_type)),
                            None => return Err(refuse(name, format!("\"{type_name}\" is no type of the service"))),
                        },
                        None => (name, None),
                    };
                    let edm_type = property_type(field, wanted).map_err(|reason| refuse(name, reason))?;
                    let id = cache.intern(property).map_err(|rejected| refuse(name, rejected.to_string()))?;
                    let (property, wanted) = (property.to_owned(), reading.types.get(id));
                    properties.push(Property { id, name: property, edm_type, wanted, column, tick: None });
                }
            }
        }
        let missing = |name: &str| {
            refuse(name, format!("the column is missing; a key is made of others with {}", key_option(name)))
        };
        let source = |template: Option<KeyTemplate>, name: &str| match template {
            None => keys.get(name).map(|&column| KeySource::Column(column)).ok_or_else(|| missing(name)),
            Some(template) => {
                let column = |name: &Arc<str>| match columns_of_keys.get(&**name) {
                    Some(&Some((column, edm_type))) => Ok((Arc::clone(name), column, edm_type)),
                    _ => Err(refuse(name, "a key is to be made of it, and there is no such column".to_owned())),
                };
                let columns = template.columns().map(column).collect::<Result<_, _>>()?;
                Ok(KeySource::Template(template, columns))
            }
        };
        let partition = source(mapped.partition.clone(), "PartitionKey")?;
        let row = source(mapped.row.clone(), "RowKey")?;
        let is_foreign = !keys.contains_key("Timestamp") || !ticks.contains_key("Timestamp");
        let timestamp =
            keys.get("Timestamp").map(|&column| Dated { column, tick: ticks.remove("Timestamp").map(|t| t.0) });
        for property in properties.iter_mut().filter(|property| property.edm_type == EdmType::DateTime) {
            property.tick = ticks.remove(property.name.as_str()).map(|t| t.0);
        }
        if let Some((_, name)) = ticks.values().next() {
            return Err(refuse(name, "there is no column of dates that these ticks belong to".to_owned()));
        }
        Ok(Layout { read, partition, row, is_foreign, timestamp, properties })
    }

    /// Places in the file of the columns that are read.
    pub(super) fn columns_read(&self) -> impl Iterator<Item = usize> + '_ {
        self.read.iter().copied()
    }
}

/// The type of a property's column, which must be `wanted` if its name says so.
fn property_type(field: &Field, wanted: Option<EdmType>) -> Result<EdmType, String> {
    let found = edm_type(field).ok_or_else(|| format!("values of type {} cannot be imported", field.data_type()))?;
    match wanted {
        Some(EdmType::Guid) if *field.data_type() == DataType::FixedSizeBinary(16) => Ok(EdmType::Guid),
        Some(wanted) if wanted != found => {
            Err(format!("the name says {wanted}, the column holds {}", field.data_type()))
        }
        _ => Ok(found),
    }
}

fn edm_type(field: &Field) -> Option<EdmType> {
    Some(match field.data_type() {
        DataType::Boolean => EdmType::Boolean,
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::UInt8 | DataType::UInt16 => EdmType::Int32,
        DataType::UInt32 | DataType::Int64 | DataType::UInt64 => EdmType::Int64,
        DataType::Float16 | DataType::Float32 | DataType::Float64 => EdmType::Double,
        DataType::Timestamp(_, _) | DataType::Date32 | DataType::Date64 => EdmType::DateTime,
        DataType::FixedSizeBinary(16) if field.extension_type_name() == Some("arrow.uuid") => EdmType::Guid,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            EdmType::Binary
        }
        data_type if is_text(data_type) => EdmType::String,
        _ => return None,
    })
}
