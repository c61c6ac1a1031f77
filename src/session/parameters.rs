//! Values of `$1`, `$2` and so on take their places in a plan.

use arrow::datatypes::DataType;
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DataFusionError, ParamValues};
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::scalar::ScalarValue;

use super::error::{Error, ErrorKind, Result};
use crate::model::{EdmType, Value};

/// Replaces every parameter by its value. What a parameter stands beside tells the type that is wanted: numbers go where any
/// number does, a text is read as a quoted literal would be, and everything else has to fit, because the query engine would
/// compare it in a way nobody asked for.
pub fn with_parameters(plan: LogicalPlan, parameters: &[Value]) -> Result<LogicalPlan> {
    let wanted = plan.get_parameter_names()?;
    let number = |name: &str| name.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok());
    let mut names: Vec<&String> = wanted.iter().collect();
    names.sort();
    for name in names {
        match number(name) {
            Some(number) if (1..=parameters.len()).contains(&number) => {}
            Some(1..) => {
                let message = format!("parameter {name} has no value: {} given, numbered from $1", parameters.len());
                return Err(Error::new(ErrorKind::Invalid, message));
            }
            _ => {
                return Err(Error::new(
                    ErrorKind::Invalid,
                    format!("there is no parameter {name}: they are numbered from $1"),
                ));
            }
        }
    }
    if let Some(unused) = (1..=parameters.len()).find(|number| !wanted.contains(&format!("${number}"))) {
        let message = format!("a value is given for ${unused}, and the statement has no such parameter");
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    if wanted.is_empty() {
        return Ok(plan);
    }
    let plan = plan.transform_up_with_subqueries(|plan| {
        let schema = std::sync::Arc::clone(plan.schema());
        plan.map_expressions(|expr| {
            let (expr, has_parameter) = expr.infer_placeholder_types(&schema)?;
            if !has_parameter {
                return Ok(Transformed::no(expr));
            }
            expr.transform_up(|expr| match &expr {
                Expr::Placeholder(Placeholder { id, field: Some(field) }) => {
                    let value = number(id).and_then(|number| parameters.get(number - 1));
                    match value.map(|value| fitted(id, value, field.data_type())).transpose() {
                        // Others are put in below: a name that came from the parameter stays as it was.
                        Ok(None | Some(None)) => Ok(Transformed::no(expr)),
                        Ok(Some(Some(read))) => Ok(Transformed::yes(Expr::Literal(read, None))),
                        Err(error) => Err(DataFusionError::External(Box::new(error))),
                    }
                }
                _ => Ok(Transformed::no(expr)),
            })
        })
    })?;
    let values = parameters.iter().map(|value| ScalarAndMetadata::from(scalar(value))).collect();
    Ok(plan.data.with_param_values(ParamValues::List(values))?)
}

/// A text read as the type that is wanted, if it is not text or read later; an error where the value does not fit.
fn fitted(name: &str, value: &Value, wanted: &DataType) -> Result<Option<ScalarValue>> {
    let text = match value {
        Value::String(text) => Some(text.trim()),
        _ => None,
    };
    let unreadable = |what: &str| {
        let text = text.unwrap_or_default();
        Err(Error::new(
            ErrorKind::Invalid,
            format!("parameter {name}: invalid input syntax for type {what}: \"{text}\""),
        ))
    };
    let is = value.edm_type();
    let (what, fits) = match wanted {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ("text", is == EdmType::String),
        DataType::Boolean => match text.map(str::to_ascii_lowercase).as_deref() {
            Some("t" | "true") => return Ok(Some(ScalarValue::Boolean(Some(true)))),
            Some("f" | "false") => return Ok(Some(ScalarValue::Boolean(Some(false)))),
            Some(_) => return unreadable("boolean"),
            None => ("boolean", is == EdmType::Boolean),
        },
        DataType::Int32 | DataType::Int64 => {
            let what = if *wanted == DataType::Int32 { "integer" } else { "bigint" };
            match text.map(str::parse::<i128>) {
                Some(Ok(read)) => return integer(name, read, wanted, what).map(Some),
                Some(Err(_)) => return unreadable(what),
                None => (what, is.is_numeric()),
            }
        }
        DataType::Float64 => match text.map(str::parse::<f64>) {
            Some(Ok(read)) => return Ok(Some(ScalarValue::Float64(Some(read)))),
            Some(Err(_)) => return unreadable("double precision"),
            None => ("double precision", is.is_numeric()),
        },
        // Texts for these are read where literals are.
        DataType::Timestamp(..) => ("timestamp with time zone", matches!(is, EdmType::DateTime | EdmType::String)),
        DataType::FixedSizeBinary(16) => ("uuid", matches!(is, EdmType::Guid | EdmType::String)),
        DataType::Binary | DataType::BinaryView => ("bytea", matches!(is, EdmType::Binary | EdmType::String)),
        _ => return Ok(None),
    };
    if fits {
        return Ok(None);
    }
    Err(Error::new(
        ErrorKind::Invalid,
        format!("parameter {name} is of type {}, and {what} is wanted there", is.name()),
    ))
}

fn integer(name: &str, read: i128, wanted: &DataType, what: &str) -> Result<ScalarValue> {
    let scalar = match wanted {
        DataType::Int32 => i32::try_from(read).ok().map(|read| ScalarValue::Int32(Some(read))),
        _ => i64::try_from(read).ok().map(|read| ScalarValue::Int64(Some(read))),
    };
    scalar.ok_or_else(|| {
        Error::new(ErrorKind::Invalid, format!("parameter {name}: value \"{read}\" is out of range for type {what}"))
    })
}

fn scalar(value: &Value) -> ScalarValue {
    match value {
        Value::Binary(v) => ScalarValue::BinaryView(Some(v.clone())),
        Value::Boolean(v) => ScalarValue::Boolean(Some(*v)),
        Value::DateTime(v) => ScalarValue::TimestampMicrosecond(Some(v.micros()), Some("UTC".into())),
        Value::Double(v) => ScalarValue::Float64(Some(*v)),
        Value::Guid(v) => ScalarValue::FixedSizeBinary(16, Some(v.as_bytes().to_vec())),
        Value::Int32(v) => ScalarValue::Int32(Some(*v)),
        Value::Int64(v) => ScalarValue::Int64(Some(*v)),
        Value::String(v) => ScalarValue::Utf8View(Some(v.clone())),
    }
}
