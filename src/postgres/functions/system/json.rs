//! Rows, arrays and values as JSON text, with PostgreSQL's blanks.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::datum::{Datum, Returns};
use super::error::{FunctionError, SqlState};
use super::function::{ANY, arity};
use crate::functions::{Error, Zone};
use crate::types::{POSTGRES_TYPE, TextStyle, text_value};

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

pub(super) fn functions() -> Vec<Arc<ScalarUDF>> {
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
            return Err(FunctionError::new(SqlState::INVALID_PARAMETER_VALUE, message).into());
        }
        let json = if self.name.starts_with("jsonb") || self.name == "to_jsonb" { "jsonb" } else { "json" };
        Ok(Arc::new(Returns::Named(json).field(self.name)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let date_style = TextStyle::default().date_style;
        let style = TextStyle { date_style, ..Zone::of(&args.config_options)?.style().clone() };
        let fields = args.arg_fields;
        let arrays: Vec<ArrayRef> =
            args.args.into_iter().map(|value| value.into_array(args.number_rows)).collect::<Result<_>>()?;
        let mut results = StringViewBuilder::with_capacity(args.number_rows);
        let value = |at: usize, row| match (arrays.get(at), fields.get(at)) {
            (Some(array), Some(field)) => json(array, row, is_json(field), &style),
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
                            return Err(FunctionError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message).into());
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
                        let items =
                            (0..items.len()).map(|i| json(&items, i, false, &style)).collect::<Result<Vec<_>>>()?;
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
/// Times are as in ISO 8601, whatever the session's style.
fn json(array: &ArrayRef, row: usize, already: bool, style: &TextStyle) -> Result<String> {
    if array.is_null(row) || *array.data_type() == DataType::Null {
        return Ok("null".to_owned());
    }
    if let Some(rows) = array.as_struct_opt() {
        let mut members = Vec::with_capacity(rows.num_columns());
        for (field, column) in rows.fields().iter().zip(rows.columns()) {
            members.push(format!("{}:{}", quoted(field.name()), json(column, row, is_json(field), style)?));
        }
        return Ok(format!("{{{}}}", members.join(",")));
    }
    if let Some(list) = array.as_list_opt::<i32>() {
        let items = list.value(row);
        let items = (0..items.len()).map(|i| json(&items, i, false, style)).collect::<Result<Vec<_>>>()?;
        return Ok(format!("[{}]", items.join(",")));
    }
    let data_type = array.data_type();
    if let DataType::Boolean = data_type {
        return Ok(array.as_boolean().value(row).to_string());
    }
    let field = Field::new("", data_type.clone(), true);
    let written = text_value(&field, array, row, style).map_err(Error::from)?;
    let text = written.unwrap_or_default();
    Ok(match data_type {
        DataType::Timestamp(_, zone) => quoted(&iso_8601(&text, zone.is_some())),
        DataType::UInt32 => quoted(&text),
        _ if already || data_type.is_numeric() && text.ends_with(|last: char| last.is_ascii_digit()) => text,
        _ => quoted(&text),
    })
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

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
