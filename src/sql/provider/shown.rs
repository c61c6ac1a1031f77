//! Widening: bringing the values of several types of a property into one column.

use std::fmt::Write;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use super::columns::Shown;
use rowkey_model::columns::{BytesLayout, Capacity, PropertyBuilder, PropertyReader, property_type};
use rowkey_model::rows::ValueRef;

impl Shown {
    /// The values of a property, one for each row, in the shown type; a value that does not widen
    /// to it is null.
    ///
    /// As text, a value is written as the service's JSON writes it: numbers in decimal, `true` or
    /// `false`, ISO 8601 in UTC with up to seven digits, Guids in lower case, Binary in Base64.
    pub(crate) fn array<'v>(self, values: impl ExactSizeIterator<Item = Option<ValueRef<'v>>>) -> ArrayRef {
        let rows = values.len();
        let mut builder = PropertyBuilder::new(self.edm(), BytesLayout::Views, Capacity { rows, bytes: 0 });
        let mut written = String::new();
        for (row, value) in values.enumerate() {
            if let Some(value) = value
                && let Some(value) = self.widen(value, &mut written)
            {
                builder.set(row, value);
            }
        }
        builder.finish(rows).0
    }

    /// A value in the shown type; text that is not there yet is written to `written`.
    fn widen<'v>(self, value: ValueRef<'v>, written: &'v mut String) -> Option<ValueRef<'v>> {
        Some(match (self, value) {
            (Shown::Int64, ValueRef::Int32(value)) => ValueRef::Int64(value.into()),
            (Shown::Double, ValueRef::Int32(value)) => ValueRef::Double(value.into()),
            (Shown::Double, ValueRef::Int64(value)) => ValueRef::Double(value as f64),
            (Shown::Int64, ValueRef::Int64(_))
            | (Shown::Double, ValueRef::Double(_))
            | (Shown::Text, ValueRef::String(_)) => value,
            (Shown::Int64 | Shown::Double, _) => return None,
            (Shown::Text, value) => {
                written.clear();
                write!(written, "{}", value.to_value()).ok()?;
                ValueRef::String(written.as_str())
            }
        })
    }
}

/// A function over the typed columns of one property (a DateTime's may be followed by its ticks):
/// the value that is there, in the shown type. An entity has a property in one type at most.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ShownValue {
    shown: Shown,
    signature: Signature,
}

impl ShownValue {
    pub(super) fn new(shown: Shown) -> Self {
        Self { shown, signature: Signature::variadic_any(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for ShownValue {
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
        let columns = typed_columns(&arrays)?;
        let values = (0..rows).map(|row| columns.iter().find_map(|column| column.get(row)));
        Ok(ColumnarValue::Array(self.shown.array(values)))
    }
}

/// The columns among the arguments of [`ShownValue`], each with its ticks.
fn typed_columns(arrays: &[ArrayRef]) -> Result<Vec<PropertyReader<'_>>> {
    let mut columns = Vec::with_capacity(arrays.len());
    let mut arrays = arrays.iter().peekable();
    while let Some(values) = arrays.next() {
        let ticks = arrays.next_if(|next| *next.data_type() == DataType::Int8);
        let column = property_type(values.data_type()).and_then(|edm| PropertyReader::new(edm, values, ticks));
        columns.push(column.ok_or_else(|| exec_datafusion_err!("no property has values of {}", values.data_type()))?);
    }
    Ok(columns)
}
