//! An optimization barrier: an identity function that the optimizer does not see through.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{DFSchema, Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

static BARRIER: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| barrier(OPTIMIZATION_BARRIER, false));
static NULLABLE_BARRIER: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| barrier("nullable_barrier", true));

fn barrier(name: &'static str, hides_not_null: bool) -> Arc<ScalarUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(OptimizationBarrier { name, hides_not_null, signature }))
}

/// Its name in plans, and in statements that are rewritten.
pub(super) const OPTIMIZATION_BARRIER: &str = "optimization_barrier";

pub(super) fn barrier_udf() -> Arc<ScalarUDF> {
    Arc::clone(&BARRIER)
}

/// The same value.
pub(super) fn optimization_barrier(expr: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&BARRIER), vec![expr]))
}

/// The same value, said to be NULL in places: DataFusion does not compute what it tests for NULL
/// and knows not to be, so that what would be an error is an answer.
pub(super) fn computed_though_not_null(expr: Expr, schema: &DFSchema) -> Expr {
    let is_read = matches!(expr, Expr::Column(_) | Expr::Literal(..));
    match is_read || expr.nullable(schema).unwrap_or(true) {
        true => expr,
        false => Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&NULLABLE_BARRIER), vec![expr])),
    }
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
    name: &'static str,
    hides_not_null: bool,
    signature: Signature,
}

impl ScalarUDFImpl for OptimizationBarrier {
    fn name(&self) -> &str {
        self.name
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
            [field] if self.hides_not_null => Ok(Arc::new(field.as_ref().clone().with_nullable(true))),
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
