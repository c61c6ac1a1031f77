//! Functions of ours under names that DataFusion has as well.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::FunctionRegistry;
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::ScalarUDF;

/// Registers a function in place of DataFusion's of its name, which goes with its other names: a
/// state that is built again registers functions in no order, each under all of its names, and
/// ours might give way.
pub(super) fn register_in_place(state: &mut SessionState, function: Arc<ScalarUDF>) -> Result<()> {
    if let Some(theirs) = state.scalar_functions().get(function.name()).cloned() {
        state.deregister_udf(theirs.name())?;
    }
    state.register_udf(function)?;
    Ok(())
}
