//! Reading exports of entity tables into `rowkey_model::rows::Rows`, and writing them.
//!
//! A [`Source`] is a named stream of bytes or a file. [`decode`] reads it in one of the
//! [`Format`]s: one thread at a time reads and cuts the input into batches, worker threads turn
//! batches into rows, and the caller's sink gets the chunks in the order of the input. Memory is
//! bounded by the number of threads. An entity that breaks a rule of the data model is reported
//! with its place and skipped; input that cannot be read any further is an error that names the
//! place.
//!
//! [`open_export`] gives the writer of an export. [`entity_json`] reads and writes the JSON of one
//! entity.

mod assumed;
mod azurite;
mod chunk;
mod compressed;
mod convert;
mod csv_cell;
mod decode;
pub mod entity_json;
mod error;
mod export;
mod file_version;
mod format;
#[cfg(test)]
mod fuzz;
mod json;
mod json_objects;
mod key_columns;
mod manifest;
mod notes;
mod options;
mod ordered;
mod output;
mod parquet;
mod place;
mod progress;
mod property_types;
mod reading;
mod reject_line;
mod rejects_file;
mod section;
mod service_json;
mod source;
mod spare_buffers;
mod survey;
mod tool_json;
mod typed_csv;
mod value_text;

pub use assumed::{AssumedType, TypeSamples};
pub use azurite::StoredTable;
pub use chunk::{Chunk, REJECTS_LISTED_MAX};
pub use decode::{Counts, decode};
pub use error::{Error, Reject};
pub use export::open as open_export;
pub use export::{EntityWriter, ExportFormat, ExportTarget, Layout, LineOutput, TableWriter};
pub use file_version::FileVersion;
pub use format::Format;
pub use key_columns::{KeyColumns, KeyTemplate};
pub use manifest::Manifest;
pub use notes::{WARNINGS_LISTED_MAX, Warning, WarningKind};
pub use options::DecodeOptions;
pub use output::{Compression, Destination, WriteError, Written, error_within, path_within};
pub use place::Place;
pub use progress::Progress;
pub use property_types::PropertyTypes;
pub use reject_line::write_lost;
pub use rejects_file::RejectsFile;
pub use source::Source;
pub use survey::Survey;
pub use tool_json::JsonTool;
