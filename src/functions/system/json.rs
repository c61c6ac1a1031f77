//! Rows, arrays and values as JSON text, with PostgreSQL's blanks.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::datum::{Datum, Returns};
use super::error::{FunctionError, FunctionErrorKind};
use super::function::{ANY, arity};
use crate::sql_types::POSTGRES_TYPE;

/// Internal name of what makes `json_agg` of `array_agg`.
pub const JSON_OF_ARRAY: &str = "json_of_array";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Object,
    Array,
    /// `to_json`, `row_to_json`, `array_to_json`
    Value,
    /// `json_agg` of what `array_agg` has collected
    Collected,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct JsonFunction {
    name: &'static str,
    kind: Kind,
    signature: Signature,
}

pub fn functions() -> Vec<Arc<ScalarUDF>> {
    [
        ("json_build_object", Kind::Object),
        ("jsonb_build_object", Kind::Object),
        ("json_build_array", Kind::Array),
        ("jsonb_build_array", Kind::Array),
        ("to_json", Kind::Value),
        ("to_jsonb", Kind::Value),
        ("row_to_json", Kind::Value),
        ("array_to_json", Kind::Value),
        (JSON_OF_ARRAY, Kind::Collected),
    ]
    .into_iter()
    .map(|(name, kind)| {
        let signature = Signature::user_defined(Volatility::Stable);
        Arc::new(ScalarUDF::new_from_impl(JsonFunction { name, kind, signature }))
    })
    .collect()
}

impl ScalarUDFImpl for JsonFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let arguments = match self.kind {
            Kind::Object | Kind::Array => (0, ANY),
            Kind::Value => (1, 2),
            Kind::Collected => (1, 1),
        };
        arity(self.name, arguments, args.arg_fields)?;
        if self.kind == Kind::Object && !args.arg_fields.len().is_multiple_of(2) {
            let message = "argument list must have even number of elements";
            return Err(FunctionError::new(FunctionErrorKind::InvalidParameter, message).into());
        }
        let json = if self.name.starts_with("jsonb") || self.name == "to_jsonb" { "jsonb" } else { "json" };
        Ok(Arc::new(Returns::Named(json).field(self.name)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let fields = args.arg_fields;
        let arrays: Vec<ArrayRef> =
            args.args.into_iter().map(|value| value.into_array(args.number_rows)).collect::<Result<_>>()?;
        let mut results = StringViewBuilder::with_capacity(args.number_rows);
        let value = |at: usize, row| match (arrays.get(at), fields.get(at)) {
            (Some(array), Some(field)) => json(array, row, is_json(field)),
            _ => internal_err!("{} without argument {at}", self.name),
        };
        for row in 0..args.number_rows {
            let mut out = String::new();
            match self.kind {
                Kind::Object => {
                    out.push('{');
                    for (i, key) in arrays.iter().enumerate().step_by(2) {
                        let Some(key) = Datum::read(key, row)?.text() else {
                            let message = format!("argument {}: key must not be null", i + 1);
                            return Err(FunctionError::new(FunctionErrorKind::NullNotAllowed, message).into());
                        };
                        if i > 0 {
                            out.push_str(", ");
                        }
                        out.push_str(&quoted(&key));
                        out.push_str(" : ");
                        out.push_str(&value(i + 1, row)?);
                    }
                    out.push('}');
                }
                Kind::Array => {
                    let items = (0..arrays.len()).map(|at| value(at, row)).collect::<Result<Vec<_>>>()?;
                    out = format!("[{}]", items.join(", "));
                }
                Kind::Value => match arrays.first() {
                    Some(array) if !array.is_null(row) => out = value(0, row)?,
                    _ => {
                        results.append_null();
                        continue;
                    }
                },
                Kind::Collected => match arrays.first().and_then(|array| array.as_list_opt::<i32>()) {
                    Some(list) if !list.is_null(row) => {
                        let items = list.value(row);
                        let items = (0..items.len()).map(|i| json(&items, i, false)).collect::<Result<Vec<_>>>()?;
                        out = format!("[{}]", items.join(", "));
                    }
                    _ => {
                        results.append_null();
                        continue;
                    }
                },
            }
            results.append_value(out);
        }
        Ok(ColumnarValue::Array(Arc::new(results.finish())))
    }
}

fn is_json(field: &FieldRef) -> bool {
    matches!(field.metadata().get(POSTGRES_TYPE).map(String::as_str), Some("json" | "jsonb"))
}

/// One value. A text is quoted unless it is JSON already; what JSON has no form for is its text.
fn json(array: &ArrayRef, row: usize, already: bool) -> Result<String> {
    if array.is_null(row) {
        return Ok("null".to_owned());
    }
    if let Some(rows) = array.as_struct_opt() {
        let mut members = Vec::with_capacity(rows.num_columns());
        for (field, column) in rows.fields().iter().zip(rows.columns()) {
            members.push(format!("{}:{}", quoted(field.name()), json(column, row, is_json(field))?));
        }
        return Ok(format!("{{{}}}", members.join(",")));
    }
    if let Some(list) = array.as_list_opt::<i32>() {
        let items = list.value(row);
        let items = (0..items.len()).map(|i| json(&items, i, false)).collect::<Result<Vec<_>>>()?;
        return Ok(format!("[{}]", items.join(",")));
    }
    Ok(match Datum::read(array, row)? {
        Datum::Null => "null".to_owned(),
        Datum::Bool(value) => value.to_string(),
        Datum::Int(value) => value.to_string(),
        Datum::Float(value) if value.is_finite() => value.to_string(),
        Datum::Text(text) if already => text,
        other => quoted(&other.text().unwrap_or_default()),
    })
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
