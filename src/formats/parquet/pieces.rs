//! Cutting the batches of a file by the bytes of their values.
//!
//! A file may be far smaller than what it holds: a value of a dictionary stands there once, however
//! many rows have it. A batch has texts and binaries as views of one copy, and what is made of it
//! has a copy for each row, so that pieces of a batch, not batches, are worked on.

use std::collections::VecDeque;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::DataType;

/// What a row needs beside its values.
const ROW_BYTES: usize = 64;

/// The rows of one batch, of about as many bytes as wanted.
pub(super) struct Piece {
    /// In the file, from 1.
    pub(super) first_row: u64,
    pub(super) batch: RecordBatch,
}

/// Pieces of the batch read last.
#[derive(Default)]
pub(super) struct Pieces(VecDeque<Piece>);

impl Pieces {
    /// The next one, if there is one left.
    pub(super) fn next(&mut self) -> Option<Piece> {
        self.0.pop_front()
    }

    /// Cuts a batch; each piece has a row at least, and is no larger than `bytes_max` if it has
    /// more. The rows are not copied.
    pub(super) fn cut(&mut self, first_row: u64, batch: &RecordBatch, bytes_max: usize) {
        let mut piece = |from: usize, rows: usize| {
            self.0.push_back(Piece { first_row: first_row + from as u64, batch: batch.slice(from, rows) });
        };
        let (mut from, mut bytes) = (0, 0_usize);
        for (row, row_bytes) in row_bytes(batch).into_iter().enumerate() {
            if row > from && bytes.saturating_add(row_bytes) > bytes_max {
                piece(from, row - from);
                (from, bytes) = (row, 0);
            }
            bytes = bytes.saturating_add(row_bytes);
        }
        if from < batch.num_rows() {
            piece(from, batch.num_rows() - from);
        }
    }
}

/// The bytes of each row, once its values are copied.
pub(super) fn row_bytes(batch: &RecordBatch) -> Vec<usize> {
    let mut bytes = vec![ROW_BYTES; batch.num_rows()];
    for column in batch.columns() {
        add_value_bytes(column, &mut bytes);
    }
    bytes
}

fn add_value_bytes(column: &ArrayRef, bytes: &mut [usize]) {
    // The length is the first number of a view.
    let views = match column.data_type() {
        DataType::Utf8View => column.as_string_view().views(),
        DataType::BinaryView => column.as_binary_view().views(),
        other => {
            let width = match other {
                DataType::FixedSizeBinary(width) => usize::try_from(*width).unwrap_or_default(),
                _ => other.primitive_width().unwrap_or(1),
            };
            return bytes.iter_mut().for_each(|bytes| *bytes = bytes.saturating_add(width));
        }
    };
    for (bytes, view) in bytes.iter_mut().zip(views.iter()) {
        *bytes = bytes.saturating_add(*view as u32 as usize);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{BinaryViewArray, Int64Array, StringViewArray};

    use super::*;

    fn lengths(texts: &[usize], bytes_max: usize) -> Vec<(u64, usize)> {
        let texts: Vec<String> = texts.iter().map(|length| "x".repeat(*length)).collect();
        let columns: [(&str, ArrayRef); 3] = [
            ("text", Arc::new(StringViewArray::from_iter_values(&texts))),
            ("binary", Arc::new(BinaryViewArray::from_iter_values(&texts))),
            ("number", Arc::new(Int64Array::from_iter_values((0..).take(texts.len())))),
        ];
        let mut pieces = Pieces::default();
        pieces.cut(11, &RecordBatch::try_from_iter(columns).unwrap(), bytes_max);
        std::iter::from_fn(|| pieces.next()).map(|piece| (piece.first_row, piece.batch.num_rows())).collect()
    }

    #[test]
    fn pieces_are_bounded_by_bytes_and_have_a_row_at_least() {
        let row = ROW_BYTES + 8;
        assert_eq!(lengths(&[], 1000), []);
        assert_eq!(lengths(&[0; 4], 4 * row), [(11, 4)]);
        assert_eq!(lengths(&[0; 4], 4 * row - 1), [(11, 3), (14, 1)]);
        assert_eq!(lengths(&[10, 1000, 10, 10], 2 * row + 40), [(11, 1), (12, 1), (13, 2)]);
        assert_eq!(lengths(&[1000; 3], 1), [(11, 1), (12, 1), (13, 1)]);
    }
}
