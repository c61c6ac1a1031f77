//! Rows that are read FOR UPDATE or FOR SHARE: the transaction keeps their keys, before its client
//! sees them.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;

use crate::compiler::row_locks::KEY_COLUMNS;
use crate::writes::{SharedWriteSet, key_of};
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::cancellation::Signals;
use rowkey_postgres::error::external;

/// The rows without the keys in their last columns, which the write set of the transaction gets; a
/// statement that is a transaction of its own is over when it has read them.
pub(super) fn locked_rows(
    rows: SendableRecordBatchStream,
    table: u64,
    is_exclusive: bool,
    write_set: Option<SharedWriteSet>,
    signals: Arc<Signals>,
) -> Result<SendableRecordBatchStream> {
    let schema = rows.schema();
    let Some(width) = schema.fields().len().checked_sub(KEY_COLUMNS.len()) else {
        return Err(Error::new(SqlState::INTERNAL_ERROR, "rows to be locked have no keys"));
    };
    let visible = Arc::new(Schema::new(schema.fields()[..width].to_vec()));
    let (own, key_places): (Vec<usize>, Vec<usize>) = (0..schema.fields().len()).partition(|place| *place < width);
    let rows = rows.map(move |batch| {
        let batch = batch?;
        if let Some(write_set) = &write_set {
            let keys = batch.project(&key_places)?;
            let keys = (0..keys.num_rows()).map(|row| key_of(&keys, row)).collect::<Result<Vec<_>>>();
            let locked = keys.and_then(|keys| write_set.lock_rows(table, keys, is_exclusive, &signals));
            locked.map_err(external)?;
        }
        Ok(batch.project(&own)?)
    });
    Ok(Box::pin(RecordBatchStreamAdapter::new(visible, rows)))
}
