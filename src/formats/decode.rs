//! Decoding a source into chunks of rows.

use std::sync::Arc;

use super::assumed::TypeSamples;
use super::chunk::Chunk;
use super::error::Error;
use super::format::Format;
use super::notes::{Notes, Warning, WarningKind};
use super::options::DecodeOptions;
use super::progress::Progress;
use super::reading::Reading;
use super::source::Source;
use super::tool_json::{self, JsonTool};
use super::{azurite, parquet, service_json, typed_csv};
use rowkey_model::DateTime;
use rowkey_model::rows::{PropertyNames, Rows};

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
        progress.add_entities(entities, rejected);
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
