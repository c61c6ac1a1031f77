//! COPY: rows to the client and from it, as text or CSV.
//!
//! A file of the server is written where that is allowed: [`FileAccess`].
//!
//! What comes in is read field by field as its columns take it, without the planner, and written as
//! one: all of it or nothing.

mod copy_in;
mod copy_out;
mod execute;
mod options;
mod reader;
mod to_file;

pub use copy_in::CopyIn;
pub use copy_out::CopyOut;
pub(super) use execute::file_written;
pub(super) use options::CopyOptions;
pub use to_file::FileAccess;
