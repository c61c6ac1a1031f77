//! From a prepared statement and its values to rows, or to operations.

pub(crate) mod copy;
mod locked_rows;
mod pending_rows;
mod plan_log;
mod portal;
mod queries;
mod rows;
mod scroll;
mod vacuum;
mod values_memory;
mod writes;

use std::sync::Arc;

use crate::compiler::Compiler;
pub use portal::PortalState;
pub(crate) use portal::{Cursor, Portal};
pub use rows::Rows;
pub use scroll::ScrolledRows;
pub use values_memory::ValuesMemory;
pub(crate) use writes::Ran;

/// Runs prepared statements of all sessions of one account. It commits nothing.
#[derive(Debug, Clone)]
pub(crate) struct Executor {
    compiler: Arc<Compiler>,
}

impl Executor {
    pub(crate) fn new(compiler: Arc<Compiler>) -> Self {
        Self { compiler }
    }
}
