//! A value of which the optimizer knows nothing.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

static OPAQUE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    Arc::new(ScalarUDF::new_from_impl(Opaque { signature: Signature::any(1, Volatility::Immutable) }))
});

/// The same value. Windows parted by it keep their order: where a column that they are parted by is
/// known to equal one that they are ordered by, the engine sorts by one of them and misses the
/// other.
pub(super) fn opaque(expr: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&OPAQUE), vec![expr]))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Opaque {
    signature: Signature,
}

impl ScalarUDFImpl for Opaque {
    fn name(&self) -> &str {
        "opaque"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [data_type] => Ok(data_type.clone()),
            _ => internal_err!("opaque takes one argument"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        match args.arg_fields {
            [field] => Ok(Arc::clone(field)),
            _ => internal_err!("opaque takes one argument"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match <[ColumnarValue; 1]>::try_from(args.args) {
            Ok([value]) => Ok(value),
            Err(_) => internal_err!("opaque takes one argument"),
        }
    }
}
