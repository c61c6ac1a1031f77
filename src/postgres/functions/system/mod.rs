//! Functions about the database itself, and those that tools use beside them.
//!
//! Registered once; what they need to know of the statement they run in comes with its
//! `ConfigOptions`, as a [`FunctionContextExtension`].

mod array_text;
mod arrays;
mod context;
mod datum;
mod definitions;
mod function;
mod keywords;
mod like_escape;
mod quoting;
mod registered;
mod session;
mod single_value;
mod sizes;
mod sleep;
mod tables;
mod type_names;
mod visibility;

#[cfg(test)]
mod tests;

pub use arrays::{ARRAY_OR_EMPTY, ARRAY_ORDINALS, array_ordinals};
pub use context::{
    ConstraintFacts, FunctionContext, FunctionContextExtension, FunctionFacts, IndexFacts, RelationFacts, SettingFacts,
    TypeFacts,
};
pub use datum::read_array_text;
pub use function::is_vector;
pub use keywords::is_reserved;
pub use quoting::quote_identifier;
pub(crate) use quoting::quote_literal;
pub use registered::REGISTERED_TYPES;
pub use single_value::single_value;
pub use tables::table_function_columns;

use std::sync::Arc;

use datafusion::catalog::TableFunctionImpl;
use datafusion::common::Result;
use datafusion::execution::FunctionRegistry;
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::ScalarUDF;

use super::in_place::register_in_place;
use super::numbered::numbered_functions;
use function::{Definition, SystemFunction};

const DEFINITIONS: &[&[Definition]] = &[
    session::FUNCTIONS,
    quoting::FUNCTIONS,
    registered::FUNCTIONS,
    definitions::FUNCTIONS,
    visibility::FUNCTIONS,
    sizes::FUNCTIONS,
    array_text::FUNCTIONS,
    arrays::FUNCTIONS,
    like_escape::FUNCTIONS,
];

/// The scalar functions.
pub fn system_functions() -> Vec<Arc<ScalarUDF>> {
    let defined = DEFINITIONS.iter().flat_map(|definitions| definitions.iter()).map(SystemFunction::udf);
    let others = numbered_functions().map(Arc::new).into_iter().chain([sleep::pg_sleep()]);
    defined.chain(arrays::polymorphic()).chain(others).collect()
}

/// The functions that are tables, by name.
pub fn table_functions() -> Vec<(&'static str, Arc<dyn TableFunctionImpl>)> {
    tables::table_functions()
}

/// Makes all of them known, in place of DataFusion's own of the same name.
pub fn register(state: &mut SessionState) -> Result<()> {
    for function in system_functions() {
        register_in_place(state, function)?;
    }
    state.register_udaf(single_value())?;
    for (name, function) in table_functions() {
        state.register_udtf(name, function);
    }
    Ok(())
}
