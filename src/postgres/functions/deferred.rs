//! Calls that stand in a plan until its types are settled, because DataFusion would settle them
//! at once and by other rules: `coalesce`, and the items of VALUES.

use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::ScalarFunction;

use super::scalar::{Arguments, Function, Scalar, immutable};

/// The name of what an item of VALUES is wrapped in: no name that a statement could write.
pub(super) const VALUES_ITEM: &str = "(item of VALUES)";

pub(super) static FUNCTIONS: [Function; 1] =
    [immutable(VALUES_ITEM, 1..=1, type_of_item, |call| call.as_type(0, call.returns))];

/// DataFusion's `coalesce`, which computes no argument behind the first that is not NULL, once all
/// arguments have one type. NULLs have none.
pub(super) fn coalesced(mut args: Vec<Expr>) -> Expr {
    let is_null = |arg: &Expr| matches!(arg, Expr::Literal(ScalarValue::Null, _));
    if !args.iter().all(is_null) {
        args.retain(|arg| !is_null(arg));
    }
    Expr::ScalarFunction(ScalarFunction::new_udf(datafusion::functions::core::coalesce(), args))
}

/// The item without the name of its type, which a cast would keep.
pub(super) fn unnamed(item: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(Scalar::udf(&FUNCTIONS[0]), vec![item]))
}

/// What an item of VALUES was before it was wrapped.
pub(crate) fn unwrapped(expr: Expr) -> Expr {
    match expr {
        Expr::Cast(cast) if is_item(&cast.expr) => unwrapped(*cast.expr),
        Expr::ScalarFunction(mut call) if is_item_call(&call) => match call.args.pop() {
            Some(item) => item,
            None => Expr::ScalarFunction(call),
        },
        other => other,
    }
}

fn is_item(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if is_item_call(call))
}

fn is_item_call(call: &ScalarFunction) -> bool {
    call.func.name() == VALUES_ITEM && call.func.inner().is::<Scalar>()
}

/// A literal in quotes has none yet.
fn type_of_item(arguments: &Arguments) -> Result<DataType> {
    match arguments.types.first() {
        Some(data_type) if !arguments.is_unknown(0) => Ok((*data_type).clone()),
        _ => Ok(DataType::Null),
    }
}
