//! What an export is to do, and what it did.

use std::sync::Arc;

use crate::compiler::Compiler;
use crate::session::output_flow::OutputFlow;
use rowkey_base::Result;
use rowkey_formats::{Compression, Destination, ExportFormat, ExportTarget, Layout, Written};
use rowkey_model::KeyRange;

/// Which entities of a table are exported.
#[derive(Debug, Clone, Default)]
pub enum Selection {
    #[default]
    All,
    /// Those of a range of keys.
    Range(KeyRange),
    /// Those that a condition in SQL is true of.
    Where(String),
}

/// How an export is written.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    pub format: ExportFormat,
    pub layout: Layout,
    /// Of the files; of Parquet, of the pages in it, which is zstd by default.
    pub compression: Option<Compression>,
    /// Replace what has the name already.
    pub overwrite: bool,
    pub progress: Arc<ExportProgress>,
}

impl ExportOptions {
    /// One file, not compressed, that replaces nothing.
    pub fn new(format: ExportFormat) -> Self {
        Self { format, layout: Layout::OneFile, compression: None, overwrite: false, progress: Arc::default() }
    }

    /// Refuses a path in the data folder.
    pub(crate) fn target(&self, destination: Destination, compiler: &Compiler, table: &str) -> Result<ExportTarget> {
        if let Destination::Path(path) = &destination {
            compiler.store().expect_outside(path)?;
        }
        Ok(ExportTarget {
            destination,
            format: self.format,
            layout: self.layout,
            compression: self.compression,
            overwrite: self.overwrite,
            account: compiler.account().as_str().to_owned(),
            table: table.to_owned(),
            written: Arc::clone(&self.progress.written),
        })
    }
}

/// Counters of an export under way; read them from another thread.
#[derive(Debug, Default)]
pub struct ExportProgress {
    flow: Arc<OutputFlow>,
    written: Arc<Written>,
}

impl ExportProgress {
    /// Entities, or rows of a query, written so far.
    pub fn entities(&self) -> u64 {
        self.flow.entities()
    }

    /// Bytes written so far, compressed ones if they are compressed.
    pub fn bytes(&self) -> u64 {
        self.written.bytes()
    }

    pub(in crate::session) fn flow(&self) -> &Arc<OutputFlow> {
        &self.flow
    }

    pub(super) async fn turn(&self) {
        self.flow.turn().await;
    }

    pub(super) fn add(&self, entities: u64) {
        self.flow.add(entities);
    }

    pub(super) fn report(&self, notes: Vec<String>) -> ExportReport {
        ExportReport { entities: self.entities(), files: self.written.files(), bytes: self.bytes(), notes }
    }
}

/// What an export did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportReport {
    /// Entities, or rows of a query.
    pub entities: u64,
    pub files: u64,
    /// Bytes written, compressed ones if they are compressed.
    pub bytes: u64,
    /// What the format could not keep, as sentences.
    pub notes: Vec<String>,
}
