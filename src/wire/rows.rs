//! Rows as the protocol has them.

use std::pin::pin;
use std::sync::Arc;

use arrow::array::RecordBatch;
use bytes::{BufMut, BytesMut};

use super::connection::Connection;
use super::wire::CHUNK_BYTES;
use rowkey_postgres::types::{ColumnEncoder, Format, TextStyle};
use rowkey_sql::session::{Column, Error, Result, Rows, SqlState, StatementGuard};

/// Rows asked for at a time where the client sets no limit.
const BATCH_ROWS_MAX: usize = 8192;
/// A batch of so many bytes is encoded on the thread that serves the socket, a chunk at a time:
/// a hop between threads takes as long as a chunk. Larger ones may have values of any size.
pub(super) const BYTES_ENCODED_HERE_MAX: usize = 16 << 20;

/// Formats of the columns of an answer: what Bind said, for each of them.
pub(crate) fn formats(asked: &[i16], columns: usize) -> Result<Vec<Format>> {
    let format = |code: &i16| match code {
        0 => Ok(Format::Text),
        1 => Ok(Format::Binary),
        other => Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("unsupported format code: {other}"))),
    };
    match asked {
        [] => Ok(vec![Format::Text; columns]),
        [one] => Ok(vec![format(one)?; columns]),
        each if each.len() == columns => each.iter().map(format).collect(),
        each => Err(Error::new(
            SqlState::PROTOCOL_VIOLATION,
            format!("bind message has {} result formats but query has {columns} columns", each.len()),
        )),
    }
}

impl Connection {
    /// Sends rows, at most `rows_max`, as they come. The answer is how many; it is less than the
    /// most only at the end.
    pub(super) async fn send(
        &mut self,
        rows: &mut Rows,
        formats: Vec<Format>,
        rows_max: u64,
        guard: &mut StatementGuard,
    ) -> Result<u64> {
        let encoding = Encoding {
            columns: Arc::clone(&rows.columns),
            formats: formats.into(),
            style: Arc::clone(self.session.settings().style()),
        };
        let mut sent = 0;
        while sent < rows_max {
            let most = usize::try_from(rows_max - sent).unwrap_or(usize::MAX).min(BATCH_ROWS_MAX);
            let next = match sent {
                0 => self.wire.while_sending(guard.run(pin!(rows.next(most)))).await?,
                _ => guard.run(pin!(rows.next(most))).await?,
            };
            let Some(batch) = next else { break };
            let is_large = batch.get_array_memory_size() > BYTES_ENCODED_HERE_MAX;
            let encoders = if is_large { None } else { Some(encoding.encoders(&batch)?) };
            let mut from = 0;
            while from < batch.num_rows() {
                from = match &encoders {
                    Some(encoders) => encode(encoders, from, batch.num_rows(), &mut self.wire.buffer)?,
                    None => self.encode_apart(&encoding, &batch, from, guard).await?,
                };
                if self.wire.is_large() {
                    guard.run(self.wire.flush()).await?;
                    // Others have their turn, also where the client takes all at once.
                    tokio::task::yield_now().await;
                }
            }
            sent += batch.num_rows() as u64;
            if is_large {
                self.session.compute().drop_apart(batch);
            }
        }
        Ok(sent)
    }

    /// Encodes rows of a large batch where they hold up nobody; the answer is the next row.
    async fn encode_apart(
        &mut self,
        encoding: &Encoding,
        batch: &RecordBatch,
        from: usize,
        guard: &mut StatementGuard,
    ) -> Result<usize> {
        let (encoding, batch) = (encoding.clone(), batch.clone());
        let signals = self.session.registration().signals().of_statement();
        // The messages before it stay here: a statement that is stopped must not take them along.
        let encoded = self.session.compute().run(&signals, async move {
            let mut buffer = BytesMut::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 4);
            let next = encode(&encoding.encoders(&batch)?, from, batch.num_rows(), &mut buffer)?;
            Ok((next, buffer))
        });
        let (next, buffer) = guard.run(encoded).await?;
        guard.run(self.wire.append(buffer)).await?;
        Ok(next)
    }
}

/// How the rows of an answer are written.
#[derive(Clone)]
struct Encoding {
    columns: Arc<[Column]>,
    formats: Arc<[Format]>,
    style: Arc<TextStyle>,
}

impl Encoding {
    fn encoders<'a>(&'a self, batch: &'a RecordBatch) -> Result<Vec<ColumnEncoder<'a>>> {
        let each = batch.columns().iter().zip(&*self.columns).zip(&*self.formats);
        each.map(|((array, column), format)| Ok(ColumnEncoder::new(&column.field, array, *format, &self.style)?))
            .collect()
    }
}

/// Encodes rows from one on until a chunk is full; the answer is the next row.
fn encode(encoders: &[ColumnEncoder<'_>], from: usize, to: usize, buffer: &mut BytesMut) -> Result<usize> {
    let columns = i16::try_from(encoders.len())
        .map_err(|_| Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("an answer of {} columns", encoders.len())))?;
    let mut row = from;
    while row < to && buffer.len() < CHUNK_BYTES {
        let start = buffer.len();
        // What a client gets of a row that cannot be shown is the error alone.
        encode_row(encoders, columns, row, buffer).inspect_err(|_| buffer.truncate(start))?;
        row += 1;
    }
    Ok(row)
}

fn encode_row(encoders: &[ColumnEncoder<'_>], columns: i16, row: usize, buffer: &mut BytesMut) -> Result<()> {
    let start = buffer.len();
    buffer.put_u8(b'D');
    buffer.put_i32(0);
    buffer.put_i16(columns);
    for encoder in encoders {
        encoder.encode(row, buffer)?;
    }
    let length = i32::try_from(buffer.len() - start - 1)
        .map_err(|_| Error::new(SqlState::OUT_OF_MEMORY, "a row is larger than the protocol allows"))?;
    buffer[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
    Ok(())
}
