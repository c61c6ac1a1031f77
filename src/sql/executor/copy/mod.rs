//! COPY: rows to the client and from it, as text, as CSV or in the binary format.
//!
//! What comes in is read field by field as its columns take it, without the planner, and written as
//! one: all of it or nothing.

mod copy_in;
mod copy_out;
mod execute;
mod options;
mod reader;
mod tuples;

pub use copy_in::CopyIn;
pub use copy_out::{CopyLines, CopyOut};
pub(crate) use options::CopyOptions;
