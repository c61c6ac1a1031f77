//! Rows as the protocol has them.

use std::pin::pin;

use arrow::array::RecordBatch;
use bytes::{BufMut, BytesMut};

use super::wire::{CHUNK_BYTES, Wire};
use rowkey_postgres::types::{ColumnEncoder, Format, TextStyle};
use rowkey_sql::session::{Column, Error, PortalState, Result, Rows, SqlState, StatementGuard};

/// Rows asked for at a time where the client sets no limit.
const BATCH_ROWS_MAX: usize = 8192;

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

/// Sends rows, at most `rows_max`, as they come. The answer is how many; it is less than the most
/// only at the end.
pub(crate) async fn send(
    wire: &mut Wire,
    rows: &mut Rows,
    formats: &[Format],
    style: &TextStyle,
    rows_max: u64,
    guard: &mut StatementGuard,
) -> Result<u64> {
    let mut sent = 0;
    while sent < rows_max {
        let most = usize::try_from(rows_max - sent).unwrap_or(usize::MAX).min(BATCH_ROWS_MAX);
        let Some(batch) = guard.run(pin!(rows.next(most))).await? else { break };
        let encoders = encoders(&batch, &rows.columns, formats, style)?;
        let mut from = 0;
        while from < batch.num_rows() {
            from = encode(&encoders, from, batch.num_rows(), &mut wire.buffer)?;
            if wire.buffer.len() >= CHUNK_BYTES {
                guard.run(wire.flush()).await?;
            }
        }
        sent += batch.num_rows() as u64;
    }
    Ok(sent)
}

/// The rows of a cursor.
pub(crate) fn open_rows<'a>(cursor: &'a mut PortalState, name: &str) -> Result<&'a mut Rows> {
    match cursor {
        PortalState::Running(rows) => Ok(rows),
        PortalState::Ready | PortalState::Finished => {
            Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, format!("cursor \"{name}\" is not open")))
        }
    }
}

fn encoders<'a>(
    batch: &'a RecordBatch,
    columns: &'a [Column],
    formats: &[Format],
    style: &'a TextStyle,
) -> Result<Vec<ColumnEncoder<'a>>> {
    let each = batch.columns().iter().zip(columns).zip(formats);
    each.map(|((array, column), format)| Ok(ColumnEncoder::new(&column.field, array, *format, style)?)).collect()
}

/// Encodes rows from one on until a chunk is full; the answer is the next row.
fn encode(encoders: &[ColumnEncoder<'_>], from: usize, to: usize, buffer: &mut BytesMut) -> Result<usize> {
    let columns = i16::try_from(encoders.len())
        .map_err(|_| Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("an answer of {} columns", encoders.len())))?;
    let mut row = from;
    while row < to && buffer.len() < CHUNK_BYTES {
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
        row += 1;
    }
    Ok(row)
}
