//! Values taken out of JSON: `->`, `->>`, `#>`, `#>>`, and the functions beside them. Of a text
//! that is not cast to `json`, too.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::datum::{Datum, Returns, read_array_text};
use super::error::{FunctionError, SqlState};
use super::function::{ANY, arity};
use super::json_text::{Json, JsonKind};
use crate::types::POSTGRES_TYPE;

/// Internal name of the operator `->`.
pub const JSON_GET: &str = "json_get";
/// Internal name of the operator `->>`.
pub const JSON_GET_TEXT: &str = "json_get_text";
/// Internal name of the operator `#>`.
pub const JSON_GET_PATH: &str = "json_get_path";
/// Internal name of the operator `#>>`.
pub const JSON_GET_PATH_TEXT: &str = "json_get_path_text";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Access {
    /// By a key, or by a place if that is a number.
    Part,
    /// By an array of steps.
    Path,
    /// By steps that are arguments.
    Steps,
    Length,
    Kind,
    /// All elements of an array.
    Elements,
    Keys,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct JsonAccess {
    name: &'static str,
    access: Access,
    as_text: bool,
    signature: Signature,
}

pub(super) fn functions() -> Vec<Arc<ScalarUDF>> {
    [
        (JSON_GET, Access::Part, false),
        (JSON_GET_TEXT, Access::Part, true),
        (JSON_GET_PATH, Access::Path, false),
        (JSON_GET_PATH_TEXT, Access::Path, true),
        ("json_extract_path", Access::Steps, false),
        ("json_extract_path_text", Access::Steps, true),
        ("jsonb_extract_path", Access::Steps, false),
        ("jsonb_extract_path_text", Access::Steps, true),
        ("json_array_length", Access::Length, true),
        ("jsonb_array_length", Access::Length, true),
        ("json_typeof", Access::Kind, true),
        ("jsonb_typeof", Access::Kind, true),
        ("json_array_elements", Access::Elements, false),
        ("json_array_elements_text", Access::Elements, true),
        ("jsonb_array_elements", Access::Elements, false),
        ("jsonb_array_elements_text", Access::Elements, true),
        ("json_object_keys", Access::Keys, true),
        ("jsonb_object_keys", Access::Keys, true),
    ]
    .into_iter()
    .map(|(name, access, as_text)| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(JsonAccess { name, access, as_text, signature }))
    })
    .collect()
}

impl JsonAccess {
    /// `json` or `jsonb`, as what is looked into.
    fn json(&self, fields: &[FieldRef]) -> &'static str {
        let of = fields.first().and_then(|field| field.metadata().get(POSTGRES_TYPE)).map(String::as_str);
        if self.name.starts_with("jsonb") || of == Some("jsonb") { "jsonb" } else { "json" }
    }

    fn returns(&self, fields: &[FieldRef]) -> Returns {
        match (self.access, self.as_text) {
            (Access::Length, _) => Returns::Int4,
            (Access::Kind, _) | (Access::Part | Access::Path | Access::Steps, true) => Returns::Text,
            (Access::Part | Access::Path | Access::Steps, false) => Returns::Named(self.json(fields)),
            (Access::Elements | Access::Keys, true) => Returns::Texts("text"),
            (Access::Elements | Access::Keys, false) => Returns::Texts(match self.json(fields) {
                "jsonb" => "_jsonb",
                _ => "_json",
            }),
        }
    }

    fn value(&self, arguments: &[Datum]) -> Result<Datum> {
        if arguments.iter().any(Datum::is_null) {
            return Ok(Datum::Null);
        }
        let text = arguments.first().and_then(Datum::text).unwrap_or_default();
        let json = Json::read(&text)?;
        let found = match self.access {
            Access::Part => match arguments.get(1) {
                Some(Datum::Int(place)) => json.element(*place)?,
                Some(Datum::Text(name)) => json.field(name)?,
                other => return internal_err!("{other:?} as a key of JSON"),
            },
            Access::Path => match path(arguments.get(1))? {
                Some(path) => json.at_path(&path)?,
                None => None,
            },
            Access::Steps => {
                let steps: Vec<String> = arguments[1..].iter().filter_map(Datum::text).collect();
                json.at_path(&steps)?
            }
            Access::Length => {
                let what = match json.kind {
                    JsonKind::Array => return Ok(Datum::Int(i64::try_from(json.parts()?.len()).unwrap_or(i64::MAX))),
                    JsonKind::Object => "a non-array",
                    _ => "a scalar",
                };
                return Err(invalid(&format!("cannot get array length of {what}")));
            }
            Access::Kind => return Ok(json.kind.name().into()),
            Access::Elements => {
                match json.kind {
                    JsonKind::Array => {}
                    JsonKind::Object => return Err(invalid(&format!("cannot call {} on a non-array", self.name))),
                    _ => return Err(invalid(&format!("cannot call {} on a scalar", self.name))),
                }
                let items = json.parts()?.into_iter().map(|(_, value)| self.datum(Some(value)));
                return Ok(Datum::List(items.collect::<Result<_>>()?));
            }
            Access::Keys => {
                match json.kind {
                    JsonKind::Object => {}
                    JsonKind::Array => return Err(invalid(&format!("cannot call {} on an array", self.name))),
                    _ => return Err(invalid(&format!("cannot call {} on a scalar", self.name))),
                }
                return Ok(Datum::List(
                    json.parts()?.into_iter().map(|(key, _)| Datum::from(key.into_owned())).collect(),
                ));
            }
        };
        self.datum(found)
    }

    fn datum(&self, found: Option<Json<'_>>) -> Result<Datum> {
        Ok(match found {
            None => Datum::Null,
            Some(json) if self.as_text => json.plain()?.into(),
            Some(json) => json.text().into(),
        })
    }
}

fn invalid(message: &str) -> datafusion::common::DataFusionError {
    FunctionError::new(SqlState::INVALID_PARAMETER_VALUE, message).into()
}

/// The steps of a path: an array, or the text of one. None: one of them is NULL.
fn path(argument: Option<&Datum>) -> Result<Option<Vec<String>>> {
    match argument {
        Some(Datum::List(steps)) => Ok(steps.iter().map(Datum::text).collect()),
        Some(Datum::Text(text)) => Ok(read_array_text(text)?.into_iter().collect()),
        other => internal_err!("{other:?} as a path in JSON"),
    }
}

impl ScalarUDFImpl for JsonAccess {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("{} is asked for its field", self.name)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let arguments = match self.access {
            Access::Part | Access::Path => (2, 2),
            Access::Steps => (1, ANY),
            Access::Length | Access::Kind | Access::Elements | Access::Keys => (1, 1),
        };
        arity(self.name, arguments, args.arg_fields)?;
        let is_text = |data_type: &DataType| data_type.is_string() || data_type.is_null();
        let fits = args.arg_fields.iter().enumerate().all(|(place, field)| {
            let data_type = field.data_type();
            is_text(data_type)
                || (place == 1 && self.access == Access::Part && data_type.is_integer())
                || (place == 1
                    && self.access == Access::Path
                    && matches!(data_type, DataType::List(item) if is_text(item.data_type())))
        });
        if !fits {
            // No number of arguments fits.
            arity(self.name, (ANY, ANY), args.arg_fields)?;
        }
        Ok(Arc::new(self.returns(args.arg_fields).field(self.name)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = args.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { args.number_rows };
        let arrays: Vec<ArrayRef> = args.args.into_iter().map(|value| value.into_array(rows)).collect::<Result<_>>()?;
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            let arguments = arrays.iter().map(|array| Datum::read(array, row)).collect::<Result<Vec<_>>>()?;
            values.push(self.value(&arguments)?);
        }
        let values = self.returns(&args.arg_fields).array(&values)?;
        Ok(if constant { ColumnarValue::Scalar(super::datum::scalar(&values)?) } else { ColumnarValue::Array(values) })
    }
}
