//! A long value that plans refer to: they name each column by the expression that makes it, with
//! its constants in full, and are copied about.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Shorter ones are plain literals: a property may be as long.
const LONG_BYTES_MIN: usize = 256 << 10;

/// Whether a value is long, and nothing in a plan looks at such ones.
pub(crate) fn is_long(value: &ScalarValue) -> bool {
    let bytes = match value {
        ScalarValue::Utf8View(Some(text)) | ScalarValue::LargeUtf8(Some(text)) => text.len(),
        ScalarValue::Binary(Some(bytes))
        | ScalarValue::BinaryView(Some(bytes))
        | ScalarValue::LargeBinary(Some(bytes)) => bytes.len(),
        _ => 0,
    };
    bytes >= LONG_BYTES_MIN
}

/// An expression that gives the value.
pub(crate) fn held_constant(value: ScalarValue) -> Expr {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    let hash = hasher.finish();
    let name = format!("constant_{hash:016x}");
    let held = HeldConstant { value, name, hash, signature: Signature::nullary(Volatility::Volatile) };
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(ScalarUDF::new_from_impl(held)), Vec::new()))
}

/// A function without arguments. It is volatile, lest the optimizer makes a literal of it.
#[derive(Debug)]
pub(super) struct HeldConstant {
    value: ScalarValue,
    name: String,
    hash: u64,
    signature: Signature,
}

impl PartialEq for HeldConstant {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.value == other.value
    }
}

impl Eq for HeldConstant {}

impl Hash for HeldConstant {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

impl ScalarUDFImpl for HeldConstant {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.value.data_type())
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Scalar(self.value.clone()))
    }
}
