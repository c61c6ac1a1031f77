//! Widening: bringing the values of several types of a property into one column.

use std::fmt::Write;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use super::columns::WidenedType;
use rowkey_model::ValueRef;
use rowkey_model::columns::{BytesLayout, Capacity, PropertyBuilder, PropertyReader, property_type};

impl WidenedType {
    /// The values of a property, one for each row, in the widened type; a value that does not widen
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

    /// A value in the widened type; text that is not there yet is written to `written`.
    pub(crate) fn widen<'v>(self, value: ValueRef<'v>, written: &'v mut String) -> Option<ValueRef<'v>> {
        Some(match (self, value) {
            (WidenedType::Int64, ValueRef::Int32(value)) => ValueRef::Int64(value.into()),
            (WidenedType::Double, ValueRef::Int32(value)) => ValueRef::Double(value.into()),
            (WidenedType::Double, ValueRef::Int64(value)) => ValueRef::Double(value as f64),
            (WidenedType::Int64, ValueRef::Int64(_))
            | (WidenedType::Double, ValueRef::Double(_))
            | (WidenedType::Text, ValueRef::String(_)) => value,
            (WidenedType::Int64 | WidenedType::Double, _) => return None,
            (WidenedType::Text, value) => {
                written.clear();
                write!(written, "{}", value.to_value()).ok()?;
                ValueRef::String(written.as_str())
            }
        })
    }
}

/// A function over the typed columns of one property (a DateTime's may be followed by its ticks):
/// the value that is there, in the widened type. An entity has a property in one type at most.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct WidenedValue {
    to: WidenedType,
    signature: Signature,
}

impl WidenedValue {
    pub(super) fn new(to: WidenedType) -> Self {
        Self { to, signature: Signature::variadic_any(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for WidenedValue {
    fn name(&self) -> &str {
        "widened_value"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.to.data_type())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let arrays = args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let columns = typed_columns(&arrays)?;
        let values = (0..rows).map(|row| columns.iter().find_map(|column| column.get(row)));
        Ok(ColumnarValue::Array(self.to.array(values)))
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

#[cfg(test)]
mod tests {
    use rowkey_model::columns::property_array;
    use rowkey_model::{DateTime, EdmType, Value};

    use super::*;

    const VALUES: [Option<ValueRef<'static>>; 8] = [
        Some(ValueRef::Int32(-1)),
        Some(ValueRef::Int64(1 << 53)),
        Some(ValueRef::Double(-0.0)),
        Some(ValueRef::Boolean(true)),
        None,
        Some(ValueRef::Binary(b"ab")),
        Some(ValueRef::String("")),
        Some(ValueRef::String("longer than a view")),
    ];

    fn read(edm: EdmType, array: &ArrayRef) -> Vec<Option<Value>> {
        let reader = PropertyReader::new(edm, array, None).expect("a column of this type");
        (0..array.len()).map(|row| reader.get(row).map(ValueRef::to_value)).collect()
    }

    #[test]
    fn values_widen_to_one_type() {
        let widened = |to: WidenedType| read(to.edm(), &to.array(VALUES.into_iter()));
        let (int, double) = (|value| Some(Value::Int64(value)), |value| Some(Value::Double(value)));
        assert_eq!(widened(WidenedType::Int64), [int(-1), int(1 << 53), None, None, None, None, None, None]);
        let doubles = [double(-1.0), double(9_007_199_254_740_992.0), double(-0.0), None, None, None, None, None];
        assert_eq!(widened(WidenedType::Double), doubles);
        let texts = ["-1", "9007199254740992", "-0.0", "true", "YWI=", "", "longer than a view"];
        let mut texts = texts.map(|text| Some(Value::String(text.to_owned()))).to_vec();
        texts.insert(4, None);
        assert_eq!(widened(WidenedType::Text), texts);
    }

    #[test]
    fn typed_columns_widen_as_their_values_do() {
        for layout in [BytesLayout::Offsets, BytesLayout::Views] {
            let arrays = EdmType::ALL.map(|edm| property_array(edm, layout, VALUES.into_iter()));
            let columns = typed_columns(&arrays).expect("columns");
            let values: Vec<_> =
                (0..VALUES.len()).map(|row| columns.iter().find_map(|column| column.get(row))).collect();
            assert_eq!(values, VALUES);
        }
    }

    #[test]
    fn the_ticks_behind_a_column_are_its_own() {
        let at = ValueRef::DateTime(DateTime::from_ticks(12));
        let mut builder = PropertyBuilder::new(EdmType::DateTime, BytesLayout::Views, Capacity::default())
            .with_ticks(Capacity::default());
        assert!(builder.set(0, at));
        let (times, ticks) = builder.finish(1);
        let numbers = property_array(EdmType::Int64, BytesLayout::Views, [None].into_iter());
        let arrays = [times, ticks.expect("ticks"), numbers];
        let columns = typed_columns(&arrays).expect("columns");
        assert_eq!(columns.iter().map(|column| column.get(0)).collect::<Vec<_>>(), [Some(at), None]);
        assert!(typed_columns(&arrays[1..]).is_err(), "ticks alone");
    }
}
