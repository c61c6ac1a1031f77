//! Documents that rows are read from: `json_to_record` and its like are these and what takes their
//! fields.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::super::kind::Kind;
use super::super::scalar::{Arguments, Call, Function, immutable};
use super::documents::{Built, Documents};
use super::{fits, invalid};
use crate::types::json::{Json, JsonKind};

pub(super) static FUNCTIONS: [Function; 4] = [
    immutable("json_record", 1..=1, |arguments| document(arguments, Kind::Json), one),
    immutable("jsonb_record", 1..=1, |arguments| document(arguments, Kind::Jsonb), one),
    immutable("json_records", 1..=1, |arguments| document(arguments, Kind::Json), several),
    immutable("jsonb_records", 1..=1, |arguments| document(arguments, Kind::Jsonb), several),
];

fn document(arguments: &Arguments, kind: Kind) -> Result<DataType> {
    match kind.arrow() {
        Some(document) if fits(arguments, 0, kind) => Ok(document),
        _ => arguments.undefined(),
    }
}

fn one(call: &Call) -> Result<ArrayRef> {
    checked(call, |json| match json.kind {
        JsonKind::Object => Ok(()),
        kind => not_called(call, "to_record", kind),
    })
}

fn several(call: &Call) -> Result<ArrayRef> {
    checked(call, |json| {
        if json.kind != JsonKind::Array {
            return not_called(call, "to_recordset", json.kind);
        }
        if json.parts()?.iter().any(|(_, part)| part.kind != JsonKind::Object) {
            return invalid(format!("argument of {}_to_recordset must be an array of objects", family(call)));
        }
        Ok(())
    })
}

/// The documents as they are, if they are what is wanted.
fn checked(call: &Call, check: impl Fn(&Json) -> Result<()>) -> Result<ArrayRef> {
    let documents = Documents::of(call, 0)?;
    let mut built = Built::of(call.returns);
    for row in 0..call.rows {
        if let Some(json) = documents.get(row, true)? {
            check(&json)?;
        }
        built.append(documents.text(row)?);
    }
    Ok(built.finish())
}

fn not_called<T>(call: &Call, function: &str, kind: JsonKind) -> Result<T> {
    let what = match kind {
        JsonKind::Object => "an object",
        JsonKind::Array => "an array",
        _ => "a scalar",
    };
    invalid(format!("cannot call {}_{function} on {what}", family(call)))
}

fn family(call: &Call) -> &'static str {
    if call.function.starts_with("jsonb") { "jsonb" } else { "json" }
}
