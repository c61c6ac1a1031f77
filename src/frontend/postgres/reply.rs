//! What is sent to the client, gathered into chunks.

use bytes::{Bytes, BytesMut};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::{
    CommandComplete, ErrorResponse, NoticeResponse, ReadyForQuery, TransactionStatus as WireStatus,
};
use pgwire::messages::startup::ParameterStatus;
use tokio::sync::mpsc;

use super::sqlstate::{Severity, fields};
use crate::session::{Error, ErrorKind, Result, TransactionStatus};

/// A chunk of this many bytes goes out.
pub const CHUNK_BYTES: usize = 64 << 10;
/// Longest text of an error: the client's library takes 30,000 bytes in all.
const ERROR_BYTES_MAX: usize = 8 << 10;

/// Gathers messages and hands them to the writer.
#[derive(Debug)]
pub struct Reply {
    pub buffer: BytesMut,
    chunks: mpsc::Sender<Bytes>,
}

impl Reply {
    pub fn new(chunks: mpsc::Sender<Bytes>) -> Self {
        Self { buffer: BytesMut::with_capacity(1 << 10), chunks }
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

    /// Sends what there is. Dropped while it waits, it keeps everything: a statement that is cancelled then must not take
    /// along the messages before it.
    pub async fn flush(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let gone = |_| Error::new(ErrorKind::ShuttingDown, "the client is gone");
        let place = self.chunks.reserve().await.map_err(gone)?;
        place.send(self.buffer.split().freeze());
        Ok(())
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
