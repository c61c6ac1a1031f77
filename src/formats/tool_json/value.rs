//! Taking values out of what tools wrap them in.

use std::borrow::Cow;

use super::JsonTool;
use super::tree::{Json, Members};
use crate::convert;
use crate::entity_json::{EntityJsonError, unannotated_number};
use rowkey_model::{EdmType, Value};

/// A value that was found; `None` is a null.
pub(super) type Found = Result<Option<Value>, EntityJsonError>;

fn refused(reason: impl Into<String>) -> EntityJsonError {
    EntityJsonError::Refused(reason.into())
}

/// The value of a property, of the type that is `declared` for it outside of the value, or else by
/// the tool's own rules.
pub(super) fn value(tool: JsonTool, property: &str, json: Json<'_>, declared: Option<EdmType>) -> Found {
    if let Some(edm_type) = declared {
        return typed(property, edm_type, json);
    }
    let value = match json {
        Json::Null => return Ok(None),
        Json::Bool(value) => Value::Boolean(value),
        Json::Number(text) => {
            unannotated_number(text).map_err(|rejected| rejected.named(format!("property {property}")))?
        }
        Json::NotFinite(text) => return typed(property, EdmType::Double, Json::Text(Cow::Borrowed(text))),
        Json::Text(text) if tool == JsonTool::Python => of_python(text),
        Json::Text(text) => Value::String(text.into_owned()),
        Json::Object(members) => return unwrapped(property, members),
        Json::Array(mut items) => match (&items[..], tool) {
            ([_, Json::Text(name)], _) if EdmType::parse(name).is_some() => {
                let edm_type = EdmType::parse(name).unwrap_or(EdmType::String);
                return typed(property, edm_type, items.swap_remove(0));
            }
            (_, JsonTool::MigrationTool) => match byte_numbers(&items) {
                Some(bytes) => Value::Binary(bytes),
                None => return Err(refused(format!("property {property} has an array, and not one of bytes"))),
            },
            _ => return Err(refused(format!("property {property} has an array; values of entities are not nested"))),
        },
    };
    Ok(Some(value))
}

/// Python's `str` of bytes and of times; other texts are texts.
fn of_python(text: Cow<'_, str>) -> Value {
    if let Some(bytes) = convert::python_bytes(&text) {
        return Value::Binary(bytes);
    }
    let has_form = text.len() >= 25 && text.as_bytes()[10] == b' ' && text.ends_with("+00:00");
    match has_form.then(|| convert::date_time(&text)) {
        Some(Ok(at)) => Value::DateTime(at),
        _ => Value::String(text.into_owned()),
    }
}

/// A value whose type is known.
pub(super) fn typed(property: &str, edm_type: EdmType, json: Json<'_>) -> Found {
    let named =
        |rejected: rowkey_model::Rejected| EntityJsonError::from(rejected.named(format!("property {property}")));
    let form = match json {
        Json::Null => return Ok(None),
        Json::Text(text) if edm_type == EdmType::String => return Ok(Some(Value::String(text.into_owned()))),
        Json::Text(text) => {
            let read = Value::from_text(edm_type, &text)
                .or_else(|rejected| convert::from_text(edm_type, &text).map_err(|_| rejected));
            return read.map(Some).map_err(named);
        }
        Json::Number(text) if edm_type.is_numeric() || edm_type == EdmType::String => {
            return convert::from_text(edm_type, text).map(Some).map_err(named);
        }
        Json::NotFinite(text) if edm_type == EdmType::Double => {
            return Value::from_text(edm_type, text).map(Some).map_err(named);
        }
        Json::Bool(value) if edm_type == EdmType::Boolean => return Ok(Some(Value::Boolean(value))),
        Json::Array(items) if edm_type == EdmType::Binary => match byte_numbers(&items) {
            Some(bytes) => return Ok(Some(Value::Binary(bytes))),
            None => "an array that is not one of bytes",
        },
        Json::Object(members) => match unwrapped(property, members)? {
            Some(value) if value.edm_type() == edm_type => return Ok(Some(value)),
            None => return Ok(None),
            Some(_) => "an object of another type",
        },
        Json::Number(_) | Json::NotFinite(_) => "a number",
        Json::Bool(_) => "a boolean",
        Json::Array(_) => "an array",
    };
    Err(refused(format!("property {property} is declared as Edm.{edm_type} and has {form}")))
}

/// Types by their numbers in .NET's `EdmType`.
const NUMBERED: [EdmType; 8] = [
    EdmType::String,
    EdmType::Binary,
    EdmType::Boolean,
    EdmType::DateTime,
    EdmType::Double,
    EdmType::Guid,
    EdmType::Int32,
    EdmType::Int64,
];

/// The type of a number as .NET tools write it.
pub(super) fn numbered_type(number: &str) -> Option<EdmType> {
    NUMBERED.get(number.parse::<usize>().ok()?).copied()
}

/// Removes a member and gives its value.
pub(super) fn take<'a>(members: &mut Members<'a>, key: &str) -> Option<Json<'a>> {
    let at = members.iter().position(|(name, _)| name == key)?;
    Some(members.swap_remove(at).1)
}

fn unwrapped(property: &str, mut members: Members<'_>) -> Found {
    let unknown = |name: &str| {
        let shown: String = name.chars().take(40).collect();
        refused(format!(
            "property {property} has the type \"{}\", which is none of the service's",
            shown.escape_debug()
        ))
    };
    let name_of = |json: Json<'_>| match json {
        Json::Text(name) => convert::type_named(&name).ok_or_else(|| unknown(&name)),
        Json::Number(number) => numbered_type(number).ok_or_else(|| unknown(number)),
        _ => Err(refused(format!("the type of property {property} is neither a name nor a number"))),
    };
    if let Some(inner) = take(&mut members, "_") {
        // The older JavaScript SDK names the types that JSON does not have.
        return match take(&mut members, "$") {
            Some(Json::Text(name)) if &*name == "Edm.Double" && inner == Json::Null => Err(refused(format!(
                "property {property} is a Double written as null, which NaN and the infinities become: which one is not known"
            ))),
            Some(edm_type) => typed(property, name_of(edm_type)?, inner),
            None => value(JsonTool::LegacyJavaScript, property, inner, None),
        };
    }
    if let Some(edm_type) = take(&mut members, "edm_type") {
        let edm_type = name_of(edm_type)?;
        return typed(property, edm_type, take(&mut members, "value").unwrap_or(Json::Null));
    }
    if let Some(edm_type) = take(&mut members, "EdmType") {
        let edm_type = name_of(edm_type)?;
        // Beside it stands the value, under the property's name or as `Int32Value`.
        return match members.len() {
            0 => Ok(None),
            1 => typed(property, edm_type, members.swap_remove(0).1),
            _ => Err(refused(format!("property {property} has several values beside its type"))),
        };
    }
    match (take(&mut members, "type"), take(&mut members, "data"), take(&mut members, "value")) {
        // A Buffer of Node.
        (Some(Json::Text(name)), Some(Json::Array(items)), None) if name == "Buffer" => match byte_numbers(&items) {
            Some(bytes) => Ok(Some(Value::Binary(bytes))),
            None => Err(refused(format!("property {property} has a Buffer with something else than bytes in it"))),
        },
        (Some(name), None, Some(inner)) => typed(property, name_of(name)?, inner),
        _ => Err(refused(format!("property {property} has an object; values of entities are not nested"))),
    }
}

/// An array of numbers that are bytes, all of them.
fn byte_numbers(items: &[Json<'_>]) -> Option<Vec<u8>> {
    let byte = |item: &Json<'_>| match item {
        Json::Number(text) => text.parse().ok(),
        _ => None,
    };
    items.iter().map(byte).collect()
}
