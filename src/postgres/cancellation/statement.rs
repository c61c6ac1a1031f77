//! One statement's view of the signals of its session.

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
use rowkey_base::{Error, SqlState};

/// Asked by everything that computes for a statement.
#[derive(Debug)]
pub struct StatementWatch {
    signals: Arc<Signals>,
    /// Nobody wants its rows any more: the session's next statement has other signals.
    abandoned: AtomicBool,
}

impl StatementWatch {
    pub fn new(signals: Arc<Signals>) -> Arc<Self> {
        Arc::new(Self { signals, abandoned: AtomicBool::new(false) })
    }

    /// An error if the statement is to stop.
    pub fn check(&self) -> Result<(), DataFusionError> {
        let stopped = if self.abandoned.load(Ordering::Relaxed) {
            Err(Error::new(SqlState::QUERY_CANCELED, "nobody waits for the rows of the statement"))
        } else {
            self.signals.check()
        };
        stopped.map_err(|error| DataFusionError::External(Box::new(error)))
    }
}

/// Rows of a watched plan. Once they are dropped, whatever still computes for them stops.
pub struct WatchedRows {
    rows: SendableRecordBatchStream,
    watch: Arc<StatementWatch>,
}

impl WatchedRows {
    pub fn new(rows: SendableRecordBatchStream, watch: Arc<StatementWatch>) -> Self {
        Self { rows, watch }
    }
}

impl Stream for WatchedRows {
    type Item = Result<RecordBatch, DataFusionError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.rows.as_mut().poll_next(context)
    }
}

impl RecordBatchStream for WatchedRows {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }
}

impl Drop for WatchedRows {
    fn drop(&mut self) {
        self.watch.abandoned.store(true, Ordering::Relaxed);
    }
}
