//! The result of a statement.

use std::any::Any;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;

use crate::statement_statistics::CountedRows;
use rowkey_base::Result;

/// Rows as they are computed, a batch at a time.
pub struct Answer {
    schema: SchemaRef,
    batches: SendableRecordBatchStream,
    /// What has to live as long as the rows come: a session that was made for this answer.
    _kept: Option<Box<dyn Any + Send>>,
    counted: Option<Box<CountedRows>>,
}

impl Answer {
    pub(crate) fn new(batches: SendableRecordBatchStream) -> Self {
        Self { schema: batches.schema(), batches, _kept: None, counted: None }
    }

    /// The answer of a statement without rows.
    pub(crate) fn empty() -> Self {
        Self::of(RecordBatch::new_empty(Arc::new(Schema::empty())))
    }

    /// Rows that are there already.
    pub(crate) fn of(rows: RecordBatch) -> Self {
        Self::of_batches(rows.schema(), vec![rows])
    }

    /// Rows of this schema that are there already.
    pub(crate) fn of_batches(schema: SchemaRef, rows: Vec<RecordBatch>) -> Self {
        let rows = futures::stream::iter(rows.into_iter().map(Ok));
        let batches = RecordBatchStreamAdapter::new(Arc::clone(&schema), rows);
        Self { schema, batches: Box::pin(batches), _kept: None, counted: None }
    }

    /// The same rows under other labels, which need not be unique.
    pub(crate) fn labelled(batches: SendableRecordBatchStream, fields: &[FieldRef]) -> Self {
        let before = batches.schema();
        let labelled = before
            .fields()
            .iter()
            .zip(fields)
            .map(|(field, label)| Arc::new(field.as_ref().clone().with_name(label.name())));
        let schema = Arc::new(Schema::new(labelled.collect::<Vec<_>>()));
        let relabel = Arc::clone(&schema);
        let batches = batches.map(move |batch| {
            let batch = batch?;
            let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let (_, arrays, _) = batch.into_parts();
            Ok(RecordBatch::try_new_with_options(Arc::clone(&relabel), arrays, &rows)?)
        });
        Self {
            schema: Arc::clone(&schema),
            batches: Box::pin(RecordBatchStreamAdapter::new(schema, batches)),
            _kept: None,
            counted: None,
        }
    }

    /// Names and types of the columns. `FixedSizeBinary(16)` is a uuid.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The same, keeping something alive until it is dropped.
    pub(crate) fn keeping(self, kept: impl Any + Send) -> Self {
        Self { _kept: Some(Box::new(kept)), ..self }
    }

    /// The same, counted as those of a statement.
    pub(crate) fn counted(self, counted: CountedRows) -> Self {
        Self { counted: Some(Box::new(counted)), ..self }
    }

    /// The next rows; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<RecordBatch>> {
        let next = self.batches.next().await;
        if let Some(counted) = &mut self.counted {
            match &next {
                Some(Ok(rows)) => counted.add(rows.num_rows()),
                Some(Err(_)) => counted.fail(),
                None => self.counted = None,
            }
        }
        Some(next?.map_err(rowkey_postgres::error::from_datafusion))
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
