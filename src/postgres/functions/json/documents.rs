//! Columns of JSON, read and built.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, LargeBinaryArray, LargeBinaryBuilder, LargeStringArray, LargeStringBuilder, ListArray,
    StringViewBuilder,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryReservation;

use super::super::cast::cast_array;
use super::super::error::{Error, SqlState, fail};
use super::super::frames::FrameLimits;
use super::super::kind::Kind;
use super::super::scalar::Call;
use super::super::workspace::reserve_tree;
use super::list_of;
use crate::types::json::{Json, Tree};
use crate::types::{SqlValue, array_of, parse_text, type_by_name};

/// A key and its value.
const PAIR: usize = 2;

/// The documents of an argument.
pub(super) enum Documents {
    Json(LargeBinaryArray),
    Jsonb(LargeStringArray),
}

impl Documents {
    /// An argument as it is, or a literal as what the function's name says.
    pub(super) fn of(call: &Call, place: usize) -> Result<Self> {
        if call.kind(place) == Kind::Json || (call.kind(place) != Kind::Jsonb && !call.function.starts_with("jsonb")) {
            return Ok(Self::Json(call.as_type(place, &DataType::LargeBinary)?.as_binary::<i64>().clone()));
        }
        Ok(Self::Jsonb(jsonb(call, place)?))
    }

    /// The text of a row; None for NULL.
    pub(super) fn text(&self, row: usize) -> Result<Option<&str>> {
        match self {
            Self::Json(array) if array.is_valid(row) => match std::str::from_utf8(array.value(row)) {
                Ok(text) => Ok(Some(text)),
                Err(_) => fail(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json"),
            },
            Self::Jsonb(array) if array.is_valid(row) => Ok(Some(array.value(row))),
            _ => Ok(None),
        }
    }

    /// What lies in the text of a row; in a `json` whether its strings say something is checked if
    /// it is `decoded`.
    pub(super) fn get(&self, row: usize, decoded: bool) -> Result<Option<Json<'_>>> {
        let read = match self {
            Self::Json(_) if decoded => Json::read_decoded,
            _ => Json::read,
        };
        Ok(self.text(row)?.map(read).transpose()?)
    }
}

/// The `jsonb` of an argument.
fn jsonb(call: &Call, place: usize) -> Result<LargeStringArray> {
    Ok(call.as_type(place, &DataType::LargeUtf8)?.as_string::<i64>().clone())
}

/// A column of `jsonb` whose documents are taken apart one by one, in memory of the statement.
pub(super) struct Trees {
    texts: LargeStringArray,
    _largest: Option<MemoryReservation>,
}

impl Trees {
    /// The `jsonb` of an argument.
    pub(super) fn of(call: &Call, place: usize) -> Result<Self> {
        let texts = jsonb(call, place)?;
        let largest = reserve_tree(call.options.extensions.get::<FrameLimits>(), &texts)?;
        Ok(Self { texts, _largest: largest })
    }

    /// The document of a row; None for NULL.
    pub(super) fn get(&self, row: usize) -> Result<Option<Tree<'_>>> {
        if self.texts.is_null(row) {
            return Ok(None);
        }
        Ok(Some(Tree::read(self.texts.value(row))?))
    }

    pub(super) fn texts(&self) -> &LargeStringArray {
        &self.texts
    }
}

/// Rows of texts: the steps of a path, or keys.
pub(super) struct TextLists(ListArray);

impl TextLists {
    pub(super) fn of(call: &Call, place: usize) -> Result<Self> {
        Ok(Self(call.as_type(place, &list_of(DataType::Utf8View))?.as_list::<i32>().clone()))
    }

    /// Pairs of texts, one behind the other: those of an array of two columns as well.
    pub(super) fn of_pairs(call: &Call, place: usize) -> Result<Self> {
        let array = call.arg(place)?;
        let read = match (Kind::of(array.data_type()), type_by_name("_text")) {
            (Kind::Text, Some(wanted)) => {
                let texts = call.text(place)?;
                let values = texts.iter().map(|text| match text {
                    Some(text) => parse_text(wanted, text, call.zone.style()),
                    None => Ok(SqlValue::Null),
                });
                let values = values.collect::<Result<Vec<_>, Error>>()?;
                array_of(wanted, &values)?
            }
            _ => Arc::clone(array),
        };
        let Some(rows) = read.as_list_opt::<i32>() else { return Self::of(call, place) };
        let Some(columns) = rows.values().as_list_opt::<i32>() else {
            return Ok(Self(cast_array(&read, &list_of(DataType::Utf8View), &call.zone)?.as_list::<i32>().clone()));
        };
        if columns.values().as_list_opt::<i32>().is_some() {
            return fail(SqlState::ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts");
        }
        if columns.offsets().lengths().any(|width| width != PAIR) {
            return fail(SqlState::ARRAY_SUBSCRIPT_ERROR, "array must have two columns");
        }
        let values = cast_array(columns.values(), &DataType::Utf8View, &call.zone)?;
        let lengths = rows.offsets().lengths().map(|length| length * PAIR);
        let item = Arc::new(Field::new_list_field(DataType::Utf8View, true));
        let nulls = rows.nulls().cloned();
        Ok(Self(ListArray::try_new(item, OffsetBuffer::from_lengths(lengths), values, nulls)?))
    }

    /// The texts of a row; None for NULL.
    pub(super) fn get(&self, row: usize) -> Result<Option<Vec<Option<String>>>> {
        if self.0.is_null(row) {
            return Ok(None);
        }
        let texts = self.0.value(row);
        match texts.as_string_view_opt() {
            Some(texts) => Ok(Some(texts.iter().map(|text| text.map(str::to_owned)).collect())),
            None => fail(SqlState::ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts"),
        }
    }
}

/// Steps as a change of a value takes them.
pub(super) fn borrowed(steps: &[Option<String>]) -> Vec<Option<Cow<'_, str>>> {
    steps.iter().map(|step| step.as_deref().map(Cow::Borrowed)).collect()
}

/// A column of one of the three types of text.
pub(super) enum Built {
    Json(LargeBinaryBuilder),
    Jsonb(LargeStringBuilder),
    Text(StringViewBuilder),
}

impl Built {
    pub(super) fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::LargeBinary => Self::Json(LargeBinaryBuilder::new()),
            DataType::LargeUtf8 => Self::Jsonb(LargeStringBuilder::new()),
            _ => Self::Text(StringViewBuilder::new()),
        }
    }

    pub(super) fn append(&mut self, text: Option<&str>) {
        match self {
            Self::Json(built) => built.append_option(text.map(str::as_bytes)),
            Self::Jsonb(built) => built.append_option(text),
            Self::Text(built) => built.append_option(text),
        }
    }

    /// A part of a document: in a column of texts what it says.
    pub(super) fn append_part(&mut self, part: Option<Json>) -> Result<()> {
        match (&*self, part) {
            (Self::Text(_), Some(part)) => {
                let plain = part.plain()?;
                self.append(plain.as_deref());
            }
            (_, part) => self.append(part.map(Json::text)),
        }
        Ok(())
    }

    pub(super) fn finish(self) -> ArrayRef {
        match self {
            Self::Json(mut built) => Arc::new(built.finish()),
            Self::Jsonb(mut built) => Arc::new(built.finish()),
            Self::Text(mut built) => Arc::new(built.finish()),
        }
    }
}

/// How many items the lists of a column have; None for NULL.
#[derive(Default)]
pub(super) struct Lengths(Vec<Option<usize>>);

impl Lengths {
    pub(super) fn push(&mut self, length: Option<usize>) {
        self.0.push(length);
    }

    pub(super) fn lists(self, items: ArrayRef) -> Result<ArrayRef> {
        let item = Arc::new(Field::new_list_field(items.data_type().clone(), true));
        let nulls: NullBuffer = self.0.iter().map(Option::is_some).collect();
        let offsets = OffsetBuffer::from_lengths(self.0.iter().map(|length| length.unwrap_or(0)));
        Ok(Arc::new(ListArray::try_new(item, offsets, items, Some(nulls))?))
    }
}
