//! The result of a statement.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, stream};

use super::error::{Error, Result};

/// Rows as they are computed, a batch at a time.
pub struct Answer {
    schema: SchemaRef,
    batches: SendableRecordBatchStream,
    notices: Vec<String>,
}

impl Answer {
    pub(super) fn new(batches: SendableRecordBatchStream) -> Self {
        Self { schema: batches.schema(), batches, notices: Vec::new() }
    }

    /// What a statement that defines something answers: rows if it has some, else a result without columns.
    pub(super) fn of(rows: Option<RecordBatch>, notices: Vec<String>) -> Self {
        let rows = rows.unwrap_or_else(|| RecordBatch::new_empty(Arc::new(Schema::empty())));
        let schema = rows.schema();
        let batches = RecordBatchStreamAdapter::new(Arc::clone(&schema), stream::iter([Ok(rows)]));
        Self { schema, batches: Box::pin(batches), notices }
    }

    /// What the caller should know beside the result, a sentence each.
    pub fn notices(&self) -> &[String] {
        &self.notices
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
