//! Writing entities: operations with their conditions, applied to the newest state, durable as one
//! record of the log.

mod commit;
mod definitions;
mod encoded;
mod found;
mod hold;
pub(super) mod payload;

pub(crate) use commit::ENTITY_WRITES;
pub use definitions::Definitions;
pub(crate) use hold::TableHolds;
pub use hold::{TableHold, Terms};
