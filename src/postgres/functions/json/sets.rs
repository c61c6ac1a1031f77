//! Functions that return a row for each part of a document, as arrays of the rows.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewBuilder, StructArray};
use arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::Result;

use super::super::kind::Kind;
use super::super::scalar::{Arguments, Call, Function, immutable};
use super::super::value_budget::Reserved;
use super::documents::{Built, Documents, Lengths};
use super::{fits, invalid, list_of};
use crate::types::json::{Json, JsonKind};

/// What a part takes in a list, beside its text.
const PART_BYTES: usize = 16;
/// The parts of a shorter document are not counted before they are made.
const SHORT_BYTES: usize = 4 << 10;

pub(super) static FUNCTIONS: [Function; 10] = [
    immutable("json_array_elements", 1..=1, |arguments| of(arguments, Kind::Json, list_of), elements),
    immutable("jsonb_array_elements", 1..=1, |arguments| of(arguments, Kind::Jsonb, list_of), elements),
    immutable("json_array_elements_text", 1..=1, |arguments| of(arguments, Kind::Json, texts), elements),
    immutable("jsonb_array_elements_text", 1..=1, |arguments| of(arguments, Kind::Jsonb, texts), elements),
    immutable("json_object_keys", 1..=1, |arguments| of(arguments, Kind::Json, texts), keys),
    immutable("jsonb_object_keys", 1..=1, |arguments| of(arguments, Kind::Jsonb, texts), keys),
    immutable("json_each", 1..=1, |arguments| of(arguments, Kind::Json, pairs), each),
    immutable("jsonb_each", 1..=1, |arguments| of(arguments, Kind::Jsonb, pairs), each),
    immutable("json_each_text", 1..=1, |arguments| of(arguments, Kind::Json, text_pairs), each),
    immutable("jsonb_each_text", 1..=1, |arguments| of(arguments, Kind::Jsonb, text_pairs), each),
];

fn of(arguments: &Arguments, kind: Kind, rows: fn(DataType) -> DataType) -> Result<DataType> {
    match kind.arrow() {
        Some(document) if fits(arguments, 0, kind) => Ok(rows(document)),
        _ => arguments.undefined(),
    }
}

fn texts(_: DataType) -> DataType {
    list_of(DataType::Utf8View)
}

fn pairs(document: DataType) -> DataType {
    list_of(DataType::Struct(pair(document)))
}

fn text_pairs(_: DataType) -> DataType {
    pairs(DataType::Utf8View)
}

fn pair(value: DataType) -> Fields {
    Fields::from(vec![Field::new("key", DataType::Utf8View, true), Field::new("value", value, true)])
}

fn item_type(call: &Call) -> DataType {
    match call.returns {
        DataType::List(item) => item.data_type().clone(),
        other => other.clone(),
    }
}

/// The parts of a document, if the list of them is within the budget.
fn parts_within<'a>(json: Json<'a>, reserved: &mut Reserved) -> Result<Vec<(Cow<'a, str>, Json<'a>)>> {
    if json.text().len() > SHORT_BYTES {
        reserved.value(json.count()?.saturating_mul(PART_BYTES))?;
    }
    Ok(json.parts()?)
}

fn elements(call: &Call) -> Result<ArrayRef> {
    let documents = Documents::of(call, 0)?;
    let (mut built, mut lengths, mut reserved) = (Built::of(&item_type(call)), Lengths::default(), call.reserve());
    let is_json = matches!(documents, Documents::Json(_));
    for row in 0..call.rows {
        let Some(json) = documents.get(row, matches!(built, Built::Text(_)))? else {
            lengths.push(None);
            continue;
        };
        match json.kind {
            JsonKind::Array => {}
            JsonKind::Object if is_json => return invalid(format!("cannot call {} on a non-array", call.function)),
            JsonKind::Object => return invalid("cannot extract elements from an object"),
            _ if is_json => return invalid(format!("cannot call {} on a scalar", call.function)),
            _ => return invalid("cannot extract elements from a scalar"),
        }
        let parts = parts_within(json, &mut reserved)?;
        lengths.push(Some(parts.len()));
        parts.into_iter().try_for_each(|(_, part)| built.append_part(Some(part)))?;
    }
    lengths.lists(built.finish())
}

fn keys(call: &Call) -> Result<ArrayRef> {
    let documents = Documents::of(call, 0)?;
    let (mut built, mut lengths, mut reserved) = (StringViewBuilder::new(), Lengths::default(), call.reserve());
    for row in 0..call.rows {
        let Some(json) = documents.get(row, true)? else {
            lengths.push(None);
            continue;
        };
        match json.kind {
            JsonKind::Object => {}
            JsonKind::Array => return invalid(format!("cannot call {} on an array", call.function)),
            _ => return invalid(format!("cannot call {} on a scalar", call.function)),
        }
        let parts = parts_within(json, &mut reserved)?;
        lengths.push(Some(parts.len()));
        parts.iter().for_each(|(key, _)| built.append_value(key));
    }
    lengths.lists(Arc::new(built.finish()))
}

fn each(call: &Call) -> Result<ArrayRef> {
    let documents = Documents::of(call, 0)?;
    let value_type = match item_type(call) {
        DataType::Struct(fields) => fields.find("value").map_or(DataType::Utf8View, |(_, f)| f.data_type().clone()),
        other => other,
    };
    let (mut names, mut values) = (StringViewBuilder::new(), Built::of(&value_type));
    let (mut lengths, mut reserved) = (Lengths::default(), call.reserve());
    for row in 0..call.rows {
        let Some(json) = documents.get(row, true)? else {
            lengths.push(None);
            continue;
        };
        if json.kind != JsonKind::Object {
            return not_an_object(call, &documents, json);
        }
        let parts = parts_within(json, &mut reserved)?;
        lengths.push(Some(parts.len()));
        for (key, value) in parts {
            names.append_value(key);
            values.append_part(Some(value))?;
        }
    }
    let columns: Vec<ArrayRef> = vec![Arc::new(names.finish()), values.finish()];
    lengths.lists(Arc::new(StructArray::try_new(pair(value_type), columns, None)?))
}

fn not_an_object(call: &Call, documents: &Documents, json: Json) -> Result<ArrayRef> {
    match (documents, json.kind) {
        (Documents::Jsonb(_), _) => invalid(format!("cannot call {} on a non-object", call.function)),
        (_, JsonKind::Array) => invalid("cannot deconstruct an array as an object"),
        _ => invalid("cannot deconstruct a scalar"),
    }
}
