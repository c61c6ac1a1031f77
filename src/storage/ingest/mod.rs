//! Bringing a sorted stream of entities into a table.
//!
//! An [`Ingest`] walks the stream and the table's range partitions side by side. A range partition
//! that the stream reaches is merged with it and written anew, one that it does not reach keeps its
//! files, and so does one in which every entity is found equal to the stored one. Nothing names
//! the new files until the edits that [`Ingest::finish`] gives are committed, as one record of the
//! log.

mod cutter;
mod earlier;
mod existing;
mod merge;
mod writer;

pub(super) use cutter::Cutter;
pub(super) use existing::Existing;
pub use merge::{Ingest, IngestOptions, IngestReport};
pub(super) use writer::{RunWriterThread, WriterOptions, Written};
