//! A filter of rows, applied to the columns of a batch.
//!
//! Masked rows lie all over a file, so what is kept between them are many short stretches. Copied
//! one by one these cost more than all of the decoding of a column of numbers; a number is copied
//! whether it is kept or not, and the next one takes its place.

use std::cell::OnceCell;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray, downcast_primitive};
use arrow::buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow::compute::{FilterBuilder, FilterPredicate};
use arrow::datatypes::ArrowNativeType;
use arrow::error::ArrowError;

/// Bits of the mask that are looked at together.
const WORD_BITS: usize = 64;

/// Which rows are kept.
pub(super) struct RowFilter {
    kept: BooleanBuffer,
    count: usize,
    /// For columns that are not of numbers.
    filter: OnceCell<FilterPredicate>,
}

impl RowFilter {
    /// A row is kept where its bit is set.
    pub(super) fn new(kept: BooleanBuffer) -> Self {
        Self { count: kept.count_set_bits(), kept, filter: OnceCell::new() }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The kept rows of a column of as many rows as there are bits.
    pub(super) fn of(&self, column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        if self.count == self.kept.len() {
            return Ok(Arc::clone(column));
        }
        macro_rules! of_primitive {
            ($type:ty) => {
                self.of_primitive::<$type>(column.as_primitive::<$type>())
            };
        }
        downcast_primitive! {
            column.data_type() => (of_primitive),
            _ => self.filter().filter(column),
        }
    }

    fn of_primitive<T: ArrowPrimitiveType>(&self, column: &PrimitiveArray<T>) -> Result<ArrayRef, ArrowError> {
        let nulls = match column.nulls().filter(|nulls| nulls.null_count() > 0) {
            Some(nulls) => {
                let valid = self.filter().filter(&BooleanArray::new(nulls.inner().clone(), None))?;
                Some(NullBuffer::new(valid.as_boolean().values().clone()))
            }
            None => None,
        };
        let values = ScalarBuffer::from(self.values(column.values()));
        let kept = PrimitiveArray::<T>::try_new(values, nulls)?.with_data_type(column.data_type().clone());
        Ok(Arc::new(kept))
    }

    fn values<T: ArrowNativeType>(&self, values: &[T]) -> Vec<T> {
        let mut all = Vec::with_capacity(self.count);
        let words = self.kept.bit_chunks();
        let (chunks, rest) = values.as_chunks::<WORD_BITS>();
        let mut some = [T::default(); WORD_BITS];
        for (word, chunk) in words.iter().zip(chunks) {
            if word == u64::MAX {
                all.extend_from_slice(chunk);
                continue;
            }
            let mut count = 0;
            for (at, value) in chunk.iter().enumerate() {
                some[count % WORD_BITS] = *value;
                count += (word >> at & 1) as usize;
            }
            all.extend_from_slice(&some[..count]);
        }
        let word = words.remainder_bits();
        all.extend(rest.iter().enumerate().filter(|(at, _)| word >> at & 1 == 1).map(|(_, value)| *value));
        all
    }

    fn filter(&self) -> &FilterPredicate {
        self.filter.get_or_init(|| FilterBuilder::new(&BooleanArray::from(self.kept.clone())).optimize().build())
    }
}

#[cfg(test)]
mod tests;
