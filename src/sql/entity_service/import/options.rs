//! How an import works.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::progress::ImportProgress;
use rowkey_formats::{Format, KeyColumns, PropertyTypes, RejectsFile};
use rowkey_model::DateTime;

/// Rows held for sorting.
const SORT_BYTES: usize = 256 << 20;

/// What to do about entities that break a rule of the data model, or that are lost to different
/// ones of their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnReject {
    /// Give up; the table stays as it was.
    Stop,
    /// Leave them out and list them.
    #[default]
    Skip,
}

/// How an import works.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// By default it is told from the first bytes of each input.
    pub format: Option<Format>,
    /// Of a database of Azurite, the account whose tables are taken; by default the one imported
    /// into.
    pub from_account: Option<String>,
    pub on_reject: OnReject,
    /// Types of properties, which overrule what an input says.
    pub types: PropertyTypes,
    /// Makes the keys of other columns.
    pub keys: KeyColumns,
    /// Leaves out entities with an earlier Timestamp. Those without one are taken.
    pub since: Option<DateTime>,
    /// Takes what is rejected, as lines that can be corrected and imported again.
    pub rejects: Option<Arc<RejectsFile>>,
    /// Reads, sorts and compares everything, reports, and leaves the table as it is.
    pub dry_run: bool,
    /// Refuses an input that looks incomplete ([`rowkey_formats::WarningKind::Truncated`]), types
    /// of properties that no input has ([`rowkey_formats::WarningKind::Unused`]), and any reject.
    pub strict: bool,
    pub progress: Arc<ImportProgress>,
    /// Encoded bytes of the entities of one run file; by default those of all others.
    pub file_bytes: Option<usize>,
    /// Threads that decode; by default one for each processor.
    pub threads: Option<usize>,
    /// Set when an input that comes from elsewhere has come to its end: an import that finds it
    /// unset is refused before it commits.
    pub is_whole: Option<Arc<AtomicBool>>,
    /// Bytes of entities held for sorting input that is not in key order; more is spilled to disk.
    pub memory_bytes: usize,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            format: None,
            from_account: None,
            on_reject: OnReject::default(),
            types: PropertyTypes::default(),
            keys: KeyColumns::default(),
            since: None,
            rejects: None,
            dry_run: false,
            strict: false,
            progress: Arc::default(),
            file_bytes: None,
            threads: None,
            is_whole: None,
            memory_bytes: SORT_BYTES,
        }
    }
}
