//! Values of any type as JSON.

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, LargeBinaryArray, LargeStringArray, ListArray, StructArray,
};
use arrow::datatypes::{DataType, Field};
use bytes::BytesMut;

use super::json::write_quoted;
use super::record::is_unnamed;
use super::{ColumnEncoder, Error, Format, SqlState, TextStyle, type_of};

type Result<T> = std::result::Result<T, Error>;

/// Writes the values of one column.
pub enum JsonWriter<'a> {
    Null,
    Bool(BooleanArray),
    Json(LargeBinaryArray),
    Jsonb(LargeStringArray),
    /// Not in quotes if it is finite.
    Number(ColumnEncoder<'a>),
    Text(ColumnEncoder<'a>),
    /// In ISO 8601; with the hour of the zone, or none.
    Moment {
        texts: ColumnEncoder<'a>,
        zoned: bool,
    },
    List {
        list: ListArray,
        items: Box<JsonWriter<'a>>,
    },
    Row {
        rows: StructArray,
        members: Vec<(String, JsonWriter<'a>)>,
    },
}

impl<'a> JsonWriter<'a> {
    /// Times are as in ISO 8601, whatever the session's style: `style` has that of dates.
    pub fn of(field: &Field, array: &ArrayRef, style: &'a TextStyle) -> Result<Self> {
        let texts = || ColumnEncoder::new(field, array, Format::Text, style);
        Ok(match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Bool(array.as_boolean().clone()),
            DataType::LargeBinary => Self::Json(array.as_binary::<i64>().clone()),
            DataType::LargeUtf8 => Self::Jsonb(array.as_string::<i64>().clone()),
            DataType::Timestamp(_, zone) => Self::Moment { texts: texts()?, zoned: zone.is_some() },
            DataType::List(item) => {
                let list = array.as_list::<i32>().clone();
                let items = Box::new(Self::of(item, list.values(), style)?);
                Self::List { list, items }
            }
            DataType::Struct(fields) => {
                let rows = array.as_struct().clone();
                let is_plain = is_unnamed(fields);
                let members = fields.iter().zip(rows.columns()).enumerate().map(|(at, (field, column))| {
                    let mut name = String::new();
                    match is_plain {
                        true => write_quoted(&format!("f{}", at + 1), &mut name),
                        false => write_quoted(field.name(), &mut name),
                    }
                    Ok((name, Self::of(field, column, style)?))
                });
                let members = members.collect::<Result<_>>()?;
                Self::Row { rows, members }
            }
            _ => match type_of(field).map(|ty| ty.name) {
                Some("int2" | "int4" | "int8" | "float4" | "float8" | "numeric") => Self::Number(texts()?),
                _ => Self::Text(texts()?),
            },
        })
    }

    fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(array) => array.is_null(row),
            Self::Json(array) => array.is_null(row),
            Self::Jsonb(array) => array.is_null(row),
            Self::Number(texts) | Self::Text(texts) | Self::Moment { texts, .. } => texts.is_null(row),
            Self::List { list, .. } => list.is_null(row),
            Self::Row { rows, .. } => rows.is_null(row),
        }
    }

    /// Whether values are arrays or rows, which `json_agg` writes in lines of their own.
    pub fn is_composite(&self) -> bool {
        matches!(self, Self::List { .. } | Self::Row { .. })
    }

    /// The value of a row, NULL as null.
    pub fn write(&self, row: usize, out: &mut String) -> Result<()> {
        self.write_lines(row, false, out)
    }

    /// As [`Self::write`]; parts of an array or a row begin with a line end if they are to be
    /// pretty.
    pub fn write_lines(&self, row: usize, pretty: bool, out: &mut String) -> Result<()> {
        if self.is_null(row) {
            out.push_str("null");
            return Ok(());
        }
        let separator = if pretty { ",\n " } else { "," };
        let mut buffer = BytesMut::new();
        match self {
            Self::Null => {}
            Self::Bool(array) => out.push_str(if array.value(row) { "true" } else { "false" }),
            Self::Json(array) => match std::str::from_utf8(array.value(row)) {
                Ok(text) => out.push_str(text),
                Err(_) => {
                    let message = "invalid input syntax for type json";
                    return Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message));
                }
            },
            Self::Jsonb(array) => out.push_str(array.value(row)),
            Self::Number(texts) => {
                let text = texts.text(row, &mut buffer)?;
                match text.ends_with(|last: char| last.is_ascii_digit()) {
                    true => out.push_str(text),
                    false => write_quoted(text, out),
                }
            }
            Self::Text(texts) => write_quoted(texts.text(row, &mut buffer)?, out),
            Self::Moment { texts, zoned } => {
                let text = texts.text(row, &mut buffer)?;
                write_quoted(&iso_8601(text, *zoned), out);
            }
            Self::List { list, items } => {
                let offsets = list.value_offsets();
                out.push('[');
                for (at, item) in (offsets[row] as usize..offsets[row + 1] as usize).enumerate() {
                    if at > 0 {
                        out.push_str(separator);
                    }
                    items.write(item, out)?;
                }
                out.push(']');
            }
            Self::Row { members, .. } => {
                out.push('{');
                for (at, (name, member)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push_str(separator);
                    }
                    out.push_str(name);
                    out.push(':');
                    member.write(row, out)?;
                }
                out.push('}');
            }
        }
        Ok(())
    }

    /// The value of a row as a key of an object.
    pub fn write_key(&self, row: usize, out: &mut String) -> Result<()> {
        let mut buffer = BytesMut::new();
        match self {
            Self::Bool(array) => write_quoted(if array.value(row) { "true" } else { "false" }, out),
            Self::Number(texts) | Self::Text(texts) => {
                write_quoted(texts.text(row, &mut buffer)?, out);
            }
            Self::Moment { .. } => self.write(row, out)?,
            _ => {
                let message = "key value must be scalar, not array, composite, or json";
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
            }
        }
        Ok(())
    }

    /// Whether the value of a row is NULL.
    pub fn has(&self, row: usize) -> bool {
        !self.is_null(row)
    }
}

/// `2020-01-02 03:04:05+00` as `2020-01-02T03:04:05+00:00`.
fn iso_8601(text: &str, zoned: bool) -> String {
    let (moment, era) = match text.strip_suffix(" BC") {
        Some(moment) => (moment, " BC"),
        None => (text, ""),
    };
    let mut iso = moment.replacen(' ', "T", 1);
    let whole_hours = |iso: &str| iso.rfind(['+', '-']).is_some_and(|sign| iso.len() - sign == 3);
    if zoned && whole_hours(&iso) {
        iso.push_str(":00");
    }
    iso + era
}
