//! What an export is to do, and what it did.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::Notify;

use crate::compiler::Compiler;
use rowkey_base::Result;
use rowkey_formats::{Compression, Destination, ExportFormat, ExportTarget, Layout, Written};
use rowkey_model::KeyRange;

/// An export goes on while its client is so far behind.
const BACKLOG_BYTES_MAX: usize = 1 << 20;

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
    entities: AtomicU64,
    written: Arc<Written>,
    backlog: Backlog,
}

/// What a client that reads an export has not taken yet.
#[derive(Debug, Default)]
struct Backlog {
    bytes: AtomicUsize,
    taken: Notify,
}

impl ExportProgress {
    /// Entities, or rows of a query, written so far.
    pub fn entities(&self) -> u64 {
        self.entities.load(Ordering::Relaxed)
    }

    /// Bytes written so far, compressed ones if they are compressed.
    pub fn bytes(&self) -> u64 {
        self.written.bytes()
    }

    /// Bytes go to a client.
    pub(in crate::session) fn given(&self, bytes: usize) {
        self.backlog.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A client has taken them.
    pub(in crate::session) fn taken(&self, bytes: usize) {
        self.backlog.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.backlog.taken.notify_one();
    }

    /// Lets others run: a caller who wants the export to end need not wait for its last row. Waits
    /// while a client is behind.
    pub(super) async fn turn(&self) {
        tokio::task::yield_now().await;
        while self.backlog.bytes.load(Ordering::Relaxed) > BACKLOG_BYTES_MAX {
            self.backlog.taken.notified().await;
        }
    }

    pub(super) fn add(&self, entities: u64) {
        self.entities.fetch_add(entities, Ordering::Relaxed);
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
