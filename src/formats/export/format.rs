//! The formats of exports, and what each of them loses.

use std::path::Path;

use crate::output::Compression;

/// A format that entities are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// Columns by property, typed; a property of several types has one for each: `Age:Int64`.
    Parquet,
    /// The CSV of Storage Explorer: a type beside every value.
    TypedCsv,
    /// The payload of the service with full metadata.
    ServiceJson,
    /// One entity a line, as the service writes them with minimal metadata.
    NdJson,
    /// A CSV without types.
    PlainCsv,
}

impl ExportFormat {
    /// All formats.
    pub const ALL: [ExportFormat; 5] = [
        ExportFormat::Parquet,
        ExportFormat::TypedCsv,
        ExportFormat::ServiceJson,
        ExportFormat::NdJson,
        ExportFormat::PlainCsv,
    ];

    /// What the user calls it.
    pub fn name(self) -> &'static str {
        match self {
            ExportFormat::Parquet => "parquet",
            ExportFormat::TypedCsv => "csv",
            ExportFormat::ServiceJson => "json",
            ExportFormat::NdJson => "ndjson",
            ExportFormat::PlainCsv => "plain-csv",
        }
    }

    /// The format of a [`name`](Self::name).
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// By the extension of a file's name, without that of a compression.
    fn of_extension(extension: &str) -> Option<Self> {
        match extension {
            "parquet" => Some(ExportFormat::Parquet),
            "csv" => Some(ExportFormat::TypedCsv),
            "json" => Some(ExportFormat::ServiceJson),
            "ndjson" | "jsonl" => Some(ExportFormat::NdJson),
            _ => None,
        }
    }

    /// By the end of a file's name, before that of a compression.
    pub fn of_path(path: &Path) -> Option<Self> {
        let plain = match Compression::of_path(path) {
            Some(_) => path.with_extension(""),
            None => path.to_owned(),
        };
        Self::of_extension(plain.extension()?.to_str()?)
    }

    /// Whether the properties have to be known before the first entity is written.
    pub fn has_columns(self) -> bool {
        matches!(self, ExportFormat::Parquet | ExportFormat::TypedCsv | ExportFormat::PlainCsv)
    }

    /// What cannot be read back, as sentences; empty for formats that keep everything.
    pub fn losses(self) -> &'static [&'static str] {
        match self {
            ExportFormat::Parquet | ExportFormat::TypedCsv | ExportFormat::ServiceJson | ExportFormat::NdJson => &[],
            ExportFormat::PlainCsv => &[
                "plain-csv has no types: numbers, times, Guids and base64 are read back as whatever their reader takes them for",
            ],
        }
    }
}

/// How an export is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    #[default]
    OneFile,
    /// Service JSON: a folder of pages of a thousand entities, as the service hands them out.
    Pages,
    /// Parquet: a folder `PartitionKey=<value>` for each PartitionKey, as Hive has it.
    ByPartitionKey,
}
