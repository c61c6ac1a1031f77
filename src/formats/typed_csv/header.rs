//! The first line: which column is what.

use std::collections::HashMap;
use std::sync::Arc;

use super::cell::CellType;
use super::fields::Fields;
use crate::formats::error::Error;
use crate::formats::place::Place;
use crate::rows::{NameCache, PropertyId, PropertyNames};

const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

pub(super) const TYPE_SUFFIX: &str = "@type";

/// The columns of a file.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) delimiter: u8,
    /// How many columns there are.
    pub(super) columns: usize,
    pub(super) partition: usize,
    pub(super) row: usize,
    pub(super) timestamp: Option<usize>,
    pub(super) properties: Vec<Property>,
    /// The property of each column of types.
    pub(super) typed_by: Vec<Option<usize>>,
}

/// The columns of a property.
#[derive(Debug)]
pub(super) struct Property {
    pub(super) id: PropertyId,
    pub(super) name: String,
    pub(super) value: usize,
    /// The column of its types.
    pub(super) types: Option<usize>,
}

/// The type that stands first in each property's column of types, as far as one did.
pub(super) type Defaults = Vec<Option<CellType>>;

/// True if text begins with a line in which both keys are columns.
pub(in crate::formats) fn is_header(text: &[u8]) -> bool {
    let line = text.split(|&b| b == b'\n').next().unwrap_or_default();
    sniff(line).is_some()
}

/// The delimiter that makes both keys columns.
fn sniff(line: &[u8]) -> Option<(u8, Vec<String>)> {
    let line = std::str::from_utf8(line).ok()?;
    let mut fields = Fields::default();
    DELIMITERS.into_iter().find_map(|delimiter| {
        fields.split(line.as_bytes(), delimiter).ok()?;
        let columns: Vec<String> = (0..fields.len()).map(|column| fields.value(line, column).into_owned()).collect();
        let has = |key: &str| columns.iter().any(|column| column == key);
        (has("PartitionKey") && has("RowKey")).then_some((delimiter, columns))
    })
}

impl Header {
    /// Reads the first line.
    pub(super) fn read(input: &Arc<str>, line: &[u8], names: &Arc<PropertyNames>) -> Result<Header, Error> {
        let Some((delimiter, columns)) = sniff(line) else { return Err(no_keys(input, line)) };
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
        let mut cache = NameCache::new(names);
        let mut header = Header {
            delimiter,
            columns: columns.len(),
            partition: places.get("PartitionKey").copied().unwrap_or_default(),
            row: places.get("RowKey").copied().unwrap_or_default(),
            timestamp: places.get("Timestamp").copied(),
            properties: Vec::new(),
            typed_by: vec![None; columns.len()],
        };
        for (at, column) in columns.iter().enumerate() {
            let is_system = |name: &str| matches!(name, "PartitionKey" | "RowKey" | "Timestamp");
            match column.strip_suffix(TYPE_SUFFIX) {
                _ if is_system(column) || column.starts_with("odata.") => {}
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
                    header.properties.push(Property { id, name: column.clone(), value: at, types });
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
        vec![None; self.properties.len()]
    }
}

fn no_keys(input: &Arc<str>, line: &[u8]) -> Error {
    let reason = match std::str::from_utf8(line) {
        Err(error) => format!("the first line is not UTF-8 from byte {} on", error.valid_up_to() + 1),
        Ok(line) if line.trim().is_empty() => "the first line is empty; it names the columns".to_owned(),
        Ok(line) if line.trim_end().contains('\r') => "lines end in a carriage return alone; end them in LF".to_owned(),
        Ok(line) => {
            let shown: String = line.chars().take(60).collect();
            format!("the first line names no columns PartitionKey and RowKey: \"{}\"", shown.escape_debug())
        }
    };
    Error::Syntax { input: Arc::clone(input), place: Place::Line(1), reason }
}
