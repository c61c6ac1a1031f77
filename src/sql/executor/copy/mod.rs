//! COPY: rows to the client and from it, as text, as CSV or in the binary format; entities from it
//! in the formats of exports.
//!
//! Rows that come in are read field by field as their columns take them, without the planner, and
//! written as one; entities are imported. Either way it is all of them or nothing.

mod copy_in;
mod copy_out;
mod entities_in;
mod entity_options;
mod execute;
mod options;
mod reader;
mod rows_in;
mod tuples;

pub use copy_in::CopyIn;
pub use copy_out::{CopyLines, CopyOut};
pub(crate) use entity_options::imports_entities;
pub(crate) use options::CopyOptions;
pub(crate) use rows_in::RowsIn;
