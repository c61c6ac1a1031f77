//! How large the values are that one call of a function makes. What can be much larger than its
//! arguments computes its size first: memory that a kernel takes is in no pool, and no operator
//! can spill it.

use datafusion::common::config::ConfigOptions;
use datafusion::common::{DataFusionError, Result};

use super::error::{SqlState, fail};
use crate::carried::carried_in_options;
use crate::types;

/// The longest value, of a session without a budget of its own: PostgreSQL's limit.
const VALUE_BYTES_MAX: usize = 1 << 30;
const VALUE_BYTES_MIN: usize = 8 << 20;
/// The values of several rows.
const BATCH_BYTES_MAX: usize = 64 << 20;
const BATCH_BYTES_MIN: usize = 4 << 20;
/// Rows that operators gather into a batch before they know how wide they are.
const GATHERED_ROWS_MAX: usize = 8192;
const GATHERED_ROWS_MIN: usize = 64;
/// The memory of queries for each such row, in bytes.
const MEMORY_OF_GATHERED_ROW: usize = 4 << 20;
/// How many of the longest values a row holds.
const VALUES_OF_ROW: usize = 4;
/// How many batches that a sort reads have the bytes of one.
const SORTED_PARTS: usize = 8;
/// What is not larger than its arguments by more than this is no concern: they are there already.
const GROWTH_ALLOWED: usize = 2;

/// The most that the rows of one batch show, in bytes, in a session with these options.
pub fn batch_bytes(options: &ConfigOptions) -> usize {
    ValueBudget::of(options).batch_bytes
}

/// The most that one call makes.
#[derive(Debug, Clone, Copy)]
pub struct ValueBudget {
    value_bytes: usize,
    batch_bytes: usize,
    gathered_rows: usize,
}

carried_in_options!(ValueBudget, "rowkey_values");

impl Default for ValueBudget {
    fn default() -> Self {
        Self { value_bytes: VALUE_BYTES_MAX, batch_bytes: BATCH_BYTES_MAX, gathered_rows: GATHERED_ROWS_MAX }
    }
}

impl ValueBudget {
    /// A part of the memory that all queries have together, in bytes.
    pub fn of_memory(bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        Self {
            value_bytes: (bytes / 32).clamp(VALUE_BYTES_MIN, VALUE_BYTES_MAX),
            batch_bytes: (bytes / 32).clamp(BATCH_BYTES_MIN, BATCH_BYTES_MAX),
            gathered_rows: (bytes / MEMORY_OF_GATHERED_ROW).clamp(GATHERED_ROWS_MIN, GATHERED_ROWS_MAX),
        }
    }

    /// That of the statement with these options.
    pub(crate) fn of(options: &ConfigOptions) -> Self {
        options.extensions.get::<Self>().copied().unwrap_or_default()
    }

    /// A value has less, in bytes.
    pub(super) fn value_bytes(self) -> usize {
        self.value_bytes
    }

    /// The most that the rows of one batch show, in bytes.
    pub(crate) fn batch_bytes(self) -> usize {
        self.batch_bytes
    }

    /// How many of its spilled runs a sort merges at a time, where so many sort beside each other
    /// in one pool: the first to merge would take all that is left, and the others could not sort.
    /// It reads two batches of each run at a time, and counts each twice.
    pub fn merge_fan_in(self, pool_bytes: usize, sorts: usize) -> usize {
        (pool_bytes / 2 / (sorts.max(1) * 4 * self.sorted_bytes())).max(2)
    }

    /// The most that the rows of a batch show which a sort keeps, in bytes.
    pub(crate) fn sorted_bytes(self) -> usize {
        self.batch_bytes / SORTED_PARTS
    }

    /// The most rows that an operator gathers into a batch where they may be wide.
    pub(crate) fn gathered_rows(self) -> usize {
        self.gathered_rows
    }

    /// An error for a row that shows so many bytes, if these are more than several values have.
    ///
    /// # Errors
    /// `PROGRAM_LIMIT_EXCEEDED`.
    pub(crate) fn row(self, bytes: usize) -> Result<()> {
        let most = self.value_bytes.saturating_mul(VALUES_OF_ROW);
        if bytes <= most {
            return Ok(());
        }
        fail(SqlState::PROGRAM_LIMIT_EXCEEDED, format!("a row of {bytes} bytes, a row has at most {most}"))
    }

    /// The most that several rows show, in bytes.
    pub(crate) fn rows_bytes(self) -> usize {
        self.batch_bytes.saturating_mul(VALUES_OF_ROW)
    }

    /// The same for several rows, where fewer would fit.
    ///
    /// # Errors
    /// `BATCH_TOO_LARGE`; for one row as for [`Self::row`].
    pub(crate) fn rows(self, rows: usize, bytes: usize) -> Result<()> {
        let most = self.rows_bytes();
        if rows > 1 && bytes > most {
            return fail(SqlState::BATCH_TOO_LARGE, format!("{rows} rows of {bytes} bytes, and {most} fit"));
        }
        if rows > 1 { Ok(()) } else { self.row(bytes) }
    }

    /// The same where the rows are one batch for an operator above, which holds it.
    ///
    /// # Errors
    /// As for [`Self::rows`].
    pub(crate) fn batch(self, rows: usize, bytes: usize) -> Result<()> {
        let most = self.batch_bytes;
        if rows > 1 && bytes > most {
            return fail(SqlState::BATCH_TOO_LARGE, format!("a batch of {rows} rows of {bytes} bytes, not {most}"));
        }
        self.rows(rows, bytes)
    }

    /// For a call over so many rows, whose arguments have so many bytes.
    pub(crate) fn reserve(self, rows: usize, argument_bytes: usize) -> Reserved {
        let batch_bytes = self.batch_bytes.max(argument_bytes.saturating_mul(GROWTH_ALLOWED));
        Reserved { value_bytes: self.value_bytes, batch_bytes, rows, bytes: 0 }
    }
}

/// Whether fewer rows at a time would fit.
pub(crate) fn is_batch_too_large(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::External(error) => {
            error.downcast_ref::<types::Error>().is_some_and(|error| error.sqlstate == SqlState::BATCH_TOO_LARGE)
        }
        _ => false,
    }
}

/// The message for a value of so many bytes that has to have less than `most`.
pub(super) fn too_long(bytes: usize, most: usize) -> String {
    format!("requested length too large: {bytes} bytes, a value has less than {most}")
}

/// What the values of one call take so far.
#[derive(Debug)]
pub(crate) struct Reserved {
    value_bytes: usize,
    batch_bytes: usize,
    rows: usize,
    bytes: usize,
}

impl Reserved {
    /// Whether so many more bytes are within the budget, however they are divided among the rows.
    pub(super) fn has(&self, bytes: usize) -> bool {
        bytes < self.value_bytes && self.bytes.saturating_add(bytes) <= self.batch_bytes
    }

    /// To be asked before a value is made.
    ///
    /// # Errors
    /// `PROGRAM_LIMIT_EXCEEDED` for a value that is too long, `BATCH_TOO_LARGE` where fewer rows
    /// would fit.
    pub(crate) fn value(&mut self, bytes: usize) -> Result<()> {
        let most = self.value_bytes;
        if bytes >= most {
            return fail(SqlState::PROGRAM_LIMIT_EXCEEDED, too_long(bytes, most));
        }
        self.bytes = self.bytes.saturating_add(bytes);
        if self.rows > 1 && self.bytes > self.batch_bytes {
            let message = format!("values of more than {} bytes in {} rows at a time", self.batch_bytes, self.rows);
            return fail(SqlState::BATCH_TOO_LARGE, message);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_a_part_of_the_memory() {
        let small = ValueBudget::of_memory(256 << 20);
        assert_eq!((small.value_bytes, small.batch_bytes, small.gathered_rows), (8 << 20, 8 << 20, 64));
        let tiny = ValueBudget::of_memory(1);
        assert_eq!((tiny.value_bytes, tiny.batch_bytes), (VALUE_BYTES_MIN, BATCH_BYTES_MIN));
        let large = ValueBudget::of_memory(u64::MAX);
        assert_eq!((large.value_bytes, large.batch_bytes), (VALUE_BYTES_MAX, BATCH_BYTES_MAX));
        assert_eq!(large.gathered_rows, GATHERED_ROWS_MAX);
        assert_eq!(ValueBudget::of_memory(6 << 30).gathered_rows, 1536);
    }

    #[test]
    fn fewer_rows_may_fit_where_many_do_not() {
        let budget = ValueBudget::of_memory(256 << 20);
        let mut many = budget.reserve(8, 0);
        (0..4).for_each(|_| many.value(2 << 20).expect("within the budget"));
        assert!(many.value(2 << 20).expect_err("too many").to_string().contains("8 rows at a time"));
        let mut one = budget.reserve(1, 0);
        one.value(7 << 20).expect("a value is not a batch");
        assert!(budget.reserve(1, 0).value(8 << 20).expect_err("too long").to_string().contains("too large"));
        // Arguments that large are there already.
        let mut large = budget.reserve(8, 40 << 20);
        (0..8).for_each(|_| large.value(7 << 20).expect("twice the arguments"));
    }
}
