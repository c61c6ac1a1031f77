//! Group commit with a leader and followers: many callers, one that writes.
//!
//! The leader, mostly the log's thread, takes all appends that wait, writes them with one write,
//! makes them durable with one sync, runs what each of them wants done, in log order, and only then
//! answers. While it syncs, the next group gathers.
//!
//! Where one caller has the store to itself ([`Callers`]), waking the thread and being woken by it
//! takes as long as the sync. Then the caller leads: an append that finds no leader at work, after
//! some groups of a single append, is written where its answer is awaited ([`Lead`]).

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use tokio::sync::oneshot;

use super::callers::Callers;
use super::checkpoint::Checkpoints;
use super::error::{Error, Result};
use super::queue::{EndOfLead, Entry, Leader, OnDurable, PANICKED, PoisonAtEnd, Queue};
use super::record::{FRAME_BYTES, PAYLOAD_BYTES_MAX, STAMP};
use super::recovery::{self, Apply, Covered, Replayed};
use super::segment::{HEADER_BYTES, RESERVED_BYTES, SegmentBytes};
use super::threads::{Builder, JoinHandle, Mutex, MutexGuard, Thread, current, park};
use super::writer::{Segments, Writer};
use rowkey_model::files::{self, FileStore};

/// When an append is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// When its record is synced.
    #[default]
    Sync,
    /// When its record is written, unless it asks for more: the operating system syncs it when it
    /// likes. The end of the process loses nothing, that of the machine may lose the last records.
    Os,
}

impl Durability {
    /// As it is written in options.
    pub fn name(self) -> &'static str {
        match self {
            Durability::Sync => "sync",
            Durability::Os => "os",
        }
    }
}

/// The log of one data folder, open for writing. The caller owns the folder.
pub(crate) struct Log {
    store: Arc<dyn FileStore>,
    segments: Segments,
    checkpoints: Checkpoints,
    pub(super) queue: Arc<Queue>,
    committer: Option<JoinHandle<Result<()>>>,
    pub(super) writing: Arc<Writing>,
}

impl Log {
    /// Opens the log, or creates it if there is none and no checkpoint.
    ///
    /// Hands all records that the newest checkpoint does not cover to `apply` in their order; cuts
    /// a torn tail, keeping a copy. Damage to what was durable is an error, and then nothing is
    /// changed; what has been applied by then is to be thrown away. New segments are as long as
    /// `segment_bytes` says, or longer where a single record needs it.
    #[cfg(test)]
    pub(crate) async fn open(
        store: Arc<dyn FileStore>,
        segment_bytes: SegmentBytes,
        from: u64,
        apply: &mut Apply<'_>,
    ) -> Result<(Self, Replayed)> {
        Self::open_with(store, segment_bytes, Durability::Sync, Arc::default(), Covered::up_to(from), apply).await
    }

    /// The same; `durability` says what appends wait for, and `callers` whether a caller has the
    /// store to itself.
    pub(crate) async fn open_with(
        store: Arc<dyn FileStore>,
        segment_bytes: SegmentBytes,
        durability: Durability,
        callers: Arc<Callers>,
        covered: Covered,
        apply: &mut Apply<'_>,
    ) -> Result<(Self, Replayed)> {
        let min = segment_bytes.min.max((HEADER_BYTES + FRAME_BYTES + RESERVED_BYTES) as u64);
        let segment_bytes = SegmentBytes { min, ..segment_bytes };
        let checkpoints = Checkpoints::list(store.as_ref()).await?;
        let (writer, segments, replayed) = recovery::recover(Arc::clone(&store), segment_bytes, covered, apply).await?;
        let queue = Arc::new(Queue::new(writer.next() - 1, callers));
        let writing = Arc::new(Writing { writer: Mutex::new(writer), durability });
        let committer = {
            let (queue, writing) = (Arc::clone(&queue), Arc::clone(&writing));
            Builder::new().name("rowkey-log".to_owned()).spawn(move || run(&queue, &writing)).map_err(Error::Thread)?
        };
        Ok((Self { store, segments, checkpoints, queue, committer: Some(committer), writing }, replayed))
    }

    /// Hands a record to the log; the answer comes from [`Appended`]. Records get their sequence
    /// numbers in the order of these calls. `kind` is the caller's business, but not 0.
    #[cfg(test)]
    pub(crate) fn append(&self, kind: u8, payload: impl Into<Bytes>) -> Appended {
        self.append_entry(kind, payload.into(), false, None)
    }

    /// The same; `on_durable` runs on the log's thread when the record is durable, before the
    /// answer, and in log order: the place to publish the new state. It should be quick and must
    /// not wait for the log.
    pub(crate) fn append_then(
        &self,
        kind: u8,
        payload: impl Into<Bytes>,
        on_durable: impl FnOnce(u64) + Send + 'static,
    ) -> Appended {
        self.append_entry(kind, payload.into(), false, Some(Box::new(on_durable)))
    }

    /// The same, and the record and all before it are synced whatever the log's [`Durability`].
    pub(crate) fn append_synced(
        &self,
        kind: u8,
        payload: impl Into<Bytes>,
        on_durable: impl FnOnce(u64) + Send + 'static,
    ) -> Appended {
        self.append_entry(kind, payload.into(), true, Some(Box::new(on_durable)))
    }

    fn append_entry(&self, kind: u8, payload: Bytes, synced: bool, on_durable: Option<OnDurable>) -> Appended {
        let (done, answer) = oneshot::channel();
        let entry = Entry { kind, payload, synced, on_durable, done };
        if kind == STAMP {
            entry.answer(Err(Error::ReservedKind { kind }));
        } else if entry.payload.len() > PAYLOAD_BYTES_MAX {
            let bytes = entry.payload.len() as u64;
            entry.answer(Err(Error::TooLong { bytes, bytes_max: PAYLOAD_BYTES_MAX as u64 }));
        } else if let Leader::Caller { yields } = self.queue.push(entry) {
            let (queue, writing) = (Arc::clone(&self.queue), Arc::clone(&self.writing));
            return Appended { lead: Some(Lead { queue, writing, yields, begun: false }), answer };
        }
        Appended { lead: None, answer }
    }

    /// Syncs what is written; gives the highest sequence number that is durable then. Blocks.
    pub(crate) fn sync(&self) -> Result<u64> {
        self.settle().wait()
    }

    /// The same as an answer to come: it comes when everything appended so far has been answered.
    pub(crate) fn settle(&self) -> Appended {
        let (done, answer) = oneshot::channel();
        self.queue.want_sync(done);
        Appended { lead: None, answer }
    }

    /// Whether appends are refused for want of a segment. The caller takes back what it has built
    /// on them, and goes on. An error if they are refused for good.
    pub(crate) fn is_stalled(&self) -> Result<bool> {
        let state = self.queue.state();
        match state.poisoned.clone() {
            Some(cause) => Err(Error::Poisoned { cause }),
            None => Ok(state.stalled.is_some()),
        }
    }

    /// Takes appends again after a segment could not be made; nothing may be appended until this
    /// returns.
    pub(crate) fn go_on(&self) {
        self.queue.state().stalled = None;
    }

    /// Bytes of the segments there are.
    pub(crate) fn bytes(&self) -> u64 {
        self.segments.bytes()
    }

    /// Bytes of the segments with nothing but records up to this one.
    pub(crate) fn bytes_up_to(&self, sequence: u64) -> u64 {
        self.segments.bytes_up_to(sequence)
    }

    /// The highest sequence number that is durable.
    pub(crate) fn durable(&self) -> u64 {
        self.queue.state().durable
    }

    /// Waits until the next segment is there, if it is being made.
    #[cfg(test)]
    pub(crate) fn await_next_segment(&self) {
        self.writing.writer().await_next();
    }

    /// Why the log takes no more writes, if it does not.
    #[cfg(test)]
    pub(crate) fn poisoned(&self) -> Option<Arc<str>> {
        self.queue.state().poisoned.clone()
    }

    /// Makes a checkpoint of everything up to `sequence`, then frees what it replaces: segments
    /// that hold nothing above it and older checkpoints. `version` is the format of the content.
    /// Blocks for the I/O; appends go on meanwhile.
    pub(crate) fn checkpoint(&self, sequence: u64, version: u32, content: &[u8]) -> Result<()> {
        let durable = {
            let state = self.queue.state();
            if let Some(cause) = state.poisoned.clone() {
                return Err(Error::Poisoned { cause });
            }
            state.durable
        };
        self.checkpoints.write(self.store.as_ref(), &self.segments, sequence, durable, version, content)
    }

    /// Writes what waits, attests all of it with a stamp, and stops.
    #[cfg(test)]
    pub(crate) fn close(mut self) -> Result<()> {
        self.stop()
    }

    fn stop(&mut self) -> Result<()> {
        self.queue.close();
        let Some(committer) = self.committer.take() else { return Ok(()) };
        let stopped = committer.join();
        self.writing.writer().give_up_next();
        match stopped {
            Ok(stopped) => stopped,
            Err(_) => Err(Error::OutcomeUnknown { cause: Arc::from(PANICKED) }),
        }
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("location", &self.store.location()).field("durable", &self.durable()).finish()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // Every append has its own answer; the outcome of the end itself is that of `close`.
        let _ = self.stop();
    }
}

/// The answer to an append: its sequence number once it is durable. Awaited, or waited for. Where
/// its caller leads, no other append is written until it is awaited or dropped.
#[derive(Debug)]
pub(crate) struct Appended {
    /// The caller leads: what awaits the answer writes the record first.
    lead: Option<Lead>,
    answer: oneshot::Receiver<Result<u64>>,
}

impl Appended {
    /// Whether its caller leads.
    #[cfg(test)]
    pub(crate) fn is_led(&self) -> bool {
        self.lead.is_some()
    }

    /// Blocks this thread until the answer is there.
    pub(crate) fn wait(self) -> Result<u64> {
        let mut answer = pin!(self);
        let waker = Waker::from(Arc::new(Unpark(current())));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(answer) = answer.as_mut().poll(&mut context) {
                return answer;
            }
            park();
        }
    }
}

impl Future for Appended {
    type Output = Result<u64>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(lead) = self.lead.take() {
            let yields = lead.yields;
            lead.write();
            if yields {
                // The answer is there. But this thread was blocked, and the tasks that wait for it
                // go first: or else a caller with one append after another would keep it to itself,
                // and no other append could join the next group.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        Pin::new(&mut self.answer).poll(context).map(|answer| {
            // An entry dropped without an answer was in the hands of a thread that panicked.
            answer.unwrap_or_else(|_| Err(Error::OutcomeUnknown { cause: Arc::from(PANICKED) }))
        })
    }
}

/// The lead of a caller, whose append waits in the queue. Dropped unused, it goes to the thread.
struct Lead {
    queue: Arc<Queue>,
    writing: Arc<Writing>,
    /// Whether other tasks get this thread before the answer is taken.
    yields: bool,
    begun: bool,
}

impl Lead {
    /// Writes the record and answers it. Blocks for the sync.
    fn write(mut self) {
        self.begun = true;
        // The thread has taken it if the log was closed meanwhile.
        let Some(entry) = self.queue.state().claimed.take() else { return };
        let _end = EndOfLead(&self.queue);
        let _guard = PoisonAtEnd(&self.queue);
        let mut writer = self.writing.writer();
        // The error is in the answer, and the queue refuses what follows.
        let _ = commit(&self.queue, &mut writer, VecDeque::from([entry]), self.writing.durability);
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        if !self.begun {
            self.queue.resign();
        }
    }
}

impl fmt::Debug for Lead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lead").field("begun", &self.begun).finish_non_exhaustive()
    }
}

/// The end of the log, which the leader writes.
pub(super) struct Writing {
    writer: Mutex<Writer>,
    durability: Durability,
}

impl Writing {
    pub(super) fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn run(queue: &Queue, writing: &Writing) -> Result<()> {
    let _guard = PoisonAtEnd(queue);
    let mut before = None;
    while let Some((group, syncs)) = queue.take(before) {
        before = Some(group.len());
        let mut writer = writing.writer();
        let done = commit(queue, &mut writer, group, writing.durability)
            .and_then(|()| sync(queue, &mut writer, !syncs.is_empty()));
        let cause = done.err();
        for waiting in syncs {
            let _ = waiting.send(match &cause {
                None => Ok(writer.synced()),
                Some(cause) => Err(Error::Poisoned { cause: Arc::clone(cause) }),
            });
        }
        if let Some(cause) = cause {
            queue.poison(&cause);
            return Err(Error::Poisoned { cause });
        }
    }
    let poisoned = queue.state().poisoned.clone();
    match poisoned {
        // A group that a caller led has failed: what it has left is unknown.
        Some(cause) => Err(Error::Poisoned { cause }),
        None => writing.writer().stamp().map_err(Error::from),
    }
}

/// Syncs what is written, if that is wanted. The error is why nothing more can be written.
fn sync(queue: &Queue, writer: &mut Writer, wanted: bool) -> Result<(), Arc<str>> {
    if wanted {
        writer.sync().map_err(|error| {
            let cause = Arc::from(error.to_string());
            queue.poison(&cause);
            cause
        })?;
        queue.state().durable = writer.synced();
    }
    Ok(())
}

/// Writes a group, in as many parts as it takes segments, and answers it. The error is why nothing
/// more can be written.
fn commit(
    queue: &Queue,
    writer: &mut Writer,
    mut group: VecDeque<Entry>,
    durability: Durability,
) -> Result<(), Arc<str>> {
    while let Some(first) = group.front() {
        let mut count = writer.fitting(group.iter().map(|entry| entry.payload.len()));
        if count == 0 {
            if let Err(error) = writer.sync() {
                return Err(refuse(queue, group, 0, &error));
            }
            queue.state().durable = writer.synced();
            if let Err(error) = writer.roll(first.payload.len()) {
                queue.stall(group, error);
                return Ok(());
            }
            count = writer.fitting(group.iter().map(|entry| entry.payload.len()));
        }
        let first_sequence = writer.next();
        let synced = durability == Durability::Sync || group.iter().take(count).any(|entry| entry.synced);
        // Beside a sync it costs nothing; the others are looked after at the next segment.
        if synced && let Err(error) = writer.confirm_owned() {
            queue.stall(group, error);
            return Ok(());
        }
        let records = group.iter().take(count).map(|entry| (entry.kind, entry.payload.as_ref()));
        if let Err(error) = writer.write(records, synced) {
            return Err(refuse(queue, group, count, &error));
        }
        queue.state().durable = writer.synced();
        let mut written: Vec<Entry> = group.drain(..count).collect();
        for (entry, sequence) in written.iter_mut().zip(first_sequence..) {
            if let Some(on_durable) = entry.on_durable.take() {
                on_durable(sequence);
            }
        }
        for (entry, sequence) in written.into_iter().zip(first_sequence..) {
            entry.answer(Ok(sequence));
        }
        writer.begin_next();
    }
    Ok(())
}

/// Answers a group of which the first `begun` may have been written.
fn refuse(queue: &Queue, group: VecDeque<Entry>, begun: usize, error: &files::Error) -> Arc<str> {
    let cause: Arc<str> = Arc::from(error.to_string());
    // Before the answers: a caller with an unknown outcome finds the log closed to writes.
    queue.poison(&cause);
    for (number, entry) in group.into_iter().enumerate() {
        let cause = Arc::clone(&cause);
        entry.answer(Err(if number < begun { Error::OutcomeUnknown { cause } } else { Error::Poisoned { cause } }));
    }
    cause
}
