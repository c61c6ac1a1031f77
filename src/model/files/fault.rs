//! A fault-injecting store in memory, which knows what a crash would leave.
//!
//! It models a strict file system. The content of a file is durable up to its last sync; a name is
//! durable up to the last sync of its folder, whatever was synced in the file. What is not durable
//! may survive a crash or not, whole or in part, in any order among writes; changes of names within
//! one folder survive in their order. After a failed sync, what was written to the file before is
//! never made durable by a later one, as on Linux; names are journalled, and are. Folders
//! themselves need no sync.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{self, BoxFuture};

use super::error::{Error, Operation, Result};
use super::memory::{self, MemoryLock, MemoryStore, copy_of, is_below, named};
use super::paths;
use super::store::{FileEntry, FileStore, OwnerLock, ReadFile, WriteFile};
use rowkey_base::testing::Dice;

/// What goes wrong at a mutating operation (a create, write, change of length, sync, rename, remove
/// or sync of a folder).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The machine stops before the operation; from then on everything fails, reading too.
    Stop,
    /// The machine stops within the operation: a part of a write reaches the disk at once. Other
    /// operations just stop.
    Tear,
    /// This operation fails with an error of this kind, a write perhaps after a part of it; later
    /// ones work.
    Fail(io::ErrorKind),
}

/// Which faults come at which mutating operation, counted from 1.
#[derive(Debug, Clone, Default)]
pub struct FaultPlan(BTreeMap<u64, Fault>);

impl FaultPlan {
    /// No faults.
    pub fn none() -> Self {
        Self::default()
    }

    /// One fault at the `operation`-th mutating operation.
    pub fn at(operation: u64, fault: Fault) -> Self {
        Self::none().and(operation, fault)
    }

    /// A further fault.
    pub fn and(mut self, operation: u64, fault: Fault) -> Self {
        self.0.insert(operation, fault);
        self
    }
}

/// What a crash leaves of content that was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterCrash {
    LoseUnsynced,
    KeepUnsynced,
    /// Of each unsynced write nothing, all, a prefix, or all but a hole survives; of the changes of
    /// names in each folder the first few. The same for the same seed.
    TearUnsynced(u64),
}

/// A twin of [`MemoryStore`] with faults; clones share it.
#[derive(Debug, Clone)]
pub struct FaultStore {
    disk: Arc<Mutex<Disk>>,
    owned: Arc<AtomicBool>,
}

impl FaultStore {
    /// An empty store.
    pub fn new(plan: FaultPlan) -> Self {
        Self::over(&MemoryStore::new(), plan)
    }

    /// A store that holds, durably, a copy of these files.
    pub fn over(files: &MemoryStore, plan: FaultPlan) -> Self {
        let mut disk = Disk { plan, ..Disk::default() };
        for (path, content) in files.files() {
            let id = disk.add(FileState { live: content.clone(), durable: content, pending: Vec::new() });
            disk.live.insert(path.clone(), id);
            disk.durable.insert(path, id);
        }
        Self { disk: Arc::new(Mutex::new(disk)), owned: Arc::default() }
    }

    /// Mutating operations so far, the failed ones included.
    pub fn operations(&self) -> u64 {
        self.disk().operations
    }

    /// Faults that have happened so far.
    pub fn faults(&self) -> u64 {
        self.disk().faults
    }

    /// From now on this operation (opening, listing or reading) of a file or folder fails with an
    /// error of the operating system, by its number.
    pub fn fail_reading(&self, path: &str, operation: Operation, os_error: i32) {
        self.disk().unreadable.insert(named(path), (operation, os_error));
    }

    /// Whether a fault has stopped the store.
    pub fn is_stopped(&self) -> bool {
        self.disk().stopped
    }

    /// What the next process finds if the machine crashes now (or has stopped).
    pub fn after_crash(&self, mode: AfterCrash) -> MemoryStore {
        MemoryStore::with_files(self.disk().after_crash(mode))
    }

    /// What the next process finds on the same machine if this one ends now (or has stopped): all
    /// that was written, and of it no more is durable than before.
    pub fn after_kill(&self, plan: FaultPlan) -> Self {
        let left = self.disk();
        let disk = Disk {
            plan,
            files: left.files.clone(),
            live: left.live.clone(),
            durable: left.durable.clone(),
            pending: left.pending.clone(),
            ..Disk::default()
        };
        Self { disk: Arc::new(Mutex::new(disk)), owned: Arc::default() }
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileStore for FaultStore {
    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Arc<dyn ReadFile>>> {
        let opened = self.disk().find(path, Operation::Open).map(|(id, bytes)| {
            Arc::new(FaultFile { disk: Arc::clone(&self.disk), id, path: named(path), bytes }) as Arc<dyn ReadFile>
        });
        future::ready(opened).boxed()
    }

    fn list<'a>(&'a self, folder: &'a str) -> BoxFuture<'a, Result<Vec<FileEntry>>> {
        future::ready(self.disk().list(folder)).boxed()
    }

    fn create(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        paths::validate(path, Operation::Create)?;
        let id = self.disk().create(path)?;
        Ok(Box::new(FaultFile { disk: Arc::clone(&self.disk), id, path: named(path), bytes: 0 }))
    }

    fn open_for_write(&self, path: &str) -> Result<Box<dyn WriteFile>> {
        let (id, bytes) = self.disk().find(path, Operation::OpenForWrite)?;
        Ok(Box::new(FaultFile { disk: Arc::clone(&self.disk), id, path: named(path), bytes }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        paths::validate(from, Operation::Rename)?;
        paths::validate(to, Operation::Rename)?;
        self.disk().rename(from, to)
    }

    fn remove(&self, path: &str) -> Result<()> {
        paths::validate(path, Operation::Remove)?;
        self.disk().remove(path)
    }

    fn sync_folder(&self, folder: &str) -> Result<()> {
        paths::validate_folder(folder, Operation::SyncFolder)?;
        self.disk().sync_folder(folder)
    }

    fn lock(&self) -> Result<Box<dyn OwnerLock>> {
        self.disk().running("", Operation::Lock)?;
        Ok(Box::new(MemoryLock::take(&self.owned)?))
    }

    fn location(&self) -> String {
        memory::LOCATION.to_owned()
    }
}

/// A change to a file's content that is not durable yet.
#[derive(Debug, Clone)]
enum Change {
    Write { offset: u64, content: Vec<u8> },
    SetBytes(u64),
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>, path: &str) -> Result<()> {
        match self {
            Change::Write { offset, content: written } => memory::write_into(content, path, *offset, written),
            Change::SetBytes(bytes) => memory::set_length(content, path, *bytes),
        }
    }
}

#[derive(Debug, Clone, Default)]
struct FileState {
    live: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
}

/// A change to the names in a folder that is not durable yet; a rename within the folder is one
/// change.
#[derive(Debug, Clone, Default)]
struct NameChange {
    removed: Option<String>,
    added: Option<(String, usize)>,
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        if let Some(path) = &self.removed {
            names.remove(path);
        }
        if let Some((path, id)) = &self.added {
            names.insert(path.clone(), *id);
        }
    }
}

/// Files are never dropped from `files`: open handles and durable names may outlive their live
/// names.
#[derive(Debug, Default)]
struct Disk {
    plan: FaultPlan,
    operations: u64,
    faults: u64,
    stopped: bool,
    unreadable: BTreeMap<String, (Operation, i32)>,
    files: Vec<FileState>,
    live: BTreeMap<String, usize>,
    durable: BTreeMap<String, usize>,
    pending: BTreeMap<String, Vec<NameChange>>,
}

impl Disk {
    fn add(&mut self, file: FileState) -> usize {
        self.files.push(file);
        self.files.len() - 1
    }

    fn running(&self, path: &str, operation: Operation) -> Result<()> {
        if self.stopped {
            Err(Error::Stopped { path: named(path), operation })
        } else {
            self.readable(named(path), operation)
        }
    }

    fn readable(&self, path: String, operation: Operation) -> Result<()> {
        match self.unreadable.get(&path) {
            Some((fails, os_error)) if *fails == operation => {
                Err(Error::from_io(path, operation, io::Error::from_raw_os_error(*os_error)))
            }
            _ => Ok(()),
        }
    }

    /// Counts a mutating operation and lets its fault happen; a write may want to do a part first.
    fn step(&mut self, path: &str, operation: Operation) -> Result<(), (Fault, Error)> {
        let stopped = || Error::Stopped { path: path.to_owned(), operation };
        if self.stopped {
            return Err((Fault::Stop, stopped()));
        }
        self.operations += 1;
        let Some(fault) = self.plan.0.get(&self.operations).copied() else { return Ok(()) };
        self.faults += 1;
        match fault {
            Fault::Stop | Fault::Tear => {
                self.stopped = true;
                Err((fault, stopped()))
            }
            Fault::Fail(kind) => Err((fault, Error::from_io(path, operation, io::Error::from(kind)))),
        }
    }

    fn find(&self, path: &str, operation: Operation) -> Result<(usize, u64)> {
        paths::validate(path, operation)?;
        self.running(path, operation)?;
        let id = *self.live.get(path).ok_or_else(|| Error::NotFound { path: named(path), operation })?;
        Ok((id, self.files[id].live.len() as u64))
    }

    fn list(&self, folder: &str) -> Result<Vec<FileEntry>> {
        paths::validate_folder(folder, Operation::List)?;
        self.running(folder, Operation::List)?;
        let inside = self.live.iter().filter(|(path, _)| is_below(path, folder));
        Ok(inside
            .map(|(path, id)| FileEntry { path: path.clone(), bytes: self.files[*id].live.len() as u64 })
            .collect())
    }

    fn create(&mut self, path: &str) -> Result<usize> {
        self.step(&named(path), Operation::Create).map_err(|(_, error)| error)?;
        if self.live.contains_key(path) {
            return Err(Error::AlreadyExists { path: named(path), operation: Operation::Create });
        }
        let id = self.add(FileState::default());
        self.change_names(path, NameChange { removed: None, added: Some((path.to_owned(), id)) });
        Ok(id)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        self.step(&named(from), Operation::Rename).map_err(|(_, error)| error)?;
        let missing = || Error::NotFound { path: named(from), operation: Operation::Rename };
        let id = *self.live.get(from).ok_or_else(missing)?;
        let (removed, added) = (Some(from.to_owned()), Some((to.to_owned(), id)));
        if paths::folder_of(from) == paths::folder_of(to) {
            self.change_names(to, NameChange { removed: removed.filter(|_| from != to), added });
        } else {
            self.change_names(to, NameChange { removed: None, added });
            self.change_names(from, NameChange { removed, added: None });
        }
        Ok(())
    }

    fn remove(&mut self, path: &str) -> Result<()> {
        self.step(&named(path), Operation::Remove).map_err(|(_, error)| error)?;
        if !self.live.contains_key(path) {
            return Err(Error::NotFound { path: named(path), operation: Operation::Remove });
        }
        self.change_names(path, NameChange { removed: Some(path.to_owned()), added: None });
        Ok(())
    }

    fn change_names(&mut self, path: &str, change: NameChange) {
        change.apply(&mut self.live);
        self.pending.entry(paths::folder_of(path).to_owned()).or_default().push(change);
    }

    fn sync_folder(&mut self, folder: &str) -> Result<()> {
        self.step(&named(folder), Operation::SyncFolder).map_err(|(_, error)| error)?;
        for change in self.pending.remove(folder).unwrap_or_default() {
            change.apply(&mut self.durable);
        }
        Ok(())
    }

    fn write(&mut self, id: usize, path: &str, offset: u64, content: &[u8]) -> Result<()> {
        let faulted = self.step(path, Operation::Write).err();
        let kept = if faulted.is_some() { part_of(content.len(), self.operations) } else { content.len() };
        let change = Change::Write { offset, content: content[..kept].to_vec() };
        let file = &mut self.files[id];
        match faulted {
            Some((Fault::Stop, error)) => Err(error),
            Some((Fault::Tear, error)) => {
                change.apply(&mut file.live, path)?;
                change.apply(&mut file.durable, path)?;
                Err(error)
            }
            Some((Fault::Fail(_), error)) => {
                change.apply(&mut file.live, path)?;
                file.pending.push(change);
                Err(error)
            }
            None => {
                change.apply(&mut file.live, path)?;
                file.pending.push(change);
                Ok(())
            }
        }
    }

    fn set_bytes(&mut self, id: usize, path: &str, bytes: u64) -> Result<()> {
        self.step(path, Operation::SetBytes).map_err(|(_, error)| error)?;
        let file = &mut self.files[id];
        let change = Change::SetBytes(bytes);
        change.apply(&mut file.live, path)?;
        file.pending.push(change);
        Ok(())
    }

    fn sync(&mut self, id: usize, path: &str) -> Result<()> {
        let stepped = self.step(path, Operation::Sync).map_err(|(_, error)| error);
        if self.stopped {
            return stepped;
        }
        let file = &mut self.files[id];
        let changes = std::mem::take(&mut file.pending);
        stepped?; // The changes are lost to later syncs.
        for change in changes {
            change.apply(&mut file.durable, path)?;
        }
        Ok(())
    }

    fn after_crash(&self, mode: AfterCrash) -> BTreeMap<String, Vec<u8>> {
        let content = |id: &usize, seed: Option<u64>| match (mode, seed) {
            (AfterCrash::KeepUnsynced, _) => self.files[*id].live.clone(),
            (AfterCrash::TearUnsynced(_), Some(seed)) => torn(&self.files[*id], seed),
            (AfterCrash::LoseUnsynced | AfterCrash::TearUnsynced(_), _) => self.files[*id].durable.clone(),
        };
        match mode {
            AfterCrash::LoseUnsynced => {
                self.durable.iter().map(|(path, id)| (path.clone(), content(id, None))).collect()
            }
            AfterCrash::KeepUnsynced => self.live.iter().map(|(path, id)| (path.clone(), content(id, None))).collect(),
            AfterCrash::TearUnsynced(seed) => {
                let mut names = self.durable.clone();
                for (number, changes) in self.pending.values().enumerate() {
                    let survive = mix(seed.wrapping_add(number as u64)) % (changes.len() as u64 + 1);
                    changes.iter().take(survive as usize).for_each(|change| change.apply(&mut names));
                }
                names.iter().map(|(path, id)| (path.clone(), content(id, Some(mix(seed ^ *id as u64))))).collect()
            }
        }
    }
}

/// The durable content with some of the pending changes: each lost or whole, and a write also cut
/// short or with a hole.
fn torn(file: &FileState, seed: u64) -> Vec<u8> {
    let mut content = file.durable.clone();
    for (number, change) in file.pending.iter().enumerate() {
        let choice = mix(seed.wrapping_add(number as u64));
        let survives = match (choice % 4, change) {
            (0, _) => Vec::new(),
            (1 | 2, Change::Write { offset, content }) => {
                let cut = part_of(content.len(), choice);
                let mut pieces = vec![Change::Write { offset: *offset, content: content[..cut].to_vec() }];
                if choice % 4 == 2 {
                    let resumed = cut + part_of(content.len() - cut, !choice);
                    let content = content[resumed..].to_vec();
                    pieces.push(Change::Write { offset: offset + resumed as u64, content });
                }
                pieces
            }
            (_, change) => vec![change.clone()],
        };
        for change in survives {
            // It was possible on the live content, which differs only by changes that have not
            // survived.
            let _ = change.apply(&mut content, "");
        }
    }
    content
}

/// Some length below the whole (0 for 0 and 1), spread over all of it.
fn part_of(length: usize, choice: u64) -> usize {
    if length == 0 { 0 } else { (mix(choice) % length as u64) as usize }
}

/// Spreads small numbers over all bits, the same ones each time.
fn mix(number: u64) -> u64 {
    Dice(number).next_u64()
}

/// An open file, for reading or writing.
#[derive(Debug)]
struct FaultFile {
    disk: Arc<Mutex<Disk>>,
    id: usize,
    path: String,
    bytes: u64,
}

impl FaultFile {
    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn copy(&self, range: Range<u64>) -> Result<Bytes> {
        let disk = self.disk();
        if disk.stopped {
            return Err(Error::Stopped { path: self.path.clone(), operation: Operation::Read });
        }
        disk.readable(self.path.clone(), Operation::Read)?;
        copy_of(&disk.files[self.id].live, &self.path, range)
    }
}

impl ReadFile for FaultFile {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&self, range: Range<u64>) -> BoxFuture<'static, Result<Bytes>> {
        future::ready(self.copy(range)).boxed()
    }
}

impl WriteFile for FaultFile {
    fn write_at(&mut self, offset: u64, content: &[u8]) -> Result<()> {
        self.disk().write(self.id, &self.path, offset, content)
    }

    fn set_bytes(&mut self, bytes: u64) -> Result<()> {
        self.disk().set_bytes(self.id, &self.path, bytes)
    }

    fn sync(&mut self) -> Result<()> {
        self.disk().sync(self.id, &self.path)
    }
}

#[cfg(test)]
mod tests;
