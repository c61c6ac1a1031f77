//! Opening a data folder: its checkpoint, then its log, then what nothing names goes.

use std::sync::Arc;

use super::replay::{Recovered, Recovery};
use super::sweep::{sweep, unnamed};
use crate::error::{Error, Result};
use crate::log::{Callers, Log, Record, TornTail, newest_checkpoint, replay};
use crate::options::StoreOptions;
use rowkey_model::files::{FileEntry, FileStore, OwnerLock, paths};

/// A data folder that was opened, an empty one as well.
pub(crate) struct Opened {
    /// None if it is open for reading only.
    pub log: Option<Arc<Log>>,
    pub callers: Arc<Callers>,
    pub recovered: Recovered,
    /// Of the last record.
    pub sequence: u64,
    /// Records up to this one are covered by the checkpoint.
    pub covered: u64,
    /// What was cut from the log, if a crash had left a record half written.
    pub torn_tail: Option<TornTail>,
    /// Run files that no table names, where they were to be kept.
    pub unnamed: Vec<String>,
    /// Shared with others if it is open for reading only.
    pub owner: Box<dyn OwnerLock>,
}

/// Opens a data folder and takes ownership of it, or its part in reading it.
pub(crate) async fn open(store: &Arc<dyn FileStore>, options: &StoreOptions) -> Result<Opened> {
    let owner = store.lock()?;
    let mut recovery = match newest_checkpoint(store.as_ref()).await? {
        Some(checkpoint) => Recovery::from_checkpoint(&checkpoint)?,
        None => Recovery::default(),
    };
    let covered = recovery.covered();
    let from = covered.from;
    if from == 0 {
        refuse_without_log(store.as_ref()).await?;
        if options.read_only && store.list(paths::LOG).await?.is_empty() {
            return Err(Error::NoDataFolder { location: store.location() });
        }
    }
    // Read while everything is as it was found: what fails from here on finds the folder written
    // to.
    let found = if options.read_only && !options.keep_unnamed { Vec::new() } else { store.list("").await? };
    let mut apply = |record: Record| Ok(recovery.apply(&record)?);
    let callers: Arc<Callers> = Arc::default();
    let (log, replayed) = if options.read_only {
        (None, replay(store.as_ref(), covered, &mut apply).await?)
    } else {
        let (log, replayed) = Log::open_with(
            Arc::clone(store),
            options.segment_bytes,
            options.durability,
            Arc::clone(&callers),
            covered,
            &mut apply,
        )
        .await?;
        (Some(Arc::new(log)), replayed)
    };
    let sequence = log.as_ref().map_or(replayed.last_sequence, |log| log.durable());
    let recovered = recovery.finish();
    let unnamed = match options.read_only {
        true => unnamed(found, &recovered.catalog),
        false => sweep(store.as_ref(), found, &recovered.catalog, options.keep_unnamed)?,
    };
    let torn_tail = replayed.torn_tail;
    Ok(Opened { log, callers, recovered, sequence, covered: from, torn_tail, unnamed, owner })
}

/// Where there is no checkpoint: tables without a segment of a log were copied there, or their log
/// was lost. Nothing of that may be swept.
async fn refuse_without_log(store: &dyn FileStore) -> Result<()> {
    let is_segment = |file: &FileEntry| paths::parse_log_segment(&file.path).is_some();
    if store.list(paths::LOG).await?.iter().any(is_segment) {
        return Ok(());
    }
    for file in store.list(paths::TABLES).await? {
        let (Some(run), Some((folder, name))) = (paths::parse_run(&file.path), file.path.rsplit_once('/')) else {
            continue;
        };
        let (table, folder, file) = (run.table.to_owned(), folder.to_owned(), name.to_owned());
        return Err(Error::LogLost { location: store.location(), table, folder, file });
    }
    Ok(())
}
