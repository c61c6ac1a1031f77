//! One SQL value between Arrow and the body of a function.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanBuilder, Int32Builder, Int64Builder, ListArray, StringViewBuilder,
    TimestampMicrosecondBuilder, UInt32Builder,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, FieldRef, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow::datatypes::{TimeUnit, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use datafusion::common::{Result, ScalarValue, exec_err, internal_err};

use crate::functions::error::{Error, SqlState};
use crate::types::{POSTGRES_TYPE, SqlValue, TextStyle, parse_text, quoted_element, text_value, type_by_name};

/// One value, as far as these functions tell them apart.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Datum {
    Null,
    Bool(bool),
    Int(i64),
    Text(String),
    List(Vec<Datum>),
}

impl Datum {
    /// Reads row `row` of an array. What is none of the kinds above comes as its text in a style.
    pub(super) fn read(array: &ArrayRef, row: usize, style: &TextStyle) -> Result<Self> {
        if array.is_null(row) {
            return Ok(Self::Null);
        }
        Ok(match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Bool(array.as_boolean().value(row)),
            DataType::Int8 => Self::Int(array.as_primitive::<Int8Type>().value(row).into()),
            DataType::Int16 => Self::Int(array.as_primitive::<Int16Type>().value(row).into()),
            DataType::Int32 => Self::Int(array.as_primitive::<Int32Type>().value(row).into()),
            DataType::Int64 => Self::Int(array.as_primitive::<Int64Type>().value(row)),
            DataType::UInt8 => Self::Int(array.as_primitive::<UInt8Type>().value(row).into()),
            DataType::UInt16 => Self::Int(array.as_primitive::<UInt16Type>().value(row).into()),
            DataType::UInt32 => Self::Int(array.as_primitive::<UInt32Type>().value(row).into()),
            DataType::UInt64 => match i64::try_from(array.as_primitive::<UInt64Type>().value(row)) {
                Ok(value) => Self::Int(value),
                Err(_) => return exec_err!("bigint out of range"),
            },
            DataType::Utf8 => Self::Text(array.as_string::<i32>().value(row).to_owned()),
            DataType::LargeUtf8 => Self::Text(array.as_string::<i64>().value(row).to_owned()),
            DataType::Utf8View => Self::Text(array.as_string_view().value(row).to_owned()),
            DataType::List(_) => {
                let items = array.as_list::<i32>().value(row);
                Self::List((0..items.len()).map(|item| Self::read(&items, item, style)).collect::<Result<_>>()?)
            }
            data_type => text_value(&Field::new("", data_type.clone(), true), array, row, style)?.into(),
        })
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// What it takes, beside what a value of its size takes anyway.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::List(items) => items.iter().map(|item| size_of::<Self>() + item.bytes()).sum(),
            Self::Null | Self::Bool(_) | Self::Int(_) => 0,
        }
    }

    /// As PostgreSQL prints it.
    pub(super) fn text(&self) -> Option<String> {
        match self {
            Self::Null => None,
            Self::Bool(value) => Some(if *value { "t" } else { "f" }.to_owned()),
            Self::Int(value) => Some(value.to_string()),
            Self::Text(value) => Some(value.clone()),
            Self::List(items) => Some(array_text(items)),
        }
    }
}

impl From<Option<String>> for Datum {
    fn from(text: Option<String>) -> Self {
        text.map_or(Self::Null, Self::Text)
    }
}

impl From<String> for Datum {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Datum {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<bool> for Datum {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Datum {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u32> for Datum {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl From<Option<u32>> for Datum {
    fn from(value: Option<u32>) -> Self {
        value.map_or(Self::Null, Self::from)
    }
}

/// `{a,NULL,"b c"}`
fn array_text(items: &[Datum]) -> String {
    let items = items.iter().map(|item| match item {
        Datum::List(items) => array_text(items),
        item => item.text().map_or_else(|| "NULL".to_owned(), quoted_element),
    });
    format!("{{{}}}", items.collect::<Vec<_>>().join(","))
}

/// Reads `{a,NULL,"b c"}`: the items' texts, `None` where NULL stands.
///
/// One dimension; `array` is named in errors.
pub fn read_array_text(array: &str) -> std::result::Result<Vec<Option<String>>, Error> {
    let texts = type_by_name("_text").ok_or_else(|| Error::new(SqlState::INTERNAL_ERROR, "there is no type text[]"))?;
    let SqlValue::Array(items) = parse_text(texts, array, &TextStyle::default())? else { return Ok(Vec::new()) };
    let items = items.into_iter().map(|item| match item {
        SqlValue::Null => Ok(None),
        SqlValue::Text(text) => Ok(Some(text)),
        _ => {
            let message = format!("arrays of more than one dimension are not supported: \"{array}\"");
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
        }
    });
    items.collect()
}

/// What a function returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Returns {
    Bool,
    Int4,
    Int8,
    Text,
    Timestamptz,
    /// UInt32, of the type named: `oid`, `regclass`, ...
    Oid(&'static str),
    /// Utf8View, of the type named: `name`, `json`, ...
    Named(&'static str),
    /// A list of texts of the type named; `text` itself says nothing more.
    Texts(&'static str),
    Int4s,
    /// Nothing: a text that is always empty.
    Void,
}

impl Returns {
    /// The field of a result, with the type's name where Arrow does not tell.
    pub(super) fn field(self, name: &str) -> Field {
        let item = |data_type| DataType::new_list(data_type, true);
        let (data_type, postgres_type) = match self {
            Self::Bool => (DataType::Boolean, None),
            Self::Int4 => (DataType::Int32, None),
            Self::Int8 => (DataType::Int64, None),
            Self::Text => (DataType::Utf8View, None),
            Self::Timestamptz => (DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), None),
            Self::Oid(name) => (DataType::UInt32, Some(name)),
            Self::Named(name) => (DataType::Utf8View, Some(name)),
            Self::Texts("text") => (item(DataType::Utf8View), None),
            Self::Texts(name) => (item(DataType::Utf8View), Some(name)),
            Self::Int4s => (item(DataType::Int32), None),
            Self::Void => (DataType::Utf8View, Some("void")),
        };
        let field = Field::new(name, data_type, true);
        match postgres_type {
            None => field,
            Some(postgres_type) => field.with_metadata([(POSTGRES_TYPE.to_owned(), postgres_type.to_owned())].into()),
        }
    }

    /// An array of results.
    pub(super) fn array(self, values: &[Datum]) -> Result<ArrayRef> {
        build(self.field("").data_type(), values)
    }
}

/// Puts values into an array of a type; they have to be of its kind.
pub(super) fn build(data_type: &DataType, values: &[Datum]) -> Result<ArrayRef> {
    macro_rules! build {
        ($builder:expr, $pattern:pat => $value:expr) => {{
            let mut builder = $builder;
            for value in values {
                match value {
                    Datum::Null => builder.append_null(),
                    $pattern => builder.append_value($value),
                    other => return internal_err!("{other:?} as {data_type}"),
                }
            }
            Arc::new(builder.finish()) as ArrayRef
        }};
    }
    let narrow = |value: i64| i32::try_from(value).or_else(|_| exec_err!("integer out of range"));
    let unsigned = |value: i64| u32::try_from(value).or_else(|_| exec_err!("OID out of range"));
    Ok(match data_type {
        DataType::Boolean => build!(BooleanBuilder::new(), Datum::Bool(value) => *value),
        DataType::Int32 => build!(Int32Builder::new(), Datum::Int(value) => narrow(*value)?),
        DataType::Int64 => build!(Int64Builder::new(), Datum::Int(value) => *value),
        DataType::UInt32 => build!(UInt32Builder::new(), Datum::Int(value) => unsigned(*value)?),
        DataType::Utf8View => build!(StringViewBuilder::new(), Datum::Text(value) => value),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            build!(TimestampMicrosecondBuilder::new().with_timezone_opt(zone.clone()), Datum::Int(value) => *value)
        }
        DataType::List(item) => build_lists(item, values)?,
        other => return internal_err!("no results of type {other}"),
    })
}

fn build_lists(item: &FieldRef, values: &[Datum]) -> Result<ArrayRef> {
    let mut items = Vec::new();
    let mut lengths = Vec::with_capacity(values.len());
    for value in values {
        match value {
            Datum::Null => lengths.push(0),
            Datum::List(list) => {
                lengths.push(list.len());
                items.extend_from_slice(list);
            }
            other => return internal_err!("{other:?} as an array"),
        }
    }
    let nulls: NullBuffer = values.iter().map(|value| !value.is_null()).collect();
    let items = build(item.data_type(), &items)?;
    Ok(Arc::new(ListArray::try_new(Arc::clone(item), OffsetBuffer::from_lengths(lengths), items, Some(nulls))?))
}

/// The first and only value of an array.
pub(super) fn scalar(array: &ArrayRef) -> Result<ScalarValue> {
    ScalarValue::try_from_array(array, 0)
}
