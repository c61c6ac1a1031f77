//! Where exports go: a file or a folder that appears under its name when it is whole, or a stream.

mod error;
mod file;
mod folder;
mod sink;

pub use error::{WriteError, error_within};
pub use file::path_within;
pub(super) use folder::PartFolder;
pub(super) use sink::Sink;
pub use sink::{Compression, Destination, Written};
