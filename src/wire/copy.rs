//! COPY over the wire: rows to the client and from it, in messages of their own.

use bytes::BufMut;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::copy::{CopyDone, CopyInResponse, CopyOutResponse};

use super::connection::{Connection, error_of};
use super::message::Message;
use rowkey_sql::session::{CopyIn, CopyOut, Error, Result, SqlState, StatementGuard};

/// Rows asked for at a time.
const BATCH_ROWS_MAX: usize = 8192;
/// Between so many rows, or bytes of the client's, other connections have their turn.
const ROWS_SENT_AT_ONCE: usize = 256;
const BYTES_TAKEN_AT_ONCE: usize = 16 << 10;

impl Connection {
    /// Takes rows until the client has no more; the answer is the tag.
    pub(super) async fn copy_in(&mut self, mut copy: Box<CopyIn>, guard: &mut StatementGuard) -> Result<String> {
        let columns = columns(copy.width())?;
        let response = CopyInResponse::new(0, columns, vec![0; copy.width()]);
        self.wire.push(&PgWireBackendMessage::CopyInResponse(response))?;
        guard.run(self.wire.flush()).await?;
        loop {
            let received = guard.run(async { Ok(self.next_of_copy().await) }).await?;
            let gone = || Error::new(SqlState::ADMIN_SHUTDOWN, "unexpected EOF on client connection during COPY");
            let message =
                received.ok_or_else(gone)?.map_err(|lost| Error::new(SqlState::PROTOCOL_VIOLATION, lost.0))?;
            match message {
                Message::CopyData(bytes) => {
                    for some in bytes.chunks(BYTES_TAKEN_AT_ONCE) {
                        copy.push(some)?;
                        tokio::task::yield_now().await;
                    }
                }
                Message::CopyDone => return guard.run(self.session.finish_copy(*copy)).await,
                Message::CopyFail(reason) => {
                    return Err(Error::new(SqlState::QUERY_CANCELED, format!("COPY from stdin failed: {reason}")));
                }
                // Clients of the extended protocol may have sent them ahead.
                Message::Flush | Message::Sync => {}
                Message::Terminate => return Err(gone()),
                Message::Malformed(malformed) => return Err(error_of(malformed)),
                _ => {
                    let message = "unexpected message type during COPY from stdin";
                    return Err(Error::new(SqlState::PROTOCOL_VIOLATION, message));
                }
            }
        }
    }

    /// Sends rows; the answer is the tag.
    pub(super) async fn copy_out(&mut self, mut copy: Box<CopyOut>, guard: &mut StatementGuard) -> Result<String> {
        let response = CopyOutResponse::new(0, columns(copy.width())?, vec![0; copy.width()]);
        self.wire.push(&PgWireBackendMessage::CopyOutResponse(response))?;
        if let Some(line) = copy.header() {
            put_line(&mut self.wire.buffer, &line);
        }
        let mut sent = 0;
        while let Some(batch) = guard.run(copy.rows.next(BATCH_ROWS_MAX)).await? {
            for from in (0..batch.num_rows()).step_by(ROWS_SENT_AT_ONCE) {
                let some = batch.slice(from, ROWS_SENT_AT_ONCE.min(batch.num_rows() - from));
                copy.lines(&some, |line| put_line(&mut self.wire.buffer, line))?;
                if self.wire.is_large() {
                    guard.run(self.wire.flush()).await?;
                }
                tokio::task::yield_now().await;
            }
            sent += batch.num_rows() as u64;
        }
        self.wire.push(&PgWireBackendMessage::CopyDone(CopyDone::new()))?;
        Ok(format!("COPY {sent}"))
    }
}

/// One row, or the header, is one message.
fn put_line(buffer: &mut bytes::BytesMut, line: &[u8]) {
    buffer.put_u8(b'd');
    // A line is far shorter than that: an entity has 1 MiB at most, and a result row is checked
    // where it is encoded.
    buffer.put_u32(u32::try_from(line.len() + 4).unwrap_or(u32::MAX));
    buffer.put_slice(line);
}

fn columns(width: usize) -> Result<i16> {
    i16::try_from(width).map_err(|_| Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("COPY of {width} columns")))
}
