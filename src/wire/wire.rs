//! Both directions of a connection: messages in, answers out.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::{Buf, BufMut, BytesMut};
use futures::poll;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::{
    CommandComplete, ErrorResponse, NoticeResponse, ReadyForQuery, TransactionStatus as WireStatus,
};
use pgwire::messages::startup::ParameterStatus;
use tokio::io::Interest;

use super::error_fields::{Severity, fields};
use super::message::{self, Lost, Message, Next, PassedOver};
use super::message_budget::MessageBytes;
use super::peer::Peer;
use rowkey_sql::session::{ComputeRuntime, Error, Result, SqlState, TransactionStatus};

/// A chunk of this many bytes goes out.
pub(crate) const CHUNK_BYTES: usize = 64 << 10;
/// A buffer larger than this is given back once it is sent: many sessions are idle.
const BUFFER_BYTES_KEPT_MAX: usize = 2 * CHUNK_BYTES;
/// Larger ones are freed by other threads: the system takes their pages back one by one.
const FREED_HERE_BYTES_MAX: usize = 4 << 20;
/// Least room in the buffer for a read.
const READ_BYTES: usize = 8 << 10;
/// After so many bytes, read of a message or sent, other connections have their turn.
const TURN_BYTES: usize = 512 << 10;
/// While the client does not take its answers, no more than this is read ahead.
const AHEAD_BYTES_MAX: usize = 16 << 20;

/// The socket with its buffers: messages are read one by one, answers are gathered until a flush.
#[derive(Debug)]
pub(crate) struct Wire {
    /// What goes out.
    pub buffer: BytesMut,
    /// The most that the memory of `buffer` has held.
    buffer_bytes_max: usize,
    incoming: BytesMut,
    /// The memory of what came in.
    held: MessageBytes,
    /// Of the message that is being handled.
    message_bytes: usize,
    /// What is left of a message that is too large, and passed over.
    passed_over: Option<PassedOver>,
    has_ended: bool,
    /// The most that the memory of `incoming` has held.
    incoming_bytes_max: usize,
    /// The last read took all that there was room for.
    was_filled: bool,
    /// What may be sent before others have their turn. Many small answers are a turn too.
    turn_bytes: usize,
    peer: Arc<Peer>,
    compute: Arc<ComputeRuntime>,
}

/// How far a write has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    All,
    /// As much as others wait for.
    Turn,
    /// The socket takes no more.
    Blocked,
}

impl Wire {
    /// `incoming` was read already.
    pub(crate) fn new(peer: Arc<Peer>, incoming: BytesMut, held: MessageBytes, compute: Arc<ComputeRuntime>) -> Self {
        let buffer = BytesMut::with_capacity(1 << 10);
        Self {
            buffer,
            buffer_bytes_max: 0,
            incoming,
            held,
            message_bytes: 0,
            passed_over: None,
            has_ended: false,
            incoming_bytes_max: 0,
            was_filled: false,
            turn_bytes: TURN_BYTES,
            peer,
            compute,
        }
    }

    /// The next message; none at the end of the input. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Result<Message, Lost>> {
        // A client whose messages never end yields to others.
        tokio::task::coop::consume_budget().await;
        let mut turn_ends = self.incoming.len() + TURN_BYTES;
        loop {
            if self.incoming.len() > turn_ends {
                tokio::task::yield_now().await;
                turn_ends = self.incoming.len() + TURN_BYTES;
            }
            match self.read_before() {
                Ok(None) => {}
                message => return message.transpose(),
            }
            if self.has_ended {
                return None;
            }
            if self.room() == 0 {
                self.passed_over = PassedOver::for_want_of_room(&self.incoming);
            } else if !self.try_read() && self.peer.socket.readable().await.is_err() {
                self.has_ended = true;
            }
        }
    }

    /// The next message if all of it has been read.
    pub(crate) fn read_before(&mut self) -> Result<Option<Message>, Lost> {
        self.handled();
        loop {
            if let Some(mut large) = self.passed_over.take() {
                self.incoming.advance(large.pass_over(self.incoming.len()));
                self.give_back();
                if !large.is_over() {
                    self.passed_over = Some(large);
                    return Ok(None);
                }
                return Ok(Some(large.message()));
            }
            let buffered = self.incoming.len();
            match message::next(&mut self.incoming)? {
                Next::Whole(message) => {
                    self.message_bytes = buffered - self.incoming.len();
                    self.give_back();
                    return Ok(Some(message));
                }
                Next::PassedOver(large) => self.passed_over = Some(large),
                Next::Part => return Ok(None),
            }
        }
    }

    /// How many bytes may be read to those that are there.
    fn room(&mut self) -> usize {
        self.held.room(self.incoming.len() + self.message_bytes)
    }

    /// Nothing is left of the message that was read last.
    pub(crate) fn handled(&mut self) {
        if std::mem::take(&mut self.message_bytes) > 0 {
            self.held.keep(self.incoming.len());
        }
    }

    /// Gives back the memory of what was taken from the buffer, which a session that is idle would
    /// keep else, and that of a message which is passed over: what comes would go on to fill it.
    fn give_back(&mut self) {
        self.held.keep(self.incoming.len() + self.message_bytes);
        let bytes = self.incoming_bytes_max.max(self.incoming.capacity());
        if self.incoming.len() <= READ_BYTES && bytes > BUFFER_BYTES_KEPT_MAX {
            self.incoming = BytesMut::from(&self.incoming[..]);
            self.incoming_bytes_max = 0;
        }
    }

    /// Whether there is something to do without a wait. The socket is asked only if the last read
    /// left something there.
    pub(crate) fn has_more(&mut self) -> bool {
        while self.passed_over.is_none() && !message::is_whole(&self.incoming) {
            if !self.was_filled || !self.try_read() {
                return false;
            }
        }
        self.passed_over.is_none()
    }

    /// Reads what there is and room for, without a wait; false if that is nothing.
    fn try_read(&mut self) -> bool {
        self.was_filled = false;
        let room = self.room();
        if room == 0 {
            return false;
        }
        // Room for all of a message: a large buffer that grows is copied, for milliseconds.
        self.incoming.reserve(message::bytes_to_come(&self.incoming).max(READ_BYTES));
        let room = room.min(self.incoming.capacity() - self.incoming.len());
        match self.peer.socket.try_read_buf(&mut (&mut self.incoming).limit(room)) {
            Ok(0) => self.has_ended = true,
            Ok(bytes) => {
                self.was_filled = bytes == room;
                self.incoming_bytes_max = self.incoming_bytes_max.max(self.incoming.len());
                self.peer.has_read(&self.incoming);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.has_ended = true,
        }
        true
    }

    pub(crate) fn push(&mut self, message: &PgWireBackendMessage) -> Result<()> {
        message.encode(&mut self.buffer).map_err(|error| Error::new(SqlState::INTERNAL_ERROR, error.to_string()))
    }

    /// Adds messages behind those that are buffered. Where they are large, these are sent first:
    /// then nothing is copied.
    pub(crate) async fn append(&mut self, messages: BytesMut) -> Result<()> {
        if messages.len() > BUFFER_BYTES_KEPT_MAX {
            self.flush().await?;
        }
        self.buffer.unsplit(messages);
        Ok(())
    }

    /// Sends what there is if it is worth a chunk. Waits while the client does not read.
    pub(crate) async fn flush_if_large(&mut self) -> Result<()> {
        if self.is_large() { self.flush().await } else { Ok(()) }
    }

    pub(crate) fn is_large(&self) -> bool {
        self.buffer.len() >= CHUNK_BYTES
    }

    /// Does work of a statement. Where it has to be awaited, what was answered before goes out
    /// first: of a pipeline, clients may wait for the first answers.
    pub(crate) async fn while_sending<T>(&mut self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let mut work = pin!(work);
        if let Poll::Ready(done) = poll!(work.as_mut()) {
            return done;
        }
        self.write_some()?;
        work.await
    }

    /// Sends what there is, and waits while the client does not read. Dropped while it waits, it
    /// keeps what was not sent: a statement that is cancelled then must not take along the messages
    /// before it. Meanwhile messages are read ahead, for clients that send all of theirs before
    /// they read.
    pub(crate) async fn flush(&mut self) -> Result<()> {
        loop {
            match self.write_some()? {
                Written::All => return Ok(()),
                Written::Turn => {
                    tokio::task::yield_now().await;
                    self.turn_bytes = TURN_BYTES;
                    continue;
                }
                Written::Blocked => {}
            }
            let buffered = self.incoming.len();
            let reads_on = !self.has_ended && buffered < AHEAD_BYTES_MAX && self.room() > 0;
            let awaited = if reads_on { Interest::READABLE | Interest::WRITABLE } else { Interest::WRITABLE };
            let ready = self.peer.socket.ready(awaited).await.map_err(|_| gone())?;
            if reads_on && ready.is_readable() {
                self.try_read();
            }
        }
    }

    /// Sends what the socket takes without a wait, until the turn ends; true if that is all there
    /// is.
    pub(crate) fn try_flush(&mut self) -> Result<bool> {
        Ok(self.write_some()? == Written::All)
    }

    fn write_some(&mut self) -> Result<Written> {
        self.buffer_bytes_max = self.buffer_bytes_max.max(self.buffer.capacity());
        while !self.buffer.is_empty() {
            if self.turn_bytes == 0 {
                return Ok(Written::Turn);
            }
            match self.peer.socket.try_write(&self.buffer[..TURN_BYTES.min(self.buffer.len())]) {
                Ok(0) => return Err(gone()),
                Ok(bytes) => {
                    self.buffer.advance(bytes);
                    self.turn_bytes = self.turn_bytes.saturating_sub(bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Written::Blocked),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(gone()),
            }
        }
        let bytes = std::mem::take(&mut self.buffer_bytes_max);
        if bytes > BUFFER_BYTES_KEPT_MAX {
            let sent = std::mem::take(&mut self.buffer);
            if bytes > FREED_HERE_BYTES_MAX {
                self.compute.drop_apart(sent);
            }
        }
        Ok(Written::All)
    }

    /// Nothing more is read or sent. What has come unread is taken first: a socket that is closed
    /// over it takes back what was sent.
    pub(crate) fn end(&mut self) {
        for _ in 0..AHEAD_BYTES_MAX / READ_BYTES {
            self.incoming.clear();
            self.held.keep(0);
            if self.has_ended || !self.try_read() {
                break;
            }
        }
    }

    pub(crate) fn error(&mut self, error: &Error, severity: Severity) -> Result<()> {
        let fields = fields(error, severity);
        self.push(&match severity {
            Severity::Warning => PgWireBackendMessage::NoticeResponse(NoticeResponse::new(fields)),
            _ => PgWireBackendMessage::ErrorResponse(ErrorResponse::new(fields)),
        })
    }

    pub(crate) fn complete(&mut self, tag: String) -> Result<()> {
        self.push(&PgWireBackendMessage::CommandComplete(CommandComplete::new(tag)))
    }

    pub(crate) fn parameter(&mut self, name: &str, value: &str) -> Result<()> {
        let status = ParameterStatus::new(name.to_owned(), value.to_owned());
        self.push(&PgWireBackendMessage::ParameterStatus(status))
    }

    pub(crate) fn ready(&mut self, status: TransactionStatus) -> Result<()> {
        let status = match status {
            TransactionStatus::Idle => WireStatus::Idle,
            TransactionStatus::InTransaction => WireStatus::Transaction,
            TransactionStatus::Failed => WireStatus::Error,
        };
        self.push(&PgWireBackendMessage::ReadyForQuery(ReadyForQuery::new(status)))
    }
}

fn gone() -> Error {
    Error::new(SqlState::ADMIN_SHUTDOWN, "the client is gone")
}
