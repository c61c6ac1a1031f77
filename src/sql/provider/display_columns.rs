//! Bringing the values of several types of a property into one column.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Builder, Int64Builder, StringViewBuilder};
use arrow::datatypes::{DataType, Float64Type, Int8Type, Int32Type, Int64Type, TimestampMicrosecondType};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use super::columns::Shown;
use rowkey_model::{DateTime, Value};

/// A function over the typed columns of one property (a DateTime's is followed by its tick): the
/// value that is there, in the shown type. An entity has a property in one type at most.
///
/// As text, a value is written as the service's JSON writes it: numbers in decimal, `true` or
/// `false`, ISO 8601 in UTC with up to seven digits, Guids in lower case, Binary in Base64.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct DisplayValue {
    shown: Shown,
    signature: Signature,
}

impl DisplayValue {
    pub(super) fn new(shown: Shown) -> Self {
        Self { shown, signature: Signature::variadic_any(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for DisplayValue {
    fn name(&self) -> &str {
        "shown_value"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.shown.data_type())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let arrays = args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let shown: ArrayRef = match self.shown {
            Shown::Int64 => {
                let mut builder = Int64Builder::with_capacity(rows);
                for row in 0..rows {
                    builder.append_option(arrays.iter().find_map(|array| integer(array, row)));
                }
                Arc::new(builder.finish())
            }
            Shown::Double => {
                let mut builder = Float64Builder::with_capacity(rows);
                for row in 0..rows {
                    builder.append_option(arrays.iter().find_map(|array| double(array, row)));
                }
                Arc::new(builder.finish())
            }
            Shown::Text => {
                let mut builder = StringViewBuilder::with_capacity(rows);
                for row in 0..rows {
                    match arrays.iter().enumerate().find(|(_, array)| array.is_valid(row)) {
                        Some((place, array)) => builder.append_value(text(array, arrays.get(place + 1), row)?),
                        None => builder.append_null(),
                    }
                }
                Arc::new(builder.finish())
            }
        };
        Ok(ColumnarValue::Array(shown))
    }
}

fn integer(array: &ArrayRef, row: usize) -> Option<i64> {
    if array.is_null(row) {
        return None;
    }
    match array.data_type() {
        DataType::Int32 => Some(i64::from(array.as_primitive::<Int32Type>().value(row))),
        DataType::Int64 => Some(array.as_primitive::<Int64Type>().value(row)),
        _ => None,
    }
}

fn double(array: &ArrayRef, row: usize) -> Option<f64> {
    if *array.data_type() == DataType::Float64 {
        return array.is_valid(row).then(|| array.as_primitive::<Float64Type>().value(row));
    }
    integer(array, row).map(|value| value as f64)
}

/// `next` is the column behind it: a DateTime's tick, if it is one of small numbers.
fn text(array: &ArrayRef, next: Option<&ArrayRef>, row: usize) -> Result<String> {
    let value = match array.data_type() {
        DataType::Boolean => Value::Boolean(array.as_boolean().value(row)),
        DataType::Int32 => Value::Int32(array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => Value::Int64(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => Value::Double(array.as_primitive::<Float64Type>().value(row)),
        DataType::Timestamp(..) => {
            let tick = next
                .and_then(|next| next.as_primitive_opt::<Int8Type>())
                .filter(|ticks| ticks.is_valid(row))
                .map_or(0, |ticks| ticks.value(row));
            Value::DateTime(DateTime::from_micros(array.as_primitive::<TimestampMicrosecondType>().value(row), tick))
        }
        DataType::FixedSizeBinary(16) => match uuid::Uuid::from_slice(array.as_fixed_size_binary().value(row)) {
            Ok(guid) => Value::Guid(guid),
            Err(error) => return exec_err!("not a Guid: {error}"),
        },
        DataType::Binary => Value::Binary(array.as_binary::<i32>().value(row).to_vec()),
        DataType::BinaryView => Value::Binary(array.as_binary_view().value(row).to_vec()),
        DataType::Utf8 => return Ok(array.as_string::<i32>().value(row).to_owned()),
        DataType::Utf8View => return Ok(array.as_string_view().value(row).to_owned()),
        other => return exec_err!("values of {other} are no property's"),
    };
    Ok(value.to_string())
}
