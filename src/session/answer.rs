//! The result of a statement.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use futures::StreamExt;

use super::error::{Error, Result};

/// Rows as they are computed, a batch at a time.
pub struct Answer {
    schema: SchemaRef,
    batches: SendableRecordBatchStream,
}

impl Answer {
    pub(super) fn new(batches: SendableRecordBatchStream) -> Self {
        Self { schema: batches.schema(), batches }
    }

    /// Names and types of the columns. `FixedSizeBinary(16)` is a uuid.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The next rows; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<RecordBatch>> {
        Some(self.batches.next().await?.map_err(Error::from))
    }

    /// All rows at once: for answers that fit in memory.
    pub async fn collect(mut self) -> Result<Vec<RecordBatch>> {
        let mut batches = Vec::new();
        while let Some(batch) = self.next().await {
            batches.push(batch?);
        }
        Ok(batches)
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer").field("schema", &self.schema).finish_non_exhaustive()
    }
}
