//! `json_object`: an object of texts.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::super::error::{SqlState, fail};
use super::super::scalar::{Arguments, Call, Function, immutable};
use super::documents::{Built, TextLists};
use super::is_path;
use crate::types::json::{normalized, write_quoted};

pub(super) static FUNCTIONS: [Function; 2] = [
    immutable("json_object", 1..=2, |arguments| returns(arguments, DataType::LargeBinary), objects),
    immutable("jsonb_object", 1..=2, |arguments| returns(arguments, DataType::LargeUtf8), objects),
];

fn returns(arguments: &Arguments, document: DataType) -> Result<DataType> {
    let texts = (0..arguments.types.len()).all(|place| is_path(arguments, place));
    if texts { Ok(document) } else { arguments.undefined() }
}

fn objects(call: &Call) -> Result<ArrayRef> {
    let keys = if call.len() > 1 { TextLists::of(call, 0)? } else { TextLists::of_pairs(call, 0)? };
    let values = if call.len() > 1 { Some(TextLists::of(call, 1)?) } else { None };
    let mut built = Built::of(call.returns);
    for row in 0..call.rows {
        let Some(keys) = keys.get(row)? else {
            built.append(None);
            continue;
        };
        let pairs: Vec<(Option<String>, Option<String>)> = match &values {
            None if !keys.len().is_multiple_of(2) => {
                return fail(SqlState::ARRAY_SUBSCRIPT_ERROR, "array must have even number of elements");
            }
            None => keys.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect(),
            Some(values) => match values.get(row)? {
                None => {
                    built.append(None);
                    continue;
                }
                Some(values) if values.len() != keys.len() => {
                    return fail(SqlState::ARRAY_SUBSCRIPT_ERROR, "mismatched array dimensions");
                }
                Some(values) => keys.into_iter().zip(values).collect(),
            },
        };
        let object = written(&pairs)?;
        match built {
            Built::Jsonb(_) => built.append(Some(&normalized(&object)?)),
            _ => built.append(Some(&object)),
        }
    }
    Ok(built.finish())
}

fn written(pairs: &[(Option<String>, Option<String>)]) -> Result<String> {
    let mut out = String::from("{");
    for (at, (key, value)) in pairs.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        let Some(key) = key else {
            return fail(SqlState::NULL_VALUE_NOT_ALLOWED, "null value not allowed for object key");
        };
        write_quoted(key, &mut out);
        out.push_str(" : ");
        match value {
            Some(value) => write_quoted(value, &mut out),
            None => out.push_str("null"),
        }
    }
    out.push('}');
    Ok(out)
}
