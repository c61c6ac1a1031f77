//! COPY FROM STDIN in a format of entities: an import whose input a client sends.
//!
//! The import reads on threads of its own what the client's messages bring, a few of them ahead.
//! It commits once the client has said that this was all; whatever else ends the COPY ends the
//! import with its table as it was.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use datafusion::execution::memory_pool::{MemoryLimit, MemoryReservation};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::entity_options::EntityCopyOptions;
use crate::compiler::Compiler;
use crate::entity_service::{EntityService, ImportOptions, ImportProgress, ImportReport, OnReject, Principal};
use rowkey_base::{Error, Result, SqlState};
use rowkey_formats::{Format, Source};
use rowkey_postgres::error::from_datafusion;

/// What messages call the input.
const INPUT: &str = "STDIN";
/// Messages of the client that wait to be read.
const CHUNKS_AHEAD: usize = 4;
/// Entities held for sorting, and the part of the memory of all statements that they may be.
const SORT_BYTES_MAX: usize = 256 << 20;
const SORT_PARTS: usize = 8;
/// Decoded chunks and files that are being written, beside what is sorted.
const READING_BYTES: usize = 16 << 20;
/// Threads that decode.
const THREADS_MAX: usize = 2;
/// Bytes of the client that are kept before the import takes its memory: a COPY whose client sends
/// nothing holds none.
const KEPT_BYTES_MAX: usize = 64 << 10;

/// An import whose input comes from a client.
#[derive(Debug)]
pub struct EntitiesIn {
    input: Input,
    progress: Arc<ImportProgress>,
    format: Format,
    on_reject: OnReject,
}

/// Where the bytes of the client go.
#[derive(Debug)]
enum Input {
    Kept(BytesMut, Box<Pending>),
    Read(Running),
}

/// An import that has not begun.
#[derive(Debug)]
struct Pending {
    service: EntityService,
    table: String,
    options: ImportOptions,
    memory: MemoryReservation,
    runtime: Handle,
}

#[derive(Debug)]
struct Running {
    input: mpsc::Sender<Chunk>,
    import: JoinHandle<Result<ImportReport>>,
    _memory: MemoryReservation,
}

#[derive(Debug)]
enum Chunk {
    Bytes(Bytes),
    /// The client has sent all.
    End,
}

impl EntitiesIn {
    /// Prepares the import into a table; it begins with its input.
    pub(super) fn new(compiler: &Compiler, table: &str, options: EntityCopyOptions) -> Self {
        let sort_bytes = match compiler.memory_pool().memory_limit() {
            MemoryLimit::Finite(bytes) => (bytes / SORT_PARTS).min(SORT_BYTES_MAX),
            MemoryLimit::Infinite | MemoryLimit::Unknown => SORT_BYTES_MAX,
        };
        let progress = Arc::new(ImportProgress::new());
        let import = ImportOptions {
            format: Some(options.format),
            on_reject: options.on_reject,
            progress: Arc::clone(&progress),
            memory_bytes: sort_bytes,
            threads: Some(THREADS_MAX),
            ..ImportOptions::default()
        };
        let (store, spill) = (Arc::clone(compiler.store()), compiler.spill().cloned());
        let service = EntityService::new(store, spill, compiler.account().clone(), Principal::process());
        let memory = compiler.memory("COPY of entities");
        let pending = Pending { service, table: table.to_owned(), options: import, memory, runtime: Handle::current() };
        let EntityCopyOptions { format, on_reject, .. } = options;
        Self { input: Input::Kept(BytesMut::new(), Box::new(pending)), progress, format, on_reject }
    }

    /// Entities read so far.
    pub(super) fn count(&self) -> u64 {
        self.progress.entities()
    }

    /// Whether bytes are no text.
    pub(super) fn is_binary(&self) -> bool {
        self.format == Format::Parquet
    }

    /// Takes bytes as they come, once those before are nearly read.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` where queries have taken their memory, and those of the import, which ends
    /// at the first.
    pub(crate) async fn push(&mut self, bytes: Bytes) -> Result<()> {
        let running = match &mut self.input {
            Input::Kept(kept, _) if kept.len() + bytes.len() <= KEPT_BYTES_MAX => {
                kept.put_slice(&bytes);
                return Ok(());
            }
            Input::Kept(..) => self.begin().await?,
            Input::Read(running) => running,
        };
        if bytes.is_empty() || running.input.send(Chunk::Bytes(bytes)).await.is_ok() {
            return Ok(());
        }
        self.imported().await?;
        Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, "there is data behind the end of the entities"))
    }

    /// The import has all of its input: gives its entities, and what to tell the client, once it
    /// has committed.
    pub(crate) async fn finish(mut self) -> Result<(u64, Vec<Error>)> {
        // Where the import has ended, it has an error to tell.
        let _ = self.begin().await?.input.send(Chunk::End).await;
        let report = self.imported().await?;
        Ok((report.entities, notices(&report)))
    }

    /// Begins the import with what was kept, if it has not begun.
    async fn begin(&mut self) -> Result<&mut Running> {
        if let Input::Kept(kept, pending) = &mut self.input {
            let kept = kept.split().freeze();
            let running = pending.begin()?;
            // Where the import has ended already, the next send says so.
            let _ = running.input.send(Chunk::Bytes(kept)).await;
            self.input = Input::Read(running);
        }
        match &mut self.input {
            Input::Read(running) => Ok(running),
            Input::Kept(..) => Err(Error::new(SqlState::INTERNAL_ERROR, "the import has not begun")),
        }
    }

    async fn imported(&mut self) -> Result<ImportReport> {
        let ended = (&mut self.begin().await?.import).await;
        let report = ended.map_err(|error| Error::new(SqlState::INTERNAL_ERROR, error.to_string()))?;
        report.map_err(|error| match self.on_reject {
            OnReject::Stop if error.sqlstate() == SqlState::CHECK_VIOLATION => {
                error.with_hint("ON_ERROR ignore leaves out entities that break a rule, and lists them.")
            }
            _ => error,
        })
    }
}

impl Pending {
    /// Takes memory and begins; the import waits for its input.
    fn begin(&self) -> Result<Running> {
        let memory = self.memory.new_empty();
        memory.try_grow(self.options.memory_bytes + READING_BYTES).map_err(from_datafusion)?;
        let (input, chunks) = mpsc::channel(CHUNKS_AHEAD);
        let is_whole = Arc::new(AtomicBool::new(false));
        let options = ImportOptions { is_whole: Some(Arc::clone(&is_whole)), ..self.options.clone() };
        let source = Source::stream(INPUT, Box::new(Chunks { input: chunks, rest: Bytes::new(), is_whole }));
        let (service, table) = (self.service.clone(), self.table.clone());
        let import = self.runtime.spawn(async move { service.import(&table, vec![source], &options).await });
        Ok(Running { input, import, _memory: memory })
    }
}

impl Drop for EntitiesIn {
    fn drop(&mut self) {
        self.progress.cancel();
    }
}

/// The bytes of a client, for a thread that waits for them.
struct Chunks {
    input: mpsc::Receiver<Chunk>,
    rest: Bytes,
    /// Set at the end.
    is_whole: Arc<AtomicBool>,
}

impl Read for Chunks {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() && !self.is_whole.load(Ordering::Acquire) {
            match self.input.blocking_recv() {
                Some(Chunk::Bytes(bytes)) => self.rest = bytes,
                Some(Chunk::End) => self.is_whole.store(true, Ordering::Release),
                None => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the client did not send all of it")),
            }
        }
        let read = self.rest.len().min(into.len());
        self.rest.copy_to_slice(&mut into[..read]);
        Ok(read)
    }
}

/// What an import did, for a client.
fn notices(report: &ImportReport) -> Vec<Error> {
    let counts = [
        ("inserted", report.inserted),
        ("replaced", report.replaced),
        ("unchanged", report.unchanged),
        ("older", report.older),
        ("duplicates", report.duplicates),
        ("superseded", report.superseded),
        ("rejected", report.rejected),
    ];
    let counts: Vec<String> =
        counts.iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!("{count} {name}")).collect();
    let counts = if counts.is_empty() { "nothing to import".to_owned() } else { counts.join(", ") };
    let mut notices = vec![Error::new(SqlState::SUCCESSFUL_COMPLETION, format!("entities: {counts}"))];
    let warning = |text: String| Error::new(SqlState::BAD_COPY_FILE_FORMAT, text);
    notices.extend(report.rejects.iter().map(|reject| warning(reject.to_string())));
    notices.extend(report.warnings.iter().map(|told| warning(told.to_string())));
    let doubtful = report.assumed.iter().filter_map(|assumed| Some((assumed, assumed.looks_like?)));
    notices.extend(doubtful.map(|(assumed, looks_like)| {
        let taken: Vec<&str> = assumed.assumed.iter().map(|edm| edm.name()).collect();
        let message = format!(
            "the input does not name the type of \"{}\": taken as {}, looks like {looks_like}",
            assumed.property,
            taken.join(" and ")
        );
        Error::new(SqlState::SUCCESSFUL_COMPLETION, message)
    }));
    notices
}
