//! From a text to a prepared statement, which runs with one set of values after the other.

mod catalog_session;
#[allow(clippy::module_inception)]
mod compiler;
mod forms;
mod functions;
mod key_read;
mod memory;
mod plan_cache;
mod prepared;
mod session_info;
mod statement_context;

pub(crate) use compiler::same_columns;
pub use compiler::{Compiler, SessionOptions};
pub(crate) use forms::Forms;
pub use memory::memory_bytes_available;
pub use prepared::Prepared;
pub(crate) use session_info::{Changes, SessionInfo};
pub(crate) use statement_context::StatementContext;
