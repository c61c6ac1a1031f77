//! Writing entities: operations with their conditions, applied to the newest state, durable as one
//! record of the log.

mod commit;
mod definitions;
mod encoded;
mod lookup;
mod table_lock;
mod writer;

pub use definitions::Definitions;
pub(crate) use definitions::commit_edits;
pub use table_lock::{TableHold, Terms};
pub(crate) use writer::Writer;
pub use writer::{Attempts, PreparedWrite};
