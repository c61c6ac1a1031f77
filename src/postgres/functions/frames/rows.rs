//! The rows of a frame, in pieces that are about as large as those behind them: rows come one by
//! one, and a row is copied as often as the number of rows can be halved.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::concat;
use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::super::collecting::slice_bytes;

/// Values of each argument, alike in length.
#[derive(Debug)]
struct Piece {
    arrays: Vec<ArrayRef>,
    rows: usize,
    bytes: usize,
}

impl Piece {
    fn of(arrays: Vec<ArrayRef>) -> Self {
        let rows = arrays.first().map_or(0, |array| array.len());
        let bytes = arrays.iter().map(slice_bytes).sum();
        Self { arrays, rows, bytes }
    }
}

/// Rows that come at the end and go at the front.
#[derive(Debug, Default)]
pub(super) struct FrameRows {
    pieces: VecDeque<Piece>,
    /// Rows of the first piece that have gone.
    gone: usize,
    rows: usize,
    bytes: usize,
}

impl FrameRows {
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, arrays: &[ArrayRef]) -> Result<()> {
        // In buffers of their own: those of the batch would be kept for one row.
        let arrays = arrays.iter().map(|array| joined(&[array.as_ref()])).collect::<Result<Vec<_>>>()?;
        let piece = Piece::of(arrays);
        if piece.rows == 0 {
            return Ok(());
        }
        self.rows += piece.rows;
        self.bytes += piece.bytes;
        self.pieces.push_back(piece);
        while let [.., before, last] = self.pieces.make_contiguous()
            && before.rows <= last.rows
        {
            self.join_last()?;
        }
        Ok(())
    }

    fn join_last(&mut self) -> Result<()> {
        let (Some(last), Some(before)) = (self.pieces.pop_back(), self.pieces.pop_back()) else { return Ok(()) };
        let gone = if self.pieces.is_empty() { std::mem::take(&mut self.gone) } else { 0 };
        let arrays = before.arrays.iter().zip(&last.arrays).map(|(before, last)| {
            let before = before.slice(gone, before.len() - gone);
            joined(&[before.as_ref(), last.as_ref()])
        });
        let both = Piece::of(arrays.collect::<Result<Vec<_>>>()?);
        self.bytes = (self.bytes + both.bytes).saturating_sub(before.bytes + last.bytes);
        self.pieces.push_back(both);
        Ok(())
    }

    /// Takes the first rows away.
    pub(super) fn pop(&mut self, rows: usize) {
        self.gone += rows.min(self.rows);
        self.rows -= rows.min(self.rows);
        while let Some(first) = self.pieces.front()
            && self.gone >= first.rows
        {
            self.gone -= first.rows;
            self.bytes -= first.bytes.min(self.bytes);
            self.pieces.pop_front();
        }
    }

    /// All rows but the first ones, piece by piece.
    pub(super) fn behind(&self, first: usize) -> impl Iterator<Item = Vec<ArrayRef>> {
        let mut skipped = self.gone + first;
        self.pieces.iter().filter_map(move |piece| {
            let from = skipped.min(piece.rows);
            skipped -= from;
            let rows = piece.rows - from;
            (rows > 0).then(|| piece.arrays.iter().map(|array| array.slice(from, rows)).collect())
        })
    }
}

/// One array in buffers of its own.
fn joined(arrays: &[&dyn Array]) -> Result<ArrayRef> {
    let joined = concat(arrays)?;
    Ok(match joined.data_type() {
        DataType::Utf8View => Arc::new(joined.as_string_view().gc()),
        DataType::BinaryView => Arc::new(joined.as_binary_view().gc()),
        _ => joined,
    })
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, StringViewArray};
    use arrow::datatypes::Int64Type;

    use super::*;

    fn shown(rows: &FrameRows, first: usize) -> Vec<i64> {
        rows.behind(first).flat_map(|piece| piece[0].as_primitive::<Int64Type>().values().to_vec()).collect()
    }

    #[test]
    fn rows_come_and_go_in_order() {
        let mut rows = FrameRows::default();
        let (mut from, mut to) = (0_i64, 0_i64);
        for step in 0..500_i64 {
            let more = step % 4;
            rows.push(&[Arc::new(Int64Array::from_iter_values(to..to + more))]).expect("pushed");
            to += more;
            let less = (step * 7 % 5).min(to - from);
            rows.pop(less as usize);
            from += less;
            assert_eq!(rows.len() as i64, to - from);
            assert_eq!(shown(&rows, 0), (from..to).collect::<Vec<_>>());
            assert_eq!(shown(&rows, rows.len() / 2), (from + (to - from) / 2..to).collect::<Vec<_>>());
            assert!(rows.pieces.len() < 12, "{} pieces", rows.pieces.len());
        }
        rows.pop(usize::MAX);
        assert_eq!((rows.len(), rows.bytes()), (0, 0));
    }

    #[test]
    fn a_row_does_not_keep_its_batch() {
        let batch: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..1000).map(|row| format!("{row:>100}"))));
        let mut rows = FrameRows::default();
        for row in 0..100 {
            rows.push(&[batch.slice(row, 1)]).expect("pushed");
            rows.pop(usize::from(row > 10));
        }
        assert!(rows.bytes() < 10_000, "{}", rows.bytes());
    }
}
