//! The rows of a running statement.

use std::sync::Arc;

use arrow::array::RecordBatch;

use crate::answer::Answer;
use crate::planner::Column;
use crate::statement_statistics::CountedRows;
use rowkey_base::Result;

/// Rows of a running statement.
#[derive(Debug)]
pub struct Rows {
    pub columns: Arc<[Column]>,
    /// First word of the tag.
    pub verb: &'static str,
    answer: Answer,
    /// The part of the last batch that was not taken.
    pending: Option<RecordBatch>,
    /// Rows taken so far.
    pub taken: u64,
}

impl Rows {
    pub fn new(columns: Arc<[Column]>, verb: &'static str, answer: Answer) -> Self {
        Self { columns, verb, answer, pending: None, taken: 0 }
    }

    /// The same, counted as those of a statement.
    pub(crate) fn counted(self, counted: CountedRows) -> Self {
        Self { answer: self.answer.counted(counted), ..self }
    }

    /// The next rows, at most `rows_max`; `None` at the end. Never an empty batch.
    pub async fn next(&mut self, rows_max: usize) -> Result<Option<RecordBatch>> {
        loop {
            let batch = match self.pending.take() {
                Some(batch) => batch,
                None => match self.answer.next().await {
                    Some(batch) => batch?,
                    None => return Ok(None),
                },
            };
            if batch.num_rows() == 0 {
                continue;
            }
            let taken = batch.num_rows().min(rows_max);
            if taken < batch.num_rows() {
                self.pending = Some(batch.slice(taken, batch.num_rows() - taken));
            }
            self.taken += taken as u64;
            return Ok(Some(batch.slice(0, taken)));
        }
    }

    /// All rows, where none was taken yet.
    pub fn into_answer(self) -> Answer {
        self.answer
    }
}
