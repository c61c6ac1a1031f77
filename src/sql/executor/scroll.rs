//! Cursors that go back: the rows that were read are kept, within the memory of queries.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::Schema;
use datafusion::common::DataFusionError;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;

use super::rows::Rows;
use crate::answer::Answer;
use rowkey_base::Result;
use rowkey_postgres::error::from_datafusion;
use rowkey_postgres::syntax::Direction;

/// Most rows read at once.
const ROWS_AT_ONCE: usize = 8192;

/// The rows of a cursor, and where it stands.
#[derive(Debug)]
pub struct ScrolledRows {
    rows: Rows,
    /// What was read, each with the number of its first row, from 1.
    kept: Vec<(u64, RecordBatch)>,
    memory: MemoryReservation,
    /// How many rows were read.
    read: u64,
    /// All of them were.
    is_read: bool,
    /// The number of the row that it is on; 0 is before the first, one more than there are is
    /// behind the last.
    at: u64,
}

/// Rows to be fetched, by their numbers, and where the cursor is then.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fetched {
    rows: Range<u64>,
    backwards: bool,
    at: u64,
}

impl ScrolledRows {
    /// `memory` is empty yet.
    pub(crate) fn new(rows: Rows, memory: MemoryReservation) -> Self {
        Self { rows, kept: Vec::new(), memory, read: 0, is_read: false, at: 0 }
    }

    /// Moves, and gives the rows that it came by.
    ///
    /// # Errors
    /// Those of the query; the rows do not fit into the memory of queries.
    pub(crate) async fn fetch(&mut self, direction: Direction) -> Result<Rows> {
        let fetched = self.find(direction).await?;
        self.at = fetched.at;
        let columns = Arc::clone(&self.rows.columns);
        Ok(Rows::new(columns, "FETCH", self.answer(&fetched)))
    }

    /// The same without the rows: how many they are.
    pub(crate) async fn pass(&mut self, direction: Direction) -> Result<u64> {
        let fetched = self.find(direction).await?;
        self.at = fetched.at;
        Ok(fetched.rows.end - fetched.rows.start)
    }

    async fn find(&mut self, direction: Direction) -> Result<Fetched> {
        let at = self.at;
        let forward = |count: Option<u64>| count.map_or(u64::MAX, |count| at.saturating_add(count));
        Ok(match direction {
            Direction::Forward(Some(0)) | Direction::Backward(Some(0)) | Direction::Relative(0) => self.single(at),
            Direction::Forward(count) => {
                let last = forward(count);
                self.read_up_to(last).await?;
                let is_behind = last > self.read;
                let last = last.min(self.read);
                let rows = at + 1..(last + 1).max(at + 1);
                Fetched { rows, backwards: false, at: if is_behind { self.read + 1 } else { last } }
            }
            Direction::Backward(count) => {
                let first = count.map_or(0, |count| at.saturating_sub(count));
                Fetched { rows: first.max(1).min(at.max(1))..at.max(1), backwards: true, at: first }
            }
            Direction::Absolute(place) if place >= 0 => {
                self.read_up_to(place.unsigned_abs()).await?;
                self.single(place.unsigned_abs())
            }
            Direction::Absolute(place) => {
                self.read_up_to(u64::MAX).await?;
                self.single((self.read + 1).saturating_sub(place.unsigned_abs()))
            }
            Direction::Relative(places) => {
                let place = at.saturating_add_signed(places);
                self.read_up_to(place).await?;
                self.single(place)
            }
        })
    }

    /// The row of a number, or none where there is no such.
    fn single(&self, place: u64) -> Fetched {
        let at = place.min(self.read + 1);
        let is_there = (1..=self.read).contains(&at);
        Fetched { rows: at..at + u64::from(is_there), backwards: false, at }
    }

    /// Reads on until there is a row of this number.
    async fn read_up_to(&mut self, last: u64) -> Result<()> {
        while self.read < last && !self.is_read {
            // A batch as it was computed: each part of one counts as all of it.
            match self.rows.next(ROWS_AT_ONCE).await? {
                Some(batch) => {
                    self.memory.try_grow(batch.get_array_memory_size()).map_err(from_datafusion)?;
                    let first = self.read + 1;
                    self.read += batch.num_rows() as u64;
                    self.kept.push((first, batch));
                }
                None => self.is_read = true,
            }
        }
        Ok(())
    }

    fn answer(&self, Fetched { rows, backwards, .. }: &Fetched) -> Answer {
        let from = self.kept.partition_point(|(first, batch)| first + batch.num_rows() as u64 <= rows.start);
        let to = self.kept.partition_point(|(first, _)| *first < rows.end);
        let mut parts: Vec<RecordBatch> = Vec::new();
        for (first, batch) in self.kept.get(from..to).unwrap_or_default() {
            let start = rows.start.saturating_sub(*first) as usize;
            let end = ((rows.end - first) as usize).min(batch.num_rows());
            parts.push(batch.slice(start, end.saturating_sub(start)));
        }
        let schema = match self.kept.first() {
            Some((_, batch)) => batch.schema(),
            None => {
                let fields = self.rows.columns.iter().map(|column| Arc::clone(&column.field));
                Arc::new(Schema::new(fields.collect::<Vec<_>>()))
            }
        };
        if *backwards {
            parts.reverse();
        }
        let backwards = *backwards;
        let batches = parts.into_iter().map(move |part| if backwards { reversed(&part) } else { Ok(part) });
        Answer::new(Box::pin(RecordBatchStreamAdapter::new(schema, stream::iter(batches))))
    }
}

fn reversed(batch: &RecordBatch) -> datafusion::common::Result<RecordBatch> {
    let rows = u32::try_from(batch.num_rows()).map_err(|error| DataFusionError::External(Box::new(error)))?;
    Ok(take_record_batch(batch, &UInt32Array::from_iter_values((0..rows).rev()))?)
}

#[cfg(test)]
mod tests;
