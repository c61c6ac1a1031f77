//! One data folder: its catalog, its files, its log.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::catalog::{Catalog, Edit};
use super::delta::{Deltas, TableDelta};
use super::error::{Error, Result};
use super::log::{Appended, Callers, Durability, Log, Record, SegmentBytes, TornTail, newest_checkpoint, replay};
use super::maintenance::{Failure, Jobs, MaintenanceSignals};
use super::recovery::{CHECKPOINT_WITH_SEQUENCE, CheckpointContent, Recovery};
use super::run::{RunFile, RunFiles};
use super::snapshot::Snapshot;
use super::write::{ENTITY_WRITES, TableHolds, payload};
use rowkey_base::clock::Clock;
use rowkey_model::files::{FileEntry, FileStore, OwnerLock, paths};
use rowkey_model::rows::PropertyId;
use rowkey_model::{DateTime, EdmType};

/// Records of this kind hold a list of catalog edits in JSON, all of tables. Entity writes have a
/// kind of their own.
pub(super) const CATALOG_EDITS: u8 = 1;
/// The same with edits of views and comments among them. Programs that know none refuse the kind by
/// its number.
pub(super) const DEFINITION_EDITS: u8 = 2;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Bound of everything cached of files, in bytes.
    pub cache_bytes: u64,
    /// How long segments of the log are.
    pub segment_bytes: SegmentBytes,
    /// A checkpoint is made once this many bytes of records follow the last one.
    pub checkpoint_after_bytes: u64,
    /// Memory of one table's recent writes, in bytes, beyond which writers wait for the fold.
    pub delta_bytes_max: u64,
    /// When single writes are acknowledged; everything else is synced first.
    pub durability: Durability,
    /// Leave everything as it is, and take no ownership: for object stores.
    pub read_only: bool,
    /// Leave run files that the catalog does not name where they are: [`Store::unnamed_files`]
    /// tells which.
    pub keep_unnamed: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            cache_bytes: 256 << 20,
            segment_bytes: SegmentBytes { min: 1 << 20, max: 16 << 20 },
            checkpoint_after_bytes: 1 << 20,
            delta_bytes_max: 128 << 20,
            durability: Durability::Sync,
            read_only: false,
            keep_unnamed: false,
        }
    }
}

/// A data folder, open. Readers take [`Snapshot`]s and never wait for writers.
#[derive(Debug)]
pub struct Store {
    files: Arc<RunFiles>,
    clock: Arc<dyn Clock>,
    published: Arc<RwLock<Snapshot>>,
    head: Option<Mutex<Head>>,
    log: Option<Arc<Log>>,
    callers: Arc<Callers>,
    checkpoints: Mutex<Checkpointing>,
    next_file_id: FileIds,
    pub(super) maintenance: MaintenanceSignals,
    pub(super) holds: TableHolds,
    /// Files that no newer catalog names, which older snapshots may still read.
    retired: Mutex<Vec<Arc<RunFile>>>,
    jobs: Arc<Jobs>,
    durability: Durability,
    torn_tail: Option<TornTail>,
    unnamed: Vec<String>,
    /// Last, so that the folder is released when everything else is closed.
    _owner: Option<Box<dyn OwnerLock>>,
}

/// The newest state, durable or on its way to be: what the next record is built on. Under its lock,
/// the commit lock, nothing waits.
#[derive(Debug)]
pub(super) struct Head {
    log: Arc<Log>,
    /// Of the last record handed to the log.
    sequence: u64,
    pub catalog: Arc<Catalog>,
    pub deltas: Arc<Deltas>,
    /// Of the last entity write.
    pub last_timestamp: DateTime,
    /// By table: the version of its columns, and the types of properties that need no further
    /// column.
    pub known_properties: HashMap<u64, (u64, HashSet<(PropertyId, EdmType)>)>,
    /// Since the last checkpoint.
    log_bytes: u64,
}

#[derive(Debug)]
struct Checkpointing {
    after_bytes: u64,
    /// What the last checkpoint covers.
    covered: u64,
}

/// Hands out the numbers of run files.
#[derive(Debug, Clone)]
pub struct FileIds(Arc<AtomicU64>);

impl FileIds {
    /// A number that no file has.
    pub fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    /// No file handed out from now on has a smaller number.
    pub fn lower_bound(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Store {
    /// Opens a data folder, an empty one as well, and takes ownership of it.
    pub async fn open(store: Arc<dyn FileStore>, clock: Arc<dyn Clock>, options: StoreOptions) -> Result<Self> {
        let owner = if options.read_only { None } else { Some(store.lock()?) };
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
        // Read while everything is as it was found: what fails from here on finds the folder
        // written to.
        let found = if options.read_only { Vec::new() } else { store.list("").await? };
        let mut apply = |record: Record| Ok(recovery.apply(&record)?);
        let callers: Arc<Callers> = Arc::default();
        let (log, replayed) = if options.read_only {
            (None, replay(store.as_ref(), covered, &mut apply).await?)
        } else {
            let (log, replayed) = Log::open_with(
                Arc::clone(&store),
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
        let (catalog, deltas) = (Arc::new(recovered.catalog), Arc::new(recovered.deltas));
        let unnamed = match options.read_only {
            true => Vec::new(),
            false => sweep(store.as_ref(), found, &catalog, options.keep_unnamed)?,
        };
        let head = log.as_ref().map(|log| {
            Mutex::new(Head {
                log: Arc::clone(log),
                sequence,
                catalog: Arc::clone(&catalog),
                deltas: Arc::clone(&deltas),
                last_timestamp: recovered.last_timestamp,
                known_properties: HashMap::new(),
                log_bytes: recovered.log_bytes,
            })
        });
        Ok(Self {
            files: Arc::new(RunFiles::new(store, options.cache_bytes)),
            clock,
            next_file_id: FileIds(Arc::new(AtomicU64::new(catalog.next_file_id()))),
            published: Arc::new(RwLock::new(Snapshot::new(sequence, catalog, deltas))),
            head,
            log,
            callers,
            checkpoints: Mutex::new(Checkpointing { after_bytes: options.checkpoint_after_bytes, covered: from }),
            maintenance: MaintenanceSignals::new(options.delta_bytes_max),
            holds: TableHolds::default(),
            retired: Mutex::default(),
            jobs: Arc::default(),
            durability: options.durability,
            torn_tail: replayed.torn_tail,
            unnamed,
            _owner: owner,
        })
    }

    /// The newest durable state.
    pub fn snapshot(&self) -> Snapshot {
        self.callers.note();
        self.published.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn files(&self) -> &Arc<RunFiles> {
        &self.files
    }

    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Numbers of run files to be written.
    pub fn file_ids(&self) -> &FileIds {
        &self.next_file_id
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

    pub(super) fn jobs(&self) -> &Arc<Jobs> {
        &self.jobs
    }

    /// When single writes are acknowledged.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    pub(super) fn refuse_if_read_only(&self) -> Result<()> {
        if self.head.is_none() { Err(self.read_only()) } else { Ok(()) }
    }

    /// Makes `edits` durable as one record and publishes the catalog they lead to. Blocks for the
    /// sync.
    pub fn commit(&self, edits: &[Edit]) -> Result<Snapshot> {
        self.commit_with(|_| Ok((edits.to_vec(), None)))
    }

    /// The same for edits that a statement asks for: TRUNCATE takes away everything that was
    /// written before it is committed. They were made for `base`.
    pub fn commit_definition(&self, mut edits: Vec<Edit>, base: &Catalog) -> Result<Snapshot> {
        self.commit_with(|head| {
            head.refuse_if_read_otherwise(&edits, base)?;
            for edit in &mut edits {
                if let Edit::TruncateTable { sequence, .. } = edit {
                    *sequence = head.next_sequence();
                }
            }
            Ok((edits, None))
        })
    }

    /// The same with edits that depend on the newest catalog, which nobody changes meanwhile.
    pub fn commit_built(&self, build: impl FnOnce(&Catalog) -> Vec<Edit>) -> Result<Snapshot> {
        self.commit_with(|head| Ok((build(&head.catalog), None)))
    }

    /// The same with edits that depend on the newest state, which nobody changes meanwhile; with
    /// them the delta of one table may be replaced. `build` must not wait.
    pub(super) fn commit_with(
        &self,
        build: impl FnOnce(&Head) -> Result<(Vec<Edit>, Option<(u64, Arc<TableDelta>)>)>,
    ) -> Result<Snapshot> {
        let (answer, gone, snapshot) = {
            let mut head = self.head()?;
            let (edits, delta) = build(&head)?;
            let before = Arc::clone(&head.catalog);
            let (kind, payload) = encode_edits(&edits)?;
            let answer = head.append(self, kind, payload, &edits, true, |head, _| {
                if let Some((table, delta)) = delta {
                    Arc::make_mut(&mut head.deltas).insert(table, delta);
                }
            })?;
            let snapshot = Snapshot::new(head.sequence, Arc::clone(&head.catalog), Arc::clone(&head.deltas));
            (answer, files_gone(&before, &head.catalog), snapshot)
        };
        answer.wait()?;
        self.retire(gone);
        Ok(snapshot)
    }

    /// Files that the newest catalog names no more go when nobody reads them; a checkpoint is made
    /// if it is time. Blocks for that.
    pub(super) fn retire(&self, gone: Vec<Arc<RunFile>>) {
        self.retired.lock().unwrap_or_else(PoisonError::into_inner).extend(gone);
        // What is committed stays committed, whatever becomes of the log before it.
        let checkpoint = self.checkpoint_when_due();
        self.maintenance.checkpointed(checkpoint.map_err(|error| Failure::of(&error)));
        self.remove_retired();
    }

    /// Returns when everything that has been handed to the log is durable and published; an error
    /// if some of it never will be.
    pub async fn settled(&self) -> Result<()> {
        if let Some(log) = &self.log {
            log.settle().await?;
        }
        Ok(())
    }

    /// The newest state under the commit lock.
    pub(super) fn head(&self) -> Result<MutexGuard<'_, Head>> {
        let Some(head) = &self.head else { return Err(self.read_only()) };
        let mut head = head.lock().unwrap_or_else(PoisonError::into_inner);
        if head.log.is_stalled() {
            // Everything that was written is published, and the rest has been refused.
            head.take_back(&self.snapshot());
            head.log.go_on();
        }
        Ok(head)
    }

    fn read_only(&self) -> Error {
        Error::ReadOnly { location: self.files.store().location() }
    }

    /// Removes files that no snapshot can reach any more. One that cannot be removed now is swept
    /// at the next opening.
    pub(super) fn remove_retired(&self) {
        let mut retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        retired.retain(|file| {
            self.files.forget(file.id);
            // The same description, or another one of the file.
            let reachable = Arc::strong_count(file) > 1 || file.holders.count() > 1;
            if !reachable {
                let _ = self.files.store().remove(&file.path);
            }
            reachable
        });
    }

    /// Writes a checkpoint if enough of the log could go.
    fn checkpoint_when_due(&self) -> Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        let mut checkpoints = self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = self.snapshot();
        let covered = covered_by(&snapshot);
        if covered <= checkpoints.covered {
            return Ok(());
        }
        // Either there is much behind the last checkpoint, or much before it that a table had held
        // back.
        let held_back = log.bytes_up_to(covered).saturating_sub(log.bytes_up_to(checkpoints.covered));
        let much = self.head()?.log_bytes.max(held_back);
        if much < checkpoints.after_bytes {
            return Ok(());
        }
        let content = CheckpointContent { sequence: snapshot.sequence, catalog: snapshot.catalog.as_ref() };
        let content = serde_json::to_vec(&content).map_err(|error| Error::corrupt("catalog", error))?;
        // It must not know of records that a crash could still take away.
        if log.durable() < snapshot.sequence {
            log.sync()?;
        }
        log.checkpoint(covered, CHECKPOINT_WITH_SEQUENCE, &content)?;
        checkpoints.covered = covered;
        self.head()?.log_bytes = 0;
        Ok(())
    }

    /// Bytes of the log that no checkpoint covers: writes that are not in run files hold them back.
    pub(super) fn uncovered_log_bytes(&self) -> u64 {
        let covered = self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner).covered;
        self.log.as_ref().map_or(0, |log| log.bytes().saturating_sub(log.bytes_up_to(covered)))
    }

    /// Bytes of the log on disk; 0 if it is not open for writing.
    pub fn log_bytes(&self) -> u64 {
        self.log.as_ref().map_or(0, |log| log.bytes())
    }
}

impl Head {
    /// Hands a record to the log and makes what it leads to the newest state; `enter` adds what
    /// belongs to the record besides catalog edits, and gets its sequence number. When the record
    /// is durable the state is published; with `synced` that does not depend on the store's
    /// [`Durability`].
    pub(crate) fn append(
        &mut self,
        store: &Store,
        kind: u8,
        payload: Vec<u8>,
        edits: &[Edit],
        synced: bool,
        enter: impl FnOnce(&mut Head, u64),
    ) -> Result<Appended> {
        if !edits.is_empty() {
            self.enter_edits(edits)?;
        }
        self.sequence += 1;
        let sequence = self.sequence;
        enter(self, sequence);
        self.log_bytes += payload.len() as u64;
        let published = Arc::clone(&store.published);
        let next = Snapshot::new(sequence, Arc::clone(&self.catalog), Arc::clone(&self.deltas));
        let publish = move |written| {
            debug_assert_eq!(written, sequence, "records are numbered in the order of their appends");
            *published.write().unwrap_or_else(PoisonError::into_inner) = next;
        };
        Ok(match synced {
            true => self.log.append_synced(kind, payload, publish),
            false => self.log.append_then(kind, payload, publish),
        })
    }

    /// Goes back to the published state: the records behind it were refused.
    fn take_back(&mut self, published: &Snapshot) {
        self.sequence = published.sequence;
        self.catalog = Arc::clone(&published.catalog);
        let kept = published.deltas.iter().map(|(&table, delta)| (table, delta.up_to(published.sequence)));
        self.deltas = Arc::new(kept.collect());
        self.known_properties.clear();
    }

    /// Changes the newest catalog, and the deltas with it.
    pub(crate) fn enter_edits(&mut self, edits: &[Edit]) -> Result<()> {
        self.catalog = Arc::new(self.catalog.apply(edits).map_err(Error::Conflict)?);
        follow_edits(Arc::make_mut(&mut self.deltas), edits);
        for edit in edits {
            if let Edit::TruncateTable { table, .. } = edit {
                // The properties of its writes are numbered anew.
                self.known_properties.remove(table);
            }
        }
        Ok(())
    }

    /// The sequence number that the next record gets.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.sequence + 1
    }

    /// Gives a table a new generation for its writes, if the one it has is full.
    pub(crate) fn seal_when_full(&mut self, table: u64) {
        if self.deltas.get(&table).is_some_and(|delta| delta.active().is_full()) {
            self.seal(table);
        }
    }

    /// Gives a table a new generation for its writes; the one it has never changes any more.
    pub(crate) fn seal(&mut self, table: u64) {
        if let Some(delta) = Arc::make_mut(&mut self.deltas).get_mut(&table)
            && !delta.active().is_empty()
        {
            *delta = Arc::new(delta.sealed());
        }
    }
}

/// Every table has a delta, be it empty: the numbers of its properties live as long as it does.
pub(super) fn follow_edits(deltas: &mut Deltas, edits: &[Edit]) {
    for edit in edits {
        match edit {
            Edit::CreateTable { id, .. } => {
                deltas.insert(*id, Arc::default());
            }
            Edit::DropTable { id } => {
                deltas.remove(id);
            }
            Edit::TruncateTable { table, .. } => {
                deltas.insert(*table, Arc::default());
            }
            Edit::SetColumns { .. }
            | Edit::DropColumn { .. }
            | Edit::RenameColumn { .. }
            | Edit::RenameTable { .. }
            | Edit::ReplaceRanges { .. }
            | Edit::MaskRows { .. }
            | Edit::SetFolded { .. }
            | Edit::CreateView { .. }
            | Edit::DropView { .. }
            | Edit::SetComment { .. } => {}
        }
    }
}

/// The last record that need not be replayed: all entity writes up to it are in run files.
fn covered_by(snapshot: &Snapshot) -> u64 {
    let first = snapshot.deltas.values().filter_map(|delta| delta.first_sequence()).min();
    first.map_or(snapshot.sequence, |first| snapshot.sequence.min(first - 1))
}

pub(super) fn files_gone(before: &Catalog, after: &Catalog) -> Vec<Arc<RunFile>> {
    let kept: HashSet<u64> = after.tables().flat_map(|table| table.manifest.files()).map(|file| file.id).collect();
    let files = before.tables().flat_map(|table| table.manifest.files());
    files.filter(|file| !kept.contains(&file.id)).cloned().collect()
}

fn encode_edits(edits: &[Edit]) -> Result<(u8, Vec<u8>)> {
    let failed = |error| Error::corrupt("catalog edits", error);
    if edits.iter().any(Edit::concerns_writes) {
        return Ok((ENTITY_WRITES, payload::encode(edits, [].iter()).map_err(failed)?));
    }
    let kind = if edits.iter().all(Edit::is_of_tables) { CATALOG_EDITS } else { DEFINITION_EDITS };
    Ok((kind, serde_json::to_vec(edits).map_err(failed)?))
}

/// Where there is no checkpoint: tables without a segment of a log were put there by somebody, or
/// their log was lost: nothing of that is ours to sweep.
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

/// Removes what a crash or a failed job left behind of the files `found`: temporary ones, and run
/// files that the catalog does not name. The latter are given back where they are to be kept.
fn sweep(store: &dyn FileStore, found: Vec<FileEntry>, catalog: &Catalog, keep_unnamed: bool) -> Result<Vec<String>> {
    let mut unnamed = Vec::new();
    let named: HashSet<&str> =
        catalog.tables().flat_map(|table| table.manifest.files()).map(|file| file.path.as_str()).collect();
    for file in found {
        let orphan = paths::parse_run(&file.path).is_some() && !named.contains(file.path.as_str());
        if orphan && keep_unnamed {
            unnamed.push(file.path);
        } else if orphan || paths::is_temporary(&file.path) {
            match store.remove(&file.path) {
                // A temporary one that the log has since used for the file that it was meant to be.
                Err(error) if error.is_not_found() => {}
                removed => removed?,
            }
        }
    }
    Ok(unnamed)
}

#[cfg(test)]
mod tests;
