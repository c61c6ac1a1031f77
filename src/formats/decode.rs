//! Decoding a source into chunks of rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::assumed::TypeSamples;
use super::error::{Error, Reject};
use super::format::Format;
use super::key_columns::KeyColumns;
use super::notes::{Notes, Warning, WarningKind};
use super::property_types::PropertyTypes;
use super::reading::Reading;
use super::source::Source;
use super::tool_json::{self, JsonTool};
use super::{azurite, parquet, service_json, typed_csv};
use rowkey_model::DateTime;
use rowkey_model::rows::{PropertyNames, Rows};

/// Most rejects that a chunk lists; beyond it they are only counted.
pub const REJECTS_LISTED_MAX: usize = 1000;

/// How to decode.
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

/// Counters that another thread may read while a source is decoded. One may serve several sources.
#[derive(Debug, Default)]
pub struct Progress {
    bytes_read: AtomicU64,
    entities: AtomicU64,
    rejected: AtomicU64,
}

impl Progress {
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes of input read so far. (Of a Parquet file the compressed size of the row groups begun.)
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Entities given to the sink so far.
    pub fn entities(&self) -> u64 {
        self.entities.load(Ordering::Relaxed)
    }

    pub fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    pub(super) fn add_bytes_read(&self, bytes: u64) {
        self.bytes_read.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A stretch of the input, decoded. The rows are sorted by key (ties in the order of the input).
#[derive(Debug, Default)]
pub struct Chunk {
    pub rows: Rows,
    /// The first [`REJECTS_LISTED_MAX`] entities not taken, in the order of the input.
    pub rejects: Vec<Reject>,
    /// All entities not taken.
    pub rejected: u64,
    /// All of them as lines of JSON, if they are to be kept.
    pub reject_lines: Vec<u8>,
}

impl Chunk {
    /// Counts a reject; `line` writes it where rejects are kept.
    pub(super) fn reject(
        &mut self,
        keep: bool,
        reject: impl FnOnce() -> Reject,
        line: impl FnOnce(&Reject, &mut Vec<u8>),
    ) {
        self.rejected += 1;
        let listed = self.rejects.len() < REJECTS_LISTED_MAX;
        if !listed && !keep {
            return;
        }
        let reject = reject();
        if keep {
            line(&reject, &mut self.reject_lines);
        }
        if listed {
            self.rejects.push(reject);
        }
    }
}

/// What a source held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Entities given to the sink.
    pub entities: u64,
    pub rejected: u64,
    /// Entities left out because they are older than wanted.
    pub before_since: u64,
    pub warnings: Vec<Warning>,
    /// What the values look like whose types the input does not name.
    pub samples: TypeSamples,
    /// Properties among those of [`DecodeOptions::types`] that the input has.
    pub types_met: Vec<Arc<str>>,
}

/// Whether a source that is read as `format` holds nothing at all, which a table without entities
/// is only in formats of lines. A CSV without its first line, and Parquet without its footer, are
/// refused as what they are.
fn holds_nothing(source: &mut Source, format: Format) -> Result<bool, Error> {
    match format {
        Format::ServiceJson | Format::Tool(_) => {
            let first = source.first_bytes()?;
            Ok(first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&first).iter().all(u8::is_ascii_whitespace))
        }
        Format::Parquet | Format::TypedCsv | Format::AzuriteDatabase => Ok(false),
    }
}

/// Decodes a source and gives its chunks to `sink`, on the calling thread and in the order of the
/// input. An error of the sink ends the decoding and is returned.
pub fn decode<E: From<Error>>(
    mut source: Source,
    format: Format,
    names: &Arc<PropertyNames>,
    options: &DecodeOptions,
    progress: &Progress,
    sink: &mut dyn FnMut(Chunk) -> Result<(), E>,
) -> Result<Counts, E> {
    let notes = Notes::new(Arc::clone(source.name()));
    if holds_nothing(&mut source, format)? {
        let reason = "it holds nothing, not even an empty array: the export may have failed";
        notes.warn(WarningKind::Truncated, reason);
    }
    let reading = Reading { names, options, progress, notes: &notes, types: options.types.numbered(names) };
    let mut counts = Counts { warnings: source.warnings().to_vec(), ..Counts::default() };
    let mut counting = |mut chunk: Chunk| {
        let found = chunk.rows.len() as u64;
        if let Some(since) = options.since {
            chunk.rows = not_before(since, chunk.rows);
        }
        let (entities, rejected) = (chunk.rows.len() as u64, chunk.rejected);
        counts.entities += entities;
        counts.before_since += found - entities;
        counts.rejected += rejected;
        progress.entities.fetch_add(entities, Ordering::Relaxed);
        progress.rejected.fetch_add(rejected, Ordering::Relaxed);
        sink(chunk)
    };
    let maps_keys = options.keys.as_ref().is_some_and(|keys| !keys.is_empty());
    match format {
        Format::ServiceJson if maps_keys => tool_json::decode(source, JsonTool::Any, &reading, &mut counting)?,
        Format::ServiceJson => service_json::decode(source, &reading, &mut counting)?,
        Format::Tool(tool) => tool_json::decode(source, tool, &reading, &mut counting)?,
        Format::Parquet => parquet::decode(source, &reading, &mut counting)?,
        Format::TypedCsv => typed_csv::decode(source, &reading, &mut counting)?,
        Format::AzuriteDatabase if maps_keys => {
            return Err(Error::KeysNotMapped { input: Arc::clone(source.name()) }.into());
        }
        Format::AzuriteDatabase => azurite::decode(source, &reading, &mut counting)?,
    }
    counts.types_met = reading.types.met(names);
    let found = counts.entities + counts.before_since + counts.rejected;
    let (warnings, samples) = notes.finish(found);
    counts.warnings.extend(warnings);
    counts.samples = samples;
    Ok(counts)
}

/// The rows that are not older.
fn not_before(since: DateTime, rows: Rows) -> Rows {
    let is_older = |at: Option<DateTime>| at.is_some_and(|at| at < since);
    if !rows.iter().any(|row| is_older(row.timestamp())) {
        return rows;
    }
    let mut kept = Rows::with_capacity(rows.len(), rows.bytes());
    rows.iter().filter(|row| !is_older(row.timestamp())).for_each(|row| kept.push_ref(row));
    kept
}
