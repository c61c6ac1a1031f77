//! Functions of our own.

use std::sync::Arc;

use arrow::array::{Array, AsArray, StringViewBuilder};
use arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use rowkey_storage::run::decode_other;

/// `uuid_text(uuid)`: the text of a Guid in lower case.
pub(crate) fn guid_text() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(GuidText {
        signature: Signature::exact(vec![DataType::FixedSizeBinary(16)], Volatility::Immutable),
    }))
}

/// `other_property("(other)", 'Name')`: a property without a column of its own, as text; NULL where
/// an entity lacks it.
pub(crate) fn other_property() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(OtherProperty {
        signature: Signature::exact(vec![DataType::BinaryView, DataType::Utf8View], Volatility::Immutable),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct GuidText {
    signature: Signature,
}

impl ScalarUDFImpl for GuidText {
    fn name(&self) -> &str {
        "uuid_text"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [guids] = args.args.as_slice() else { return exec_err!("uuid_text takes one argument") };
        let guids = guids.to_array(args.number_rows)?;
        let Some(guids) = guids.as_fixed_size_binary_opt() else { return exec_err!("uuid_text takes a uuid") };
        let mut texts = StringViewBuilder::with_capacity(guids.len());
        for guid in guids {
            match guid.map(uuid::Uuid::from_slice) {
                Some(Ok(guid)) => texts.append_value(guid.hyphenated().to_string()),
                _ => texts.append_null(),
            }
        }
        Ok(ColumnarValue::Array(Arc::new(texts.finish())))
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OtherProperty {
    signature: Signature,
}

impl ScalarUDFImpl for OtherProperty {
    fn name(&self) -> &str {
        "other_property"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [others, names] = args.args.as_slice() else { return exec_err!("other_property takes two arguments") };
        let (others, names) = (others.to_array(args.number_rows)?, names.to_array(args.number_rows)?);
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
        Ok(ColumnarValue::Array(Arc::new(texts.finish())))
    }
}
