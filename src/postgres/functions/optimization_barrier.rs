//! An optimization barrier: an identity function that the optimizer does not see through.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

static BARRIER: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    Arc::new(ScalarUDF::new_from_impl(OptimizationBarrier { signature: Signature::any(1, Volatility::Immutable) }))
});

/// Its name in plans, and in statements that are rewritten.
pub(super) const OPTIMIZATION_BARRIER: &str = "optimization_barrier";

pub(super) fn barrier_udf() -> Arc<ScalarUDF> {
    Arc::clone(&BARRIER)
}

/// The same value.
pub(super) fn optimization_barrier(expr: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&BARRIER), vec![expr]))
}

/// Keys of windows that are partitioned by them, in an order that stays: where a column of
/// PARTITION BY is known to equal one of ORDER BY, DataFusion sorts by one of them and misses the
/// other. Each is behind one barrier more than the one before, so that two that are equal do not
/// equal each other either.
pub(crate) fn behind_barriers(keys: impl Iterator<Item = Expr>) -> impl Iterator<Item = Expr> {
    keys.enumerate().map(|(place, key)| (0..=place).fold(key, |key, _| optimization_barrier(key)))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OptimizationBarrier {
    signature: Signature,
}

impl ScalarUDFImpl for OptimizationBarrier {
    fn name(&self) -> &str {
        OPTIMIZATION_BARRIER
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [data_type] => Ok(data_type.clone()),
            _ => internal_err!("optimization_barrier takes one argument"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        match args.arg_fields {
            [field] => Ok(Arc::clone(field)),
            _ => internal_err!("optimization_barrier takes one argument"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match <[ColumnarValue; 1]>::try_from(args.args) {
            Ok([value]) => Ok(value),
            Err(_) => internal_err!("optimization_barrier takes one argument"),
        }
    }
}
