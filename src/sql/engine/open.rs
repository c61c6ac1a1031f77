//! Opening a data folder.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::accounts::Compilers;
use super::maintenance::Maintenance;
use crate::entity_service::{EntityService, Principal};
use crate::provider::ScanOptions;
use crate::session::{
    Activity, Compiler, Error, FileAccess, Registry, Result, Session, SessionOptions, Settings, memory_bytes_available,
    query_memory_bytes,
};
use rowkey_base::clock::{Clock, SystemClock};
use rowkey_model::AccountName;
use rowkey_model::files::{self, FileStore, LocalStore, MemoryStore, RemoteStore, SpillFolder, paths};
use rowkey_postgres::cancellation::Signals;
use rowkey_storage::{Durability, FILE_BYTES, LogRepair, Store, StoreOptions, repair_log};

/// The location that keeps nothing.
const MEMORY: &str = ":memory:";
/// What the cache has where the machine does not tell its memory, and at least.
const CACHE_BYTES_MIN: u64 = 256 << 20;

fn cache_bytes_default() -> Option<u64> {
    memory_bytes_available().map(|bytes| (bytes / 8).max(CACHE_BYTES_MIN))
}

/// How a database is opened. The default suits a laptop.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The account of what names none, the emulator's by default. A data folder holds any number of
    /// accounts.
    pub account: AccountName,
    /// Bound of what is cached of files, in bytes: metadata, page indexes, decoded pages, entities;
    /// by default an eighth of what the process may have.
    pub cache_bytes: Option<u64>,
    /// Memory that queries may use before they spill, in bytes; by default half of what the process
    /// may have.
    pub memory_bytes: Option<u64>,
    /// Where queries and imports spill to, each process in a folder of its own there; by default in
    /// the data folder, or, where there is none to write to, in the system's folder for temporary
    /// files.
    pub spill_folder: Option<PathBuf>,
    /// Threads of one query; by default the machine's.
    pub target_partitions: Option<usize>,
    /// When writes of entities are acknowledged.
    pub durability: Durability,
    /// Keep files that no table names, which opening removes otherwise; `Engine::unnamed_files`
    /// tells which.
    pub keep_unnamed_files: bool,
    /// Change nothing in the data folder, and make nothing in it: it has to be there, several
    /// processes may read it at a time, and writes are refused. So is a folder in which this
    /// process may not write, and an object store.
    pub read_only: bool,
    /// How tables are scanned; the default is right for everything but checking it.
    pub scan: ScanOptions,
}

/// Encoded bytes of the entities of a run file: smaller ones where queries have little memory, as
/// those that write them hold two. Not much smaller: what was written with more is cut anew.
fn file_bytes_beside(memory_bytes: u64) -> usize {
    const PARTS: u64 = 4;
    usize::try_from(memory_bytes / PARTS).unwrap_or(FILE_BYTES).clamp(FILE_BYTES / 2, FILE_BYTES)
}

/// A data folder with everything that works on it.
#[derive(Debug)]
pub struct Engine {
    /// First, so that it ends before what it works on; none where nothing can be written.
    _maintenance: Option<Maintenance>,
    pub(super) store: Arc<Store>,
    read_only: bool,
    memory_bytes: u64,
    /// Of the default account, for the process itself.
    pub(super) entities: EntityService,
    pub(super) compilers: Compilers,
    registry: Arc<Registry>,
}

/// Where a database spills to that was not told.
#[derive(Debug)]
enum SpillDefault {
    /// In the data folder, once it is locked.
    DataFolder(PathBuf),
    System,
}

impl Engine {
    /// Opens a folder (made if need be), `:memory:`, or the URL of a data folder on an object
    /// store, which can only be read, as a folder in which this process may not write.
    pub async fn open(location: &str, options: Options) -> Result<Self> {
        Self::open_where(location, options, files::may_write).await
    }

    /// The same, with what tells whether this process may write in a folder.
    pub(super) async fn open_where(
        location: &str,
        options: Options,
        may_write: impl Fn(&Path) -> io::Result<bool>,
    ) -> Result<Self> {
        let mut read_only = options.read_only;
        let (files, spill): (Arc<dyn FileStore>, _) = if location == MEMORY {
            (Arc::new(MemoryStore::new()), SpillDefault::System)
        } else if location.contains("://") {
            read_only = true;
            (Arc::new(RemoteStore::open(location)?), SpillDefault::System)
        } else {
            let folder = Path::new(location);
            let unknown = |error| files::Error::from_io(location, files::Operation::OpenStore, error);
            read_only = read_only || !may_write(folder).map_err(unknown)?;
            match read_only {
                true => (Arc::new(LocalStore::open_read_only(location)?), SpillDefault::System),
                false => (Arc::new(LocalStore::open(location)?), SpillDefault::DataFolder(folder.join(paths::SPILL))),
            }
        };
        Self::open_spilling(files, Arc::new(SystemClock::new()), options, read_only, Some(spill)).await
    }

    /// The same on files and a clock of the caller's; imports spill to these files unless the
    /// options name a folder.
    #[cfg(test)]
    pub async fn open_files(
        files: Arc<dyn FileStore>,
        clock: Arc<dyn Clock>,
        options: Options,
        read_only: bool,
    ) -> Result<Self> {
        Self::open_spilling(files, clock, options, read_only, None).await
    }

    async fn open_spilling(
        files: Arc<dyn FileStore>,
        clock: Arc<dyn Clock>,
        options: Options,
        read_only: bool,
        spill_default: Option<SpillDefault>,
    ) -> Result<Self> {
        let memory_bytes = query_memory_bytes(options.memory_bytes);
        let storage = StoreOptions {
            cache_bytes: options.cache_bytes.or_else(cache_bytes_default).unwrap_or(CACHE_BYTES_MIN),
            file_bytes: file_bytes_beside(memory_bytes),
            durability: options.durability,
            read_only,
            keep_unnamed: options.keep_unnamed_files,
            ..StoreOptions::default()
        };
        let store = Arc::new(Store::open(files, clock, storage).await?);
        // What a killed process has left in the data folder is looked for once this one owns it.
        let spill = spill_folder(options.spill_folder.as_deref(), spill_default)?.map(Arc::new);
        let session = SessionOptions {
            memory_bytes: Some(memory_bytes),
            spill: spill.clone(),
            target_partitions: options.target_partitions,
            scan: options.scan,
        };
        let compiler = Compiler::new(Arc::clone(&store), options.account.clone(), session)?;
        let maintenance = if read_only { None } else { Some(Maintenance::start(&store)?) };
        Ok(Self {
            _maintenance: maintenance,
            entities: EntityService::new(Arc::clone(&store), spill, options.account, Principal::process()),
            store,
            read_only,
            memory_bytes,
            compilers: Compilers::new(compiler),
            registry: Arc::new(Registry::new()),
        })
    }

    /// Cuts a damaged log of a folder that does not open; `None` if the log is whole.
    pub async fn repair_log(location: &str) -> Result<Option<LogRepair>> {
        let files: Arc<dyn FileStore> = Arc::new(LocalStore::open_existing(location)?);
        Ok(repair_log(files).await?)
    }

    #[cfg(test)]
    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The default account: that of what names none.
    pub fn account(&self) -> &AccountName {
        self.entities.account()
    }

    /// Whether writes are refused, because that was asked for or the folder cannot be written.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Tells other processes that want the data folder where this one listens as a server.
    ///
    /// # Errors
    /// Those of writing it down.
    pub fn name_server(&self, address: SocketAddr) -> Result<()> {
        Ok(self.store.name_server(address)?)
    }

    /// Runs work of a door on the threads that plan and compute, since how long it takes is not
    /// bounded. Where this is dropped, the work ends where it awaits next.
    ///
    /// # Errors
    /// `INTERNAL_ERROR` where it panicked.
    pub async fn run_apart<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Result<T> {
        let signals = Signals::new().of_statement();
        let compiler = self.compilers.of(self.account());
        compiler.compute().run(&signals, async move { Ok(work.await) }).await
    }

    /// Memory that queries may use together, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// The clock by which entities get their Timestamps.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        self.store.clock()
    }

    /// All sessions that are open.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The entities of the default account, for the process itself.
    pub fn entities(&self) -> &EntityService {
        &self.entities
    }

    /// The entities of an account, which begins with its first table, for a principal.
    pub fn entities_of(&self, account: &AccountName, principal: &Principal) -> EntityService {
        self.entities.in_account(account.clone()).for_principal(principal.clone())
    }

    /// A new session over an account, of a principal who is at `client` (empty in the same
    /// process).
    ///
    /// # Errors
    /// `TOO_MANY_CONNECTIONS` beyond the sessions that [`Registry::allow`] bounds.
    pub fn session(
        &self,
        account: &AccountName,
        principal: &Principal,
        client: &str,
        mut settings: Settings,
    ) -> Result<Session> {
        // Statements do not ask yet what a signature permits.
        principal.expect_owner()?;
        if self.read_only {
            settings.allow_no_writes();
        }
        let activity = Activity::new(account.as_str(), principal.name(), client, self.store.clock().now());
        let registration = self.registry.register(activity)?;
        Ok(Session::new(self.compilers.of(account), registration, principal.name(), settings))
    }

    /// A session of this process over the default account, with the default settings; its COPY may
    /// write files, as the process itself may.
    pub fn own_session(&self) -> Result<Session> {
        self.own_session_in(self.account())
    }

    /// The same over another account.
    pub fn own_session_in(&self, account: &AccountName) -> Result<Session> {
        let mut session = self.session(account, self.entities.principal(), "", Settings::new([])?)?;
        session.allow_files(FileAccess::Anywhere);
        Ok(session)
    }
}

/// A folder to spill to. None if the default one cannot be had: a full disk is opened, and whoever
/// never spills needs none.
fn spill_folder(given: Option<&Path>, default: Option<SpillDefault>) -> Result<Option<SpillFolder>> {
    if let Some(folder) = given {
        return Ok(Some(SpillFolder::create(folder).map_err(unspillable)?));
    }
    match default {
        None => Ok(None),
        Some(SpillDefault::System) => Ok(SpillFolder::create(&std::env::temp_dir()).ok()),
        Some(SpillDefault::DataFolder(folder)) => match SpillFolder::create(&folder) {
            Err(files::Error::NoSpace { .. }) => Ok(None),
            made => Ok(Some(made.map_err(unspillable)?)),
        },
    }
}

fn unspillable(error: files::Error) -> Error {
    Error::from(error).with_hint("another folder can be named to spill to, which has to be writable")
}
