//! The cancellation token of one statement.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::DataFusionError;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream};
use futures::Stream;

use super::signals::Signals;
use crate::carried::Interruptible;
use crate::error::external;
use rowkey_base::{Error, SqlState};

/// Checked by every operator of a statement.
#[derive(Debug)]
pub struct CancellationToken {
    signals: Arc<Signals>,
    /// Its rows were dropped. The session's signals are those of its next statement by then.
    abandoned: AtomicBool,
}

impl CancellationToken {
    /// The token of a statement that starts.
    pub fn new(signals: Arc<Signals>) -> Arc<Self> {
        Arc::new(Self { signals, abandoned: AtomicBool::new(false) })
    }

    /// An error if the statement is to stop, or its rows were dropped.
    pub fn check(&self) -> Result<(), DataFusionError> {
        let stopped = if self.abandoned.load(Ordering::Relaxed) {
            Err(Error::new(SqlState::QUERY_CANCELED, "the rows of the statement were abandoned"))
        } else {
            self.signals.check()
        };
        stopped.map_err(external)
    }
}

impl Interruptible for CancellationToken {
    fn check(&self) -> datafusion::common::Result<()> {
        self.check()
    }
}

/// Rows of a cancellable plan. Dropping them cancels the tasks that still compute.
pub struct CancellableRows {
    rows: SendableRecordBatchStream,
    token: Arc<CancellationToken>,
    has_ended: bool,
}

impl CancellableRows {
    /// Rows that cancel `token` when they are dropped.
    pub fn new(rows: SendableRecordBatchStream, token: Arc<CancellationToken>) -> Self {
        Self { rows, token, has_ended: false }
    }
}

impl Stream for CancellableRows {
    type Item = Result<RecordBatch, DataFusionError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.rows.as_mut().poll_next(context);
        self.has_ended |= matches!(polled, Poll::Ready(None));
        // On its way up DataFusion may have made a text of it.
        let as_stopped = |error| self.token.signals.interruption().map_err(external).err().unwrap_or(error);
        polled.map(|batch| batch.map(|batch| batch.map_err(as_stopped)))
    }
}

impl RecordBatchStream for CancellableRows {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }
}

impl Drop for CancellableRows {
    fn drop(&mut self) {
        self.token.abandoned.store(true, Ordering::Relaxed);
        // Functions and frames know the statement's signals alone, whose deadline ends with it.
        if !self.has_ended {
            self.token.signals.abandon();
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::Schema;
    use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
    use futures::StreamExt;
    use futures::executor::block_on;

    use super::*;

    #[test]
    fn rows_that_are_dropped_before_their_end_stop_what_computes_them() {
        for reads_to_the_end in [false, true] {
            let signals = Signals::new().of_statement();
            let rows = RecordBatchStreamAdapter::new(Arc::new(Schema::empty()), futures::stream::empty());
            let mut rows = CancellableRows::new(Box::pin(rows), CancellationToken::new(Arc::clone(&signals)));
            if reads_to_the_end {
                assert!(block_on(rows.next()).is_none());
            }
            drop(rows);
            assert_eq!(signals.check().is_ok(), reads_to_the_end);
        }
    }
}
