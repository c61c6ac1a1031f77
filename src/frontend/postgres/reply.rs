//! What is sent to the client, gathered into chunks.

use std::io;

use bytes::{Buf, BytesMut};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::{
    CommandComplete, ErrorResponse, NoticeResponse, ReadyForQuery, TransactionStatus as WireStatus,
};
use pgwire::messages::startup::ParameterStatus;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;

use super::sqlstate::{Severity, fields};
use crate::session::{Error, ErrorKind, Result, TransactionStatus};

/// A chunk of this many bytes goes out.
pub const CHUNK_BYTES: usize = 64 << 10;
/// A buffer larger than this is given back once it is sent: many sessions are idle.
const BUFFER_BYTES_KEPT_MAX: usize = 2 * CHUNK_BYTES;
/// Longest text of an error: the client's library takes 30,000 bytes in all.
const ERROR_BYTES_MAX: usize = 8 << 10;

/// Gathers messages, and writes them once somebody waits for them.
#[derive(Debug)]
pub struct Reply {
    pub buffer: BytesMut,
    socket: OwnedWriteHalf,
}

impl Reply {
    pub fn new(socket: OwnedWriteHalf) -> Self {
        Self { buffer: BytesMut::with_capacity(1 << 10), socket }
    }

    pub fn push(&mut self, message: &PgWireBackendMessage) -> Result<()> {
        message.encode(&mut self.buffer).map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))
    }

    /// Sends what there is if it is worth a chunk. Waits while the client does not read.
    pub async fn flush_if_large(&mut self) -> Result<()> {
        if self.is_large() { self.flush().await } else { Ok(()) }
    }

    pub fn is_large(&self) -> bool {
        self.buffer.len() >= CHUNK_BYTES
    }

    /// Sends what there is, and waits while the client does not read. Dropped while it waits, it keeps what was not sent: a
    /// statement that is cancelled then must not take along the messages before it.
    pub async fn flush(&mut self) -> Result<()> {
        while !self.try_flush()? {
            self.socket.writable().await.map_err(|_| gone())?;
        }
        Ok(())
    }

    /// Sends what the socket takes without a wait; true if that is all there is.
    pub fn try_flush(&mut self) -> Result<bool> {
        while !self.buffer.is_empty() {
            match self.socket.try_write(&self.buffer) {
                Ok(0) => return Err(gone()),
                Ok(bytes) => self.buffer.advance(bytes),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(gone()),
            }
        }
        if self.buffer.capacity() > BUFFER_BYTES_KEPT_MAX {
            self.buffer = BytesMut::new();
        }
        Ok(true)
    }

    /// Nothing more will be sent.
    pub async fn close(&mut self) {
        // The client sees the end either way.
        let _ = self.socket.shutdown().await;
    }

    pub fn error(&mut self, error: &Error, severity: Severity) -> Result<()> {
        let fields = fields(error, severity)
            .into_iter()
            .map(|(name, mut text)| {
                if text.len() > ERROR_BYTES_MAX {
                    let end = text.floor_char_boundary(ERROR_BYTES_MAX);
                    text.truncate(end);
                    text.push_str(" ...");
                }
                (name, text)
            })
            .collect();
        self.push(&match severity {
            Severity::Warning => PgWireBackendMessage::NoticeResponse(NoticeResponse::new(fields)),
            _ => PgWireBackendMessage::ErrorResponse(ErrorResponse::new(fields)),
        })
    }

    pub fn complete(&mut self, tag: String) -> Result<()> {
        self.push(&PgWireBackendMessage::CommandComplete(CommandComplete::new(tag)))
    }

    pub fn parameter(&mut self, name: &str, value: &str) -> Result<()> {
        let status = ParameterStatus::new(name.to_owned(), value.to_owned());
        self.push(&PgWireBackendMessage::ParameterStatus(status))
    }

    pub fn ready(&mut self, status: TransactionStatus) -> Result<()> {
        let status = match status {
            TransactionStatus::Idle => WireStatus::Idle,
            TransactionStatus::InTransaction => WireStatus::Transaction,
            TransactionStatus::Failed => WireStatus::Error,
        };
        self.push(&PgWireBackendMessage::ReadyForQuery(ReadyForQuery::new(status)))
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::ShuttingDown, "the client is gone")
}
