//! Portals: bound statements, whose rows are fetched in portions.

use std::sync::Arc;

use arrow::array::RecordBatch;

use crate::answer::Answer;
use crate::compiler::Prepared;
use crate::planner::Column;
use crate::system_catalog::CursorRow;
use rowkey_base::Result;
use rowkey_model::DateTime;
use rowkey_postgres::syntax::Statement;
use rowkey_postgres::types::SqlValue;

/// A bound statement. Cursors of DECLARE are portals too, and share their names.
#[derive(Debug)]
pub struct Portal {
    pub prepared: Arc<Prepared>,
    pub parameters: Arc<[SqlValue]>,
    /// Formats of the columns, as Bind asked for them.
    pub result_formats: Vec<i16>,
    pub state: PortalState,
    /// Made by DECLARE.
    pub cursor: Option<Cursor>,
}

#[derive(Debug)]
pub enum PortalState {
    Ready,
    Running(Box<Rows>),
    /// Ran to its end; to run again is an error or empty, as the protocol says.
    Finished,
}

/// What DECLARE said.
#[derive(Debug, Clone)]
pub struct Cursor {
    /// WITH HOLD: it outlives its transaction.
    pub hold: bool,
    /// The text of DECLARE.
    pub statement: Arc<Statement>,
    pub declared: DateTime,
    /// How many the session has declared so far, this one included.
    pub number: u64,
}

/// A row of `pg_cursors`.
impl From<(&String, &Portal)> for CursorRow {
    fn from((name, portal): (&String, &Portal)) -> Self {
        let cursor = portal.cursor.as_ref();
        let statement = cursor.map_or(&portal.prepared.statement, |cursor| &cursor.statement);
        CursorRow {
            name: name.clone(),
            statement: statement.text().to_owned(),
            holdable: cursor.is_some_and(|cursor| cursor.hold),
            binary: false,
            scrollable: false,
            created_micros: cursor.map_or(portal.prepared.prepared_micros, |cursor| cursor.declared.micros()),
        }
    }
}

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
