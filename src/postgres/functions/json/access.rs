//! Parts taken out of a document: `->`, `->>`, `#>`, `#>>`, and what tells about one.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int32Array, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::super::kind::Kind;
use super::super::scalar::{Arguments, Call, Function, immutable};
use super::documents::{Built, Documents, TextLists};
use super::{JSON_GET, JSON_GET_PATH, JSON_GET_PATH_TEXT, JSON_GET_TEXT};
use super::{fits, invalid, is_path, is_text, no_operator};
use crate::types::json::{Json, JsonKind};

pub(super) static FUNCTIONS: [Function; 12] = [
    immutable(JSON_GET, 2..=2, |arguments| part(arguments, "->"), get),
    immutable(JSON_GET_TEXT, 2..=2, |arguments| part(arguments, "->>").map(|_| DataType::Utf8View), get),
    immutable(JSON_GET_PATH, 2..=2, |arguments| at_path(arguments, "#>"), get_path),
    immutable(JSON_GET_PATH_TEXT, 2..=2, |arguments| at_path(arguments, "#>>").map(|_| DataType::Utf8View), get_path),
    immutable("json_extract_path", 1..=usize::MAX, |arguments| steps(arguments, Kind::Json), get_steps),
    immutable("jsonb_extract_path", 1..=usize::MAX, |arguments| steps(arguments, Kind::Jsonb), get_steps),
    immutable("json_extract_path_text", 1..=usize::MAX, |arguments| steps_text(arguments, Kind::Json), get_steps),
    immutable("jsonb_extract_path_text", 1..=usize::MAX, |arguments| steps_text(arguments, Kind::Jsonb), get_steps),
    immutable("json_array_length", 1..=1, |arguments| of_one(arguments, Kind::Json, DataType::Int32), lengths),
    immutable("jsonb_array_length", 1..=1, |arguments| of_one(arguments, Kind::Jsonb, DataType::Int32), lengths),
    immutable("json_typeof", 1..=1, |arguments| of_one(arguments, Kind::Json, DataType::Utf8View), kinds),
    immutable("jsonb_typeof", 1..=1, |arguments| of_one(arguments, Kind::Jsonb, DataType::Utf8View), kinds),
];

/// The type of what is looked into.
fn document(arguments: &Arguments) -> Option<DataType> {
    match arguments.kind(0) {
        kind @ (Kind::Json | Kind::Jsonb) => kind.arrow(),
        Kind::Null => Some(DataType::LargeUtf8),
        _ => None,
    }
}

fn part(arguments: &Arguments, operator: &str) -> Result<DataType> {
    match document(arguments) {
        Some(document) if is_text(arguments, 1) || arguments.kind(1).is_integer() => Ok(document),
        _ => no_operator(operator, arguments),
    }
}

fn at_path(arguments: &Arguments, operator: &str) -> Result<DataType> {
    match document(arguments) {
        Some(document) if is_path(arguments, 1) => Ok(document),
        _ => no_operator(operator, arguments),
    }
}

fn steps(arguments: &Arguments, kind: Kind) -> Result<DataType> {
    match kind.arrow() {
        Some(document) if fits(arguments, 0, kind) && (1..arguments.types.len()).all(|at| is_text(arguments, at)) => {
            Ok(document)
        }
        _ => arguments.undefined(),
    }
}

fn steps_text(arguments: &Arguments, kind: Kind) -> Result<DataType> {
    steps(arguments, kind).map(|_| DataType::Utf8View)
}

pub(super) fn of_one(arguments: &Arguments, kind: Kind, returns: DataType) -> Result<DataType> {
    if fits(arguments, 0, kind) { Ok(returns) } else { arguments.undefined() }
}

fn get(call: &Call) -> Result<ArrayRef> {
    let documents = Documents::of(call, 0)?;
    let mut built = Built::of(call.returns);
    if call.kind(1).is_integer() {
        let places = call.int8(1)?;
        let of_scalar = matches!(documents, Documents::Jsonb(_));
        for row in 0..call.rows {
            if places.is_null(row) {
                built.append(None);
                continue;
            }
            let found = match documents.get(row, true)? {
                // A scalar is an array of itself.
                Some(json) if of_scalar && json.kind.is_scalar() => matches!(places.value(row), 0 | -1).then_some(json),
                Some(json) => json.element(places.value(row))?,
                None => None,
            };
            built.append_part(found)?;
        }
        return Ok(built.finish());
    }
    let keys = call.text(1)?;
    for row in 0..call.rows {
        if keys.is_null(row) {
            built.append(None);
            continue;
        }
        let found = match documents.get(row, true)? {
            Some(json) => json.field(keys.value(row))?,
            None => None,
        };
        built.append_part(found)?;
    }
    Ok(built.finish())
}

fn get_path(call: &Call) -> Result<ArrayRef> {
    let (documents, paths) = (Documents::of(call, 0)?, TextLists::of(call, 1)?);
    let mut built = Built::of(call.returns);
    for row in 0..call.rows {
        // Nothing is read beside a NULL.
        let path: Option<Vec<String>> = paths.get(row)?.and_then(|path| path.into_iter().collect());
        built.append_part(match path {
            Some(path) => at(documents.get(row, true)?, &path)?,
            None => None,
        })?;
    }
    Ok(built.finish())
}

fn get_steps(call: &Call) -> Result<ArrayRef> {
    let documents = Documents::of(call, 0)?;
    let steps = (1..call.len()).map(|place| call.text(place)).collect::<Result<Vec<StringViewArray>>>()?;
    let mut built = Built::of(call.returns);
    for row in 0..call.rows {
        let path: Option<Vec<String>> =
            steps.iter().map(|steps| steps.is_valid(row).then(|| steps.value(row).to_owned())).collect();
        built.append_part(match path {
            Some(path) => at(documents.get(row, true)?, &path)?,
            None => None,
        })?;
    }
    Ok(built.finish())
}

/// None: there is no document, or a step leads nowhere.
fn at<'a>(json: Option<Json<'a>>, path: &[String]) -> Result<Option<Json<'a>>> {
    match json {
        Some(json) => Ok(json.at_path(path)?),
        None => Ok(None),
    }
}

fn lengths(call: &Call) -> Result<ArrayRef> {
    let documents = Documents::of(call, 0)?;
    let length = |row| match documents.get(row, false)? {
        None => Ok(None),
        Some(json) => match json.kind {
            JsonKind::Array => Ok(i32::try_from(json.count()?).ok()),
            JsonKind::Object => invalid("cannot get array length of a non-array"),
            _ => invalid("cannot get array length of a scalar"),
        },
    };
    Ok(Arc::new((0..call.rows).map(length).collect::<Result<Int32Array>>()?))
}

fn kinds(call: &Call) -> Result<ArrayRef> {
    let documents = Documents::of(call, 0)?;
    let kind = |row| Ok(documents.get(row, false)?.map(|json| json.kind.name()));
    Ok(Arc::new((0..call.rows).map(kind).collect::<Result<StringViewArray>>()?))
}
