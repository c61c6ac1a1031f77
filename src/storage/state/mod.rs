//! The state of an open data folder: the newest one, what is durable of it and therefore visible,
//! and what older snapshots still read.
//!
//! A commit is built on the [`Head`] under the commit lock, handed to the log, and published as a
//! [`Snapshot`] once its record is durable. What reads, writes or maintains tables does so through
//! here.

mod checkpoint;
mod commit;
mod head;
mod manifest_holds;
mod reclaimer;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::error::{Error, Result};
use super::log::{Callers, Durability, Log};
use super::options::StoreOptions;
use super::recovery::Opened;
use super::run::{FileIds, RunFiles};
use super::snapshot::Snapshot;
use checkpoint::Checkpoints;
pub(crate) use head::Head;
pub(crate) use manifest_holds::{ManifestHold, ManifestHolds};
use reclaimer::Reclaimer;
pub use reclaimer::Unlinked;
use rowkey_base::clock::Clock;
use rowkey_model::files::{FileStore, OwnerLock};

/// The state of one data folder.
#[derive(Debug)]
pub(crate) struct State {
    files: Arc<RunFiles>,
    clock: Arc<dyn Clock>,
    published: Arc<RwLock<Snapshot>>,
    /// None if the folder is open for reading only, like the log.
    head: Option<Mutex<Head>>,
    log: Option<Arc<Log>>,
    callers: Arc<Callers>,
    checkpoints: Checkpoints,
    file_ids: FileIds,
    reclaimer: Reclaimer,
    manifest_holds: Arc<ManifestHolds>,
    durability: Durability,
    /// Last, so that the folder is released when everything else is closed.
    owner: Box<dyn OwnerLock>,
}

impl State {
    /// The state that was recovered from `store`.
    pub(crate) fn of(opened: Opened, store: Arc<dyn FileStore>, clock: Arc<dyn Clock>, options: &StoreOptions) -> Self {
        let Opened { log, callers, recovered, sequence, covered, owner, .. } = opened;
        let (catalog, deltas) = (Arc::new(recovered.catalog), Arc::new(recovered.deltas));
        let file_ids = FileIds::from(catalog.next_file_id());
        let newest = Snapshot::new(sequence, catalog, deltas);
        let published = Arc::new(RwLock::new(newest.clone()));
        let head = log.as_ref().map(|log| {
            let (log, published) = (Arc::clone(log), Arc::clone(&published));
            Mutex::new(Head::new(log, published, newest, recovered.last_timestamp, recovered.log_bytes))
        });
        Self {
            files: Arc::new(RunFiles::new(store, options.cache_bytes)),
            clock,
            published,
            head,
            log,
            callers,
            checkpoints: Checkpoints::new(options.checkpoint_after_bytes, covered),
            file_ids,
            reclaimer: Reclaimer::default(),
            manifest_holds: Arc::default(),
            durability: options.durability,
            owner,
        }
    }

    /// The newest durable state.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.callers.note();
        self.published.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn files(&self) -> &Arc<RunFiles> {
        &self.files
    }

    /// Numbers of run files to be written.
    pub(crate) fn file_ids(&self) -> &FileIds {
        &self.file_ids
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Manifests that jobs leave as they are for a while.
    pub(crate) fn manifest_holds(&self) -> &Arc<ManifestHolds> {
        &self.manifest_holds
    }

    /// When single writes are acknowledged.
    pub(crate) fn durability(&self) -> Durability {
        self.durability
    }

    pub(crate) fn owner(&self) -> &dyn OwnerLock {
        self.owner.as_ref()
    }

    pub(crate) fn refuse_if_read_only(&self) -> Result<()> {
        if self.head.is_none() { Err(Error::ReadOnly) } else { Ok(()) }
    }

    /// The newest state under the commit lock; an error once a write has failed half way, since
    /// nobody knows whether the state behind that one will ever be.
    pub(crate) fn head(&self) -> Result<MutexGuard<'_, Head>> {
        let Some(head) = &self.head else { return Err(Error::ReadOnly) };
        let mut head = head.lock().unwrap_or_else(PoisonError::into_inner);
        if head.is_stalled()? {
            // Everything that was written is published, and the rest has been refused.
            head.take_back(&self.snapshot());
        }
        Ok(head)
    }

    /// Returns when everything that has been handed to the log is durable and published; an error
    /// if some of it never will be.
    pub(crate) async fn settled(&self) -> Result<()> {
        if let Some(log) = &self.log {
            log.settle().await?;
        }
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn log(&self) -> &Log {
        self.log.as_deref().expect("open for writing")
    }

    /// Bytes of the log on disk; 0 if it is not open for writing.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.log.as_ref().map_or(0, |log| log.bytes())
    }
}
