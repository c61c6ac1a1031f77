//! One data folder: its catalog, its files, its log.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::catalog::{Catalog, Edit, Table};
use super::error::{Error, Result};
use super::log::{Log, Record, TornTail, newest_checkpoint, replay};
use super::run::{RunFile, RunFiles};
use crate::clock::Clock;
use crate::files::{FileStore, OwnerLock, paths};

/// Records of this kind hold a list of catalog edits in JSON, all of tables. Entity writes will have kinds of their own.
const CATALOG_EDITS: u8 = 1;
/// The same with edits of views and comments among them. Programs that know none refuse the kind by its number.
const DEFINITION_EDITS: u8 = 2;

/// Format of the content of a checkpoint: a catalog of tables alone, and one with views or comments. Programs that know none refuse
/// the second, which they would otherwise read without them and then write without them.
const CHECKPOINT_OF_TABLES: u32 = 1;
const CHECKPOINT_OF_DEFINITIONS: u32 = 2;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Bound of everything cached of files, in bytes.
    pub cache_bytes: u64,
    /// Size of a segment of the log, in bytes.
    pub segment_bytes: u64,
    /// A checkpoint is made once this many bytes of records follow the last one.
    pub checkpoint_after_bytes: u64,
    /// Leave everything as it is, and take no ownership: for object stores.
    pub read_only: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { cache_bytes: 256 << 20, segment_bytes: 1 << 20, checkpoint_after_bytes: 1 << 20, read_only: false }
    }
}

/// A data folder, open. Readers take [`Snapshot`]s and never wait for writers.
#[derive(Debug)]
pub struct Store {
    files: Arc<RunFiles>,
    clock: Arc<dyn Clock>,
    published: Arc<RwLock<Snapshot>>,
    writer: Option<Mutex<CatalogWriter>>,
    /// Tables with a maintenance job under way, as account and folded name.
    jobs: Arc<Mutex<HashSet<(String, String)>>>,
    torn_tail: Option<TornTail>,
    /// Last, so that the folder is released when everything else is closed.
    _owner: Option<Box<dyn OwnerLock>>,
}

#[derive(Debug)]
struct CatalogWriter {
    log: Log,
    bytes_since_checkpoint: u64,
    checkpoint_after_bytes: u64,
    /// Files that no newer catalog names, which older snapshots may still read.
    retired: Vec<Arc<RunFile>>,
}

/// The state after one record of the log. Files it names stay readable while it is held.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Sequence number of that record.
    pub sequence: u64,
    pub catalog: Arc<Catalog>,
}

/// Held while a maintenance job (an import, later a fold or a compaction) works on a table.
#[derive(Debug)]
pub struct TableJob {
    jobs: Arc<Mutex<HashSet<(String, String)>>>,
    table: (String, String),
}

impl Store {
    /// Opens a data folder, an empty one as well, and takes ownership of it.
    pub async fn open(store: Arc<dyn FileStore>, clock: Arc<dyn Clock>, options: StoreOptions) -> Result<Self> {
        let owner = if options.read_only { None } else { Some(store.lock()?) };
        let (mut catalog, from) = match newest_checkpoint(store.as_ref()).await? {
            Some(checkpoint) => {
                let catalog = serde_json::from_slice(&checkpoint.content)
                    .map_err(|error| Error::corrupt(&checkpoint.path, format!("it is no catalog: {error}")))?;
                (catalog, checkpoint.sequence)
            }
            None => (Catalog::default(), 0),
        };
        if from == 0 {
            refuse_without_log(store.as_ref()).await?;
            if options.read_only && store.list(paths::LOG).await?.is_empty() {
                return Err(Error::NoDataFolder { location: store.location() });
            }
        }
        let mut apply = |record: Record| Ok(apply_record(&mut catalog, &record)?);
        let (writer, replayed) = if options.read_only {
            (None, replay(store.as_ref(), from, &mut apply).await?)
        } else {
            let (log, replayed) = Log::open(Arc::clone(&store), options.segment_bytes, from, &mut apply).await?;
            let writer = CatalogWriter {
                log,
                bytes_since_checkpoint: 0,
                checkpoint_after_bytes: options.checkpoint_after_bytes,
                retired: Vec::new(),
            };
            (Some(Mutex::new(writer)), replayed)
        };
        if !options.read_only {
            sweep(store.as_ref(), &catalog).await?;
        }
        Ok(Self {
            files: Arc::new(RunFiles::new(store, options.cache_bytes)),
            clock,
            published: Arc::new(RwLock::new(Snapshot { sequence: replayed.last_sequence, catalog: Arc::new(catalog) })),
            writer,
            jobs: Arc::default(),
            torn_tail: replayed.torn_tail,
            _owner: owner,
        })
    }

    /// The newest state.
    pub fn snapshot(&self) -> Snapshot {
        self.published.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn files(&self) -> &Arc<RunFiles> {
        &self.files
    }

    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// What was cut from the log when it was opened, if a crash had left a record half written.
    pub fn torn_tail(&self) -> Option<&TornTail> {
        self.torn_tail.as_ref()
    }

    /// Claims a table, existing or not, for a maintenance job: one at a time.
    pub fn begin_job(&self, account: &str, table: &str) -> Result<TableJob> {
        // A job ends in a commit: better refused now than after the work.
        if self.writer.is_none() {
            return Err(self.read_only());
        }
        let claimed = (account.to_owned(), table.to_ascii_lowercase());
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if !jobs.insert(claimed.clone()) {
            return Err(Error::Busy(table.to_owned()));
        }
        Ok(TableJob { jobs: Arc::clone(&self.jobs), table: claimed })
    }

    /// Makes `edits` durable as one record and publishes the catalog they lead to. Blocks for the sync.
    pub fn commit(&self, edits: &[Edit]) -> Result<Snapshot> {
        let mut writer = self.writer()?;
        let before = self.snapshot();
        let catalog = Arc::new(before.catalog.apply(edits).map_err(Error::Conflict)?);
        let payload = serde_json::to_vec(edits).map_err(|error| Error::corrupt("catalog edits", error))?;
        writer.bytes_since_checkpoint += payload.len() as u64;
        let published = Arc::clone(&self.published);
        let next = Arc::clone(&catalog);
        let kind = if edits.iter().all(Edit::is_of_tables) { CATALOG_EDITS } else { DEFINITION_EDITS };
        let appended = writer.log.append_then(kind, payload, move |sequence| {
            *published.write().unwrap_or_else(PoisonError::into_inner) = Snapshot { sequence, catalog: next };
        });
        let sequence = appended.wait()?;
        let kept: HashSet<u64> =
            catalog.tables().flat_map(|table| table.manifest.files()).map(|file| file.id).collect();
        let gone =
            before.catalog.tables().flat_map(|table| table.manifest.files()).filter(|file| !kept.contains(&file.id));
        writer.retired.extend(gone.cloned());
        drop(before);
        let snapshot = Snapshot { sequence, catalog };
        if writer.bytes_since_checkpoint >= writer.checkpoint_after_bytes {
            checkpoint(&mut writer, &snapshot)?;
        }
        self.remove_retired(&mut writer);
        Ok(snapshot)
    }

    fn writer(&self) -> Result<MutexGuard<'_, CatalogWriter>> {
        match &self.writer {
            Some(writer) => Ok(writer.lock().unwrap_or_else(PoisonError::into_inner)),
            None => Err(self.read_only()),
        }
    }

    fn read_only(&self) -> Error {
        Error::ReadOnly { location: self.files.store().location() }
    }

    /// Removes files that no snapshot can reach any more. One that cannot be removed now is swept at the next opening.
    fn remove_retired(&self, writer: &mut CatalogWriter) {
        writer.retired.retain(|file| {
            self.files.forget(file.id);
            let reachable = Arc::strong_count(file) > 1;
            if !reachable {
                let _ = self.files.store().remove(&file.path);
            }
            reachable
        });
    }
}

impl Snapshot {
    pub fn table(&self, id: u64) -> Option<&Arc<Table>> {
        self.catalog.table_by_id(id)
    }
}

impl Drop for TableJob {
    fn drop(&mut self) {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.table);
    }
}

fn apply_record(catalog: &mut Catalog, record: &Record) -> Result<(), String> {
    if !matches!(record.kind, CATALOG_EDITS | DEFINITION_EDITS) {
        return Err(format!("its kind {} is unknown to this version", record.kind));
    }
    let edits: Vec<Edit> =
        serde_json::from_slice(&record.payload).map_err(|error| format!("it holds no catalog edits: {error}"))?;
    *catalog = catalog.apply(&edits)?;
    Ok(())
}

fn checkpoint(writer: &mut CatalogWriter, snapshot: &Snapshot) -> Result<()> {
    let content = serde_json::to_vec(snapshot.catalog.as_ref()).map_err(|error| Error::corrupt("catalog", error))?;
    let version = if snapshot.catalog.is_of_tables() { CHECKPOINT_OF_TABLES } else { CHECKPOINT_OF_DEFINITIONS };
    writer.log.checkpoint(snapshot.sequence, version, &content)?;
    writer.bytes_since_checkpoint = 0;
    Ok(())
}

/// Tables without any trace of a log were put there by somebody, or their log was lost: nothing of that is ours to sweep.
async fn refuse_without_log(store: &dyn FileStore) -> Result<()> {
    if !store.list(paths::LOG).await?.is_empty() || !store.list(paths::CHECKPOINT).await?.is_empty() {
        return Ok(());
    }
    match store.list(paths::TABLES).await?.into_iter().find(|file| paths::parse_run(&file.path).is_some()) {
        Some(file) => {
            let reason = format!("it is empty or missing, yet there are files of tables, such as {}", file.path);
            Err(Error::corrupt(format!("{}/{}", store.location(), paths::LOG), reason))
        }
        None => Ok(()),
    }
}

/// Removes what a crash or a failed job left behind: temporary files, and run files that the catalog does not name.
async fn sweep(store: &dyn FileStore, catalog: &Catalog) -> Result<()> {
    let named: HashSet<&str> =
        catalog.tables().flat_map(|table| table.manifest.files()).map(|file| file.path.as_str()).collect();
    for file in store.list("").await? {
        let orphan = paths::parse_run(&file.path).is_some() && !named.contains(file.path.as_str());
        if orphan || paths::is_temporary(&file.path) {
            store.remove(&file.path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
