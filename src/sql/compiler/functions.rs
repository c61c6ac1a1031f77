//! Functions of our own.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};

use rowkey_storage::run::decode_other;

/// `uuid_text(uuid)`: the text of a Guid in lower case.
pub(crate) fn guid_text() -> Arc<ScalarUDF> {
    text_function("uuid_text", vec![DataType::FixedSizeBinary(16)], |arguments| {
        let [guids] = arguments else { return exec_err!("uuid_text takes one argument") };
        let Some(guids) = guids.as_fixed_size_binary_opt() else { return exec_err!("uuid_text takes a uuid") };
        let mut texts = StringViewBuilder::with_capacity(guids.len());
        for guid in guids {
            match guid.map(uuid::Uuid::from_slice) {
                Some(Ok(guid)) => texts.append_value(guid.hyphenated().to_string()),
                _ => texts.append_null(),
            }
        }
        Ok(texts)
    })
}

/// `other_property("(other)", 'Name')`: a property without a column of its own, as text; NULL where
/// an entity lacks it.
pub(crate) fn other_property() -> Arc<ScalarUDF> {
    text_function("other_property", vec![DataType::BinaryView, DataType::Utf8View], |arguments| {
        let [others, names] = arguments else { return exec_err!("other_property takes two arguments") };
        let (Some(others), Some(names)) = (others.as_binary_view_opt(), names.as_string_view_opt()) else {
            return exec_err!("other_property takes the (other) column and a name");
        };
        let mut texts = StringViewBuilder::with_capacity(others.len());
        for row in 0..others.len() {
            if others.is_null(row) || names.is_null(row) {
                texts.append_null();
                continue;
            }
            let Some(properties) = decode_other(others.value(row)) else {
                return exec_err!("a value of (other) cannot be read");
            };
            match properties.iter().find(|(name, _)| **name == *names.value(row)) {
                Some((_, value)) => texts.append_value(value.to_string()),
                None => texts.append_null(),
            }
        }
        Ok(texts)
    })
}

fn text_function(
    name: &str,
    arguments: Vec<DataType>,
    texts: fn(&[ArrayRef]) -> Result<StringViewBuilder>,
) -> Arc<ScalarUDF> {
    let invoke = move |arguments: &[ColumnarValue]| {
        let mut texts = texts(&ColumnarValue::values_to_arrays(arguments)?)?;
        Ok(ColumnarValue::Array(Arc::new(texts.finish())))
    };
    Arc::new(create_udf(name, arguments, DataType::Utf8View, Volatility::Immutable, Arc::new(invoke)))
}
