//! From a text to a prepared statement, which runs with one set of values after the other.

mod catalog_session;
#[allow(clippy::module_inception)]
mod compiler;
mod entity_json;
mod functions;
mod memory;
mod parameterized;
mod plan_cache;
mod plan_memory;
mod planning_queue;
mod prepared;
mod read_columns;
pub(crate) mod row_locks;
mod statement_context;
mod statement_session;
mod ticks_functions;

pub(crate) use compiler::same_columns;
pub use compiler::{Compiler, SessionOptions};
pub use memory::{memory_bytes_available, query_memory_bytes};
pub(crate) use parameterized::ParameterizedStatements;
pub use prepared::Prepared;
pub(crate) use statement_context::StatementContext;
pub(crate) use statement_session::{SettingChanges, StatementSession};
