//! COPY over the wire: rows to the client and from it, in messages of their own.

use std::pin::pin;

use arrow::array::RecordBatch;
use bytes::{BufMut, BytesMut};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::copy::{CopyDone, CopyInResponse, CopyOutResponse};

use super::connection::{Connection, error_of};
use super::message::Message;
use super::rows::BYTES_ENCODED_HERE_MAX;
use super::wire::CHUNK_BYTES;
use rowkey_sql::session::{CopyIn, CopyLines, CopyOut, Copying, EntitiesOut, Error, Result, SqlState, StatementGuard};

/// Rows asked for at a time.
const BATCH_ROWS_MAX: usize = 8192;
/// Messages of a copy are read together up to so many bytes: clients may send one for each row.
const BYTES_GATHERED_MAX: usize = 64 << 10;

impl Connection {
    /// Takes the data of a COPY, or sends them; the answer is the tag.
    pub(super) async fn copy(&mut self, copying: Copying, guard: &mut StatementGuard) -> Result<String> {
        match copying {
            Copying::In(copy) => self.copy_in(copy, guard).await,
            Copying::Out(copy) => self.copy_out(copy, guard).await,
            Copying::EntitiesOut(copy) => self.entities_out(copy, guard).await,
        }
    }

    /// Takes rows until the client has no more; the answer is the tag.
    async fn copy_in(&mut self, mut copy: Box<CopyIn>, guard: &mut StatementGuard) -> Result<String> {
        let (columns, format) = (columns(copy.width())?, format(copy.is_binary()));
        let response = CopyInResponse::new(format, columns, vec![format.into(); copy.width()]);
        self.wire.push(&PgWireBackendMessage::CopyInResponse(response))?;
        guard.run(self.wire.flush()).await?;
        let mut gathered = BytesMut::new();
        loop {
            let received = guard.run(async { Ok(self.next_of_copy().await) }).await?;
            let gone = || Error::new(SqlState::ADMIN_SHUTDOWN, "unexpected EOF on client connection during COPY");
            let message =
                received.ok_or_else(gone)?.map_err(|lost| Error::new(SqlState::PROTOCOL_VIOLATION, lost.0))?;
            match message {
                Message::CopyData(bytes) => {
                    let more = self.has_more();
                    if more && gathered.len() + bytes.len() < BYTES_GATHERED_MAX {
                        gathered.put_slice(&bytes);
                        continue;
                    }
                    if !gathered.is_empty() {
                        copy = guard.run(self.session.read_copied(copy, gathered.split().freeze())).await?;
                    }
                    copy = guard.run(self.session.read_copied(copy, bytes)).await?;
                }
                Message::CopyDone => {
                    copy = guard.run(self.session.read_copied(copy, gathered.freeze())).await?;
                    return guard.run(pin!(self.session.finish_copy(*copy))).await;
                }
                Message::Large(large) => {
                    return Err(match guard.run(self.decode(large)).await? {
                        Message::CopyFail(reason) => failed(&reason),
                        Message::Malformed(malformed) => error_of(malformed),
                        _ => unexpected(),
                    });
                }
                Message::CopyFail(reason) => return Err(failed(&reason)),
                // Clients of the extended protocol may have sent them ahead.
                Message::Flush | Message::Sync => {}
                Message::Terminate => return Err(gone()),
                Message::Malformed(malformed) => return Err(error_of(malformed)),
                _ => return Err(unexpected()),
            }
        }
    }

    /// Sends rows; the answer is the tag.
    async fn copy_out(&mut self, mut copy: Box<CopyOut>, guard: &mut StatementGuard) -> Result<String> {
        let (columns, format) = (columns(copy.width())?, format(copy.is_binary()));
        let response = CopyOutResponse::new(format, columns, vec![format.into(); copy.width()]);
        self.wire.push(&PgWireBackendMessage::CopyOutResponse(response))?;
        let (mut lines, mut sent) = (copy.lines(), 0);
        while let Some(batch) = guard.run(copy.rows.next(BATCH_ROWS_MAX)).await? {
            let is_large = batch.get_array_memory_size() > BYTES_ENCODED_HERE_MAX;
            let mut from = 0;
            while from < batch.num_rows() {
                let buffered = self.wire.buffer.len();
                from = match is_large {
                    true => self.put_lines_apart(&mut lines, &batch, from, guard).await?,
                    false => put_lines(&mut lines, &batch, from, &mut self.wire.buffer)?,
                };
                self.session.copied(self.wire.buffer.len().saturating_sub(buffered), sent + from as u64);
                if self.wire.is_large() {
                    guard.run(self.wire.flush()).await?;
                }
                tokio::task::yield_now().await;
            }
            sent += batch.num_rows() as u64;
        }
        let end = lines.end();
        if !end.is_empty() {
            put_line(&mut self.wire.buffer, &end);
        }
        self.wire.push(&PgWireBackendMessage::CopyDone(CopyDone::new()))?;
        Ok(format!("COPY {sent}"))
    }

    /// Sends what an export writes; the answer is the tag.
    async fn entities_out(&mut self, mut copy: Box<EntitiesOut>, guard: &mut StatementGuard) -> Result<String> {
        let response = CopyOutResponse::new(format(copy.is_binary()), 0, Vec::new());
        self.wire.push(&PgWireBackendMessage::CopyOutResponse(response))?;
        while let Some(bytes) = guard.run(async { Ok(copy.next().await) }).await? {
            self.session.copied(bytes.len(), copy.rows());
            for piece in bytes.chunks(CHUNK_BYTES) {
                put_line(&mut self.wire.buffer, piece);
                if self.wire.is_large() {
                    guard.run(self.wire.flush()).await?;
                }
            }
        }
        let tag = guard.run(self.session.finish_copy_out(*copy)).await?;
        self.wire.push(&PgWireBackendMessage::CopyDone(CopyDone::new()))?;
        Ok(tag)
    }

    /// Encodes lines of a large batch on a compute thread; gives the next row.
    async fn put_lines_apart(
        &mut self,
        lines: &mut CopyLines,
        batch: &RecordBatch,
        from: usize,
        guard: &mut StatementGuard,
    ) -> Result<usize> {
        let (mut of_work, batch) = (lines.clone(), batch.clone());
        let signals = self.session.registration().signals().of_statement();
        let written = self.session.compute().run(&signals, async move {
            let mut buffer = BytesMut::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 4);
            let next = put_lines(&mut of_work, &batch, from, &mut buffer)?;
            Ok((of_work, next, buffer))
        });
        let (of_work, next, buffer) = guard.run(written).await?;
        *lines = of_work;
        guard.run(self.wire.append(buffer)).await?;
        Ok(next)
    }
}

/// Writes the lines of rows until a chunk is full; gives the next row.
fn put_lines(lines: &mut CopyLines, batch: &RecordBatch, from: usize, buffer: &mut BytesMut) -> Result<usize> {
    lines.write(batch, from, |line| {
        put_line(buffer, line);
        buffer.len() < CHUNK_BYTES
    })
}

fn failed(reason: &str) -> Error {
    Error::new(SqlState::QUERY_CANCELED, format!("COPY from stdin failed: {reason}"))
}

fn unexpected() -> Error {
    Error::new(SqlState::PROTOCOL_VIOLATION, "unexpected message type during COPY from stdin")
}

/// One row, or what stands before or behind all of them, is one message.
fn put_line(buffer: &mut BytesMut, line: &[u8]) {
    buffer.put_u8(b'd');
    // A line is far shorter than that: an entity has 1 MiB at most, and a result row is checked
    // where it is encoded.
    buffer.put_u32(u32::try_from(line.len() + 4).unwrap_or(u32::MAX));
    buffer.put_slice(line);
}

/// The format of the rows and of all their columns.
fn format(is_binary: bool) -> i8 {
    if is_binary { 1 } else { 0 }
}

fn columns(width: usize) -> Result<i16> {
    i16::try_from(width).map_err(|_| Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("COPY of {width} columns")))
}
