//! Reading exports of entity tables into `rows::Rows`, and writing them.
//!
//! A [`Source`] is a named stream of bytes or a file. [`decode`] reads it in one of the [`Format`]s: one thread at a
//! time reads and cuts the input into batches, worker threads turn batches into rows, and the caller's sink gets the
//! chunks in the order of the input. Memory is bounded by the number of threads. An entity that breaks a rule of the
//! data model is reported with its place and skipped; input that cannot be read any further is an error that names the
//! place.
//!
//! [`open_export`] gives the writer of an export.

mod azurite;
mod decode;
mod error;
mod export;
mod format;
mod ordered;
mod output;
mod parquet;
mod place;
mod service_json;
mod source;
mod spare_buffers;
mod typed_csv;

pub use azurite::StoredTable;
pub use decode::{Chunk, Counts, DecodeOptions, Progress, REJECTS_LISTED_MAX, decode};
pub use error::{Error, Reject};
pub use export::{
    EntityWriter, ExportFormat, ExportTarget, Layout, LineOutput, Survey, TableWriter, open as open_export,
};
pub use format::Format;
pub use output::{Compression, Destination, WriteError, Written, path_within};
pub use place::Place;
pub use source::Source;
