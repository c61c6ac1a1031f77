//! How to decode.

use std::sync::Arc;

use super::key_columns::KeyColumns;
use super::property_types::PropertyTypes;
use rowkey_model::DateTime;

/// How to decode a source.
#[derive(Debug, Clone)]
pub struct DecodeOptions {
    /// Threads that decode, beside the calling one that runs the sink.
    pub threads: usize,
    /// Input text that makes a chunk, in bytes. About twice as many chunks as threads are in
    /// memory.
    pub chunk_bytes: usize,
    /// Types of properties that overrule what an input says.
    pub types: Arc<PropertyTypes>,
    /// Keys made of other columns.
    pub keys: Option<Arc<KeyColumns>>,
    /// Entities with an earlier Timestamp are left out; those without one are taken.
    pub since: Option<DateTime>,
    /// Gives rejected entities as lines of JSON as well.
    pub keep_rejects: bool,
    /// The number of the source, which the origins of its rows have
    /// ([`Place::of_origin`](super::Place::of_origin)).
    pub source: u32,
}

impl Default for DecodeOptions {
    /// One thread for each processor, and chunks of a megabyte.
    fn default() -> Self {
        Self {
            threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
            chunk_bytes: 1 << 20,
            types: Arc::default(),
            keys: None,
            since: None,
            keep_rejects: false,
            source: 0,
        }
    }
}
