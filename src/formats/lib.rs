//! Reading exports of entity tables into `rows::Rows`, and writing them.
//!
//! A [`Source`] is a named stream of bytes or a file. [`decode`] reads it in one of the
//! [`Format`]s: one thread at a time reads and cuts the input into batches, worker threads turn
//! batches into rows, and the caller's sink gets the chunks in the order of the input. Memory is
//! bounded by the number of threads. An entity that breaks a rule of the data model is reported
//! with its place and skipped; input that cannot be read any further is an error that names the
//! place.
//!
//! [`open_export`] gives the writer of an export.

mod assumed;
mod azurite;
mod compressed;
mod convert;
mod decode;
mod error;
mod export;
mod format;
mod key_columns;
mod manifest;
mod notes;
mod ordered;
mod output;
mod parquet;
mod place;
mod property_types;
mod reading;
mod reject_line;
mod rejects_file;
mod service_json;
mod source;
mod spare_buffers;
mod tool_json;
mod typed_csv;

pub use assumed::{AssumedType, TypeSamples};
pub use azurite::StoredTable;
pub use decode::{Chunk, Counts, DecodeOptions, Progress, REJECTS_LISTED_MAX, decode};
pub use error::{Error, Reject};
pub use export::open as open_export;
pub use export::{EntityWriter, ExportFormat, ExportTarget, Layout, LineOutput, Survey, TableWriter};
pub use format::Format;
pub use key_columns::{KeyColumns, KeyTemplate};
pub use manifest::Manifest;
pub use notes::{WARNINGS_LISTED_MAX, Warning, WarningKind};
pub use output::{Compression, Destination, WriteError, Written, path_within};
pub use place::Place;
pub use property_types::PropertyTypes;
pub use reject_line::write_lost;
pub use rejects_file::RejectsFile;
pub use source::Source;
pub use tool_json::JsonTool;
