//! One data folder: its tables, their entities, and the upkeep of both.

mod maintenance;
mod writes;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use super::catalog::{Catalog, Edit};
use super::check::DamagedFile;
use super::error::Result;
use super::log::{Durability, TornTail};
use super::maintenance::{Maintenance, WriteStalls};
use super::options::StoreOptions;
use super::outputs;
use super::recovery;
use super::repair::{self, Quarantined};
use super::run::{FileIds, RunFiles};
use super::snapshot::Snapshot;
use super::state::State;
use super::write::{Writer, commit_edits};
use rowkey_base::clock::Clock;
use rowkey_model::files::FileStore;

/// A data folder, open. Readers take [`Snapshot`]s and never wait for writers.
#[derive(Debug)]
pub struct Store {
    pub(super) writer: Writer,
    pub(super) maintenance: Maintenance,
    pub(super) state: Arc<State>,
    torn_tail: Option<TornTail>,
    unnamed: Vec<String>,
    file_bytes: usize,
}

impl Store {
    /// Opens a data folder, an empty one as well, and takes ownership of it.
    ///
    /// # Errors
    /// [`Error::Files`](crate::Error::Files) if another process owns the folder or it cannot be
    /// read; [`Error::Log`](crate::Error::Log) and [`Error::Corrupt`](crate::Error::Corrupt) if it
    /// is damaged; [`Error::LogLost`](crate::Error::LogLost) if it has files of tables and no log;
    /// [`Error::NoDataFolder`](crate::Error::NoDataFolder) for an empty folder that can only be
    /// read.
    pub async fn open(store: Arc<dyn FileStore>, clock: Arc<dyn Clock>, options: StoreOptions) -> Result<Self> {
        let mut opened = recovery::open(&store, &options).await?;
        let (torn_tail, unnamed) = (opened.torn_tail.take(), std::mem::take(&mut opened.unnamed));
        let state = Arc::new(State::of(opened, store, clock, &options));
        let stalls = Arc::new(WriteStalls::new(options.delta_bytes_max));
        Ok(Self {
            writer: Writer::new(Arc::clone(&state), Arc::clone(&stalls)),
            maintenance: Maintenance::new(Arc::clone(&state), stalls),
            state,
            torn_tail,
            unnamed,
            file_bytes: options.file_bytes,
        })
    }

    /// Tells other processes that want the data folder where this one listens as a server.
    ///
    /// # Errors
    /// Those of writing it down.
    pub fn name_server(&self, address: SocketAddr) -> Result<()> {
        Ok(self.state.owner().name_server(address)?)
    }

    /// The newest durable state.
    pub fn snapshot(&self) -> Snapshot {
        self.state.snapshot()
    }

    /// The open run files.
    pub fn files(&self) -> &Arc<RunFiles> {
        self.state.files()
    }

    /// The clock that gives writes their Timestamps.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        self.state.clock()
    }

    /// Encoded bytes of the entities of one run file, about.
    pub fn file_bytes(&self) -> usize {
        self.file_bytes
    }

    /// Numbers of run files to be written.
    pub fn file_ids(&self) -> &FileIds {
        self.state.file_ids()
    }

    /// What was cut from the log when it was opened, if a crash had left a record half written.
    pub fn torn_tail(&self) -> Option<&TornTail> {
        self.torn_tail.as_ref()
    }

    /// Run files that no table names, where they were to be kept: left by a crash, or by the loss
    /// of a part of the log.
    pub fn unnamed_files(&self) -> &[String] {
        &self.unnamed
    }

    /// When single writes are acknowledged.
    pub fn durability(&self) -> Durability {
        self.state.durability()
    }

    /// Bytes of the log on disk; 0 if it is not open for writing.
    pub fn log_bytes(&self) -> u64 {
        self.state.log_bytes()
    }

    /// Returns when everything that has been handed to the log is durable and published.
    ///
    /// # Errors
    /// [`Error::Log`](crate::Error::Log) if some of it never will be.
    pub async fn settled(&self) -> Result<()> {
        self.state.settled().await
    }

    /// Makes `edits` durable as one record and publishes the catalog they lead to. Blocks for the
    /// sync.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict) if an edit does not fit the newest catalog;
    /// [`Error::ReadOnly`](crate::Error::ReadOnly), or [`Error::Log`](crate::Error::Log) if the
    /// record could not be written.
    pub fn commit(&self, edits: &[Edit]) -> Result<Snapshot> {
        self.state.commit_with(|_| Ok((edits.to_vec(), None)))
    }

    /// The same for edits that a statement asks for: TRUNCATE takes away everything that was
    /// written before it is committed. They were made for `base`.
    pub fn commit_definition(&self, edits: Vec<Edit>, base: &Catalog) -> Result<Snapshot> {
        commit_edits(&self.state, edits, base)
    }

    /// The same with edits that depend on the newest catalog, which stays as it is meanwhile.
    pub fn commit_built(&self, build: impl FnOnce(&Catalog) -> Vec<Edit>) -> Result<Snapshot> {
        self.state.commit_with(|head| Ok((build(&head.catalog), None)))
    }

    /// Moves damaged files into the quarantine and commits the catalog without them: their entities
    /// are gone from their tables. Files that are whole and were described wrongly stay, and are
    /// described rightly.
    pub async fn quarantine(&self, damaged: &[DamagedFile]) -> Result<Vec<Quarantined>> {
        repair::quarantine(&self.state, damaged).await
    }

    /// Refuses a path for output that leads into the folder of this store, or that the folder lies
    /// in. A folder that is not on a disk of this machine overlaps no path.
    ///
    /// # Errors
    /// [`Error::InDataFolder`](crate::Error::InDataFolder).
    pub fn expect_outside(&self, path: &Path) -> Result<()> {
        self.files().store().local_root().map_or(Ok(()), |root| outputs::expect_outside(root, path))
    }
}

#[cfg(test)]
mod tests;
