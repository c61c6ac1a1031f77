//! From a text to a prepared statement, which runs with one set of values after the other.

mod facts;
mod forms;
mod functions;
mod key_read;
mod memory;
mod plan_cache;
mod planner;
mod prepared;

pub(crate) use facts::Changes;
pub(crate) use forms::Forms;
pub use memory::memory_bytes_available;
pub use planner::{Planner, SessionOptions};
pub(crate) use planner::{View, same_columns};
pub use prepared::Prepared;
