//! The first line: which column is what.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::cell::CellType;
use super::fields::Fields;
use crate::error::Error;
use crate::key_columns::{KeyColumns, KeyTemplate, key_option};
use crate::place::Place;
use crate::property_types::PropertyTypes;
use crate::reading::Reading;
use rowkey_model::EdmType;
use rowkey_model::rows::{NameCache, PropertyId};

const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

pub(super) const TYPE_SUFFIX: &str = "@type";

/// The columns of a file.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) delimiter: u8,
    /// How many columns there are.
    pub(super) columns: usize,
    pub(super) names: Vec<String>,
    pub(super) partition: KeyCells,
    pub(super) row: KeyCells,
    pub(super) timestamp: Option<usize>,
    pub(super) properties: Vec<Property>,
    /// The property of each column of types.
    pub(super) typed_by: Vec<Option<usize>>,
}

/// Where a key comes from.
#[derive(Debug)]
pub(super) enum KeyCells {
    Column(usize),
    /// Columns by name.
    Template(KeyTemplate, Vec<(Arc<str>, usize)>),
}

impl KeyCells {
    /// The key of a record.
    pub(super) fn key<'a>(&self, key: &str, fields: &Fields, record: &'a str) -> Result<Cow<'a, str>, String> {
        match self {
            KeyCells::Column(column) => Ok(fields.value(record, *column)),
            KeyCells::Template(template, columns) => {
                let made = template.key(|name| {
                    let column = columns.iter().find(|(column, _)| **column == *name).map(|(_, column)| *column);
                    match column.filter(|column| !fields.is_empty(*column)) {
                        Some(column) => Ok(fields.value(record, column)),
                        None => Err(format!("{key} is made of \"{}\", which is empty here", name.escape_debug())),
                    }
                })?;
                Ok(Cow::Owned(made))
            }
        }
    }
}

/// The columns of a property.
#[derive(Debug)]
pub(super) struct Property {
    pub(super) id: PropertyId,
    pub(super) name: String,
    pub(super) value: usize,
    /// The column of its types.
    pub(super) types: Option<usize>,
    /// The type that is known before anything is read.
    pub(super) declared: Option<EdmType>,
    /// The type that the user wants, whatever the cells say.
    pub(super) wanted: Option<EdmType>,
}

/// The type that stands first in each property's column of types, as far as one did.
pub(super) type Defaults = Vec<Option<CellType>>;

/// True if text begins with a line in which both keys are columns.
pub(crate) fn is_header(text: &[u8]) -> bool {
    let line = text.split(|&b| b == b'\n').next().unwrap_or_default();
    let first = line.split(|&b| b == b'\r').next().unwrap_or_default();
    is_header_with(line, None) || is_header_with(first, None)
}

/// True if all columns that the keys need are in a line.
pub(super) fn is_header_with(line: &[u8], keys: Option<&KeyColumns>) -> bool {
    sniff(line, keys).is_some()
}

/// The columns that the keys need.
fn wanted_columns(keys: Option<&KeyColumns>) -> Vec<&str> {
    let Some(keys) = keys else { return vec!["PartitionKey", "RowKey"] };
    let own = [("PartitionKey", &keys.partition), ("RowKey", &keys.row)];
    let own = own.into_iter().filter(|(_, template)| template.is_none()).map(|(name, _)| name);
    let mut wanted: Vec<&str> = Vec::new();
    for column in own.chain(keys.columns().map(|column| &**column)) {
        if !wanted.contains(&column) {
            wanted.push(column);
        }
    }
    wanted
}

/// The delimiter that makes all columns of the keys columns.
fn sniff(line: &[u8], keys: Option<&KeyColumns>) -> Option<(u8, Vec<String>)> {
    let line = std::str::from_utf8(line).ok()?;
    DELIMITERS.into_iter().find_map(|delimiter| {
        let columns = split(line, delimiter)?;
        missing(keys, &columns).is_empty().then_some((delimiter, columns))
    })
}

/// The columns of a first line, with this delimiter.
fn split(line: &str, delimiter: u8) -> Option<Vec<String>> {
    let mut fields = Fields::default();
    fields.split(line.as_bytes(), delimiter).ok()?;
    Some((0..fields.len()).map(|column| fields.value(line, column).into_owned()).collect())
}

/// The columns that the keys need and that are not there.
fn missing<'a>(keys: Option<&'a KeyColumns>, columns: &[String]) -> Vec<&'a str> {
    wanted_columns(keys).into_iter().filter(|wanted| !columns.iter().any(|column| column == wanted)).collect()
}

/// What is missing with the delimiter that makes most of the line.
fn least_missing<'a>(keys: Option<&'a KeyColumns>, line: &str) -> Vec<&'a str> {
    let missing =
        DELIMITERS.into_iter().filter_map(|delimiter| split(line, delimiter)).map(|columns| missing(keys, &columns));
    missing.min_by_key(Vec::len).unwrap_or_else(|| wanted_columns(keys))
}

/// `column Land`, `columns Land and City`, `columns Land, City and Id`.
fn named(columns: &[&str]) -> String {
    match columns {
        [column] => format!("column {}", column.escape_debug()),
        [others @ .., last] => format!("columns {} and {}", others.join(", ").escape_debug(), last.escape_debug()),
        [] => "column".to_owned(),
    }
}

impl Header {
    /// Reads the first line.
    pub(super) fn read(
        input: &Arc<str>,
        line: &[u8],
        column_types: Option<&PropertyTypes>,
        reading: &Reading<'_>,
    ) -> Result<Header, Error> {
        let keys = reading.options.keys.as_deref();
        let Some((delimiter, columns)) = sniff(line, keys) else { return Err(no_keys(input, line, keys)) };
        let refuse = |column: &str, reason: String| Error::Column {
            input: Arc::clone(input),
            column: column.to_owned(),
            reason,
        };
        let mut places: HashMap<&str, usize> = HashMap::with_capacity(columns.len());
        for (at, column) in columns.iter().enumerate() {
            if places.insert(column, at).is_some() {
                return Err(refuse(column, "the first line names it twice".to_owned()));
            }
        }
        let key = |template: Option<&KeyTemplate>, name: &str| match template {
            None => KeyCells::Column(places.get(name).copied().unwrap_or_default()),
            Some(template) => {
                let place =
                    |column: &Arc<str>| (Arc::clone(column), places.get(&**column).copied().unwrap_or_default());
                KeyCells::Template(template.clone(), template.columns().map(place).collect())
            }
        };
        let mut cache = NameCache::new(reading.names);
        let mut header = Header {
            delimiter,
            columns: columns.len(),
            names: columns.clone(),
            partition: key(keys.and_then(|keys| keys.partition.as_ref()), "PartitionKey"),
            row: key(keys.and_then(|keys| keys.row.as_ref()), "RowKey"),
            timestamp: places.get("Timestamp").copied(),
            properties: Vec::new(),
            typed_by: vec![None; columns.len()],
        };
        for (at, column) in columns.iter().enumerate() {
            let is_system = |name: &str| matches!(name, "PartitionKey" | "RowKey" | "Timestamp");
            match column.strip_suffix(TYPE_SUFFIX) {
                _ if is_system(column) || column.starts_with("odata.") => {}
                // The index of pandas has no name.
                _ if at == 0 && column.is_empty() => {}
                _ if keys.is_some_and(|keys| keys.is_key(column)) => {}
                Some(name) if is_system(name) => {}
                Some(name) if !places.contains_key(name) => {
                    return Err(refuse(column, format!("there is no column \"{name}\" that has these types")));
                }
                Some(_) => {}
                None => {
                    let id = cache.intern(column).map_err(|rejected| refuse(column, rejected.to_string()))?;
                    let types = places.get(format!("{column}{TYPE_SUFFIX}").as_str()).copied();
                    if let Some(types) = types {
                        header.typed_by[types] = Some(header.properties.len());
                    }
                    let declared = column_types.and_then(|types| types.get(column));
                    let wanted = reading.types.get(id);
                    header.properties.push(Property { id, name: column.clone(), value: at, types, declared, wanted });
                }
            }
        }
        Ok(header)
    }

    /// Notes the first types of columns that had none before.
    pub(super) fn learn(&self, defaults: &mut Defaults, fields: &Fields, record: &str) {
        for (property, default) in self.properties.iter().zip(defaults) {
            if default.is_none()
                && let Some(types) = property.types
                && !fields.is_empty(types)
            {
                *default = Some(CellType::parse(&fields.value(record, types)));
            }
        }
    }

    /// What is known of types before the first record.
    pub(super) fn no_defaults(&self) -> Defaults {
        self.properties.iter().map(|property| property.declared.map(CellType::Type)).collect()
    }
}

fn no_keys(input: &Arc<str>, line: &[u8], keys: Option<&KeyColumns>) -> Error {
    let reason = match std::str::from_utf8(line) {
        Err(error) => format!("the first line is not UTF-8 from byte {} on", error.valid_up_to() + 1),
        Ok(line) if line.trim().is_empty() => "the first line is empty; it names the columns".to_owned(),
        Ok(line) => {
            let shown: String = line.chars().take(60).collect();
            let line = line.trim_end_matches(['\r', '\n']);
            let missing = named(&least_missing(keys, line));
            let mut reason = format!("the first line names no {missing}: \"{}\"", shown.escape_debug());
            if keys.is_none() {
                let (partition, row) = (key_option("PartitionKey"), key_option("RowKey"));
                reason.push_str(&format!("; keys are made of others with {partition}, and {row}"));
            }
            reason
        }
    };
    Error::Syntax { input: Arc::clone(input), place: Place::Line(1), reason }
}
