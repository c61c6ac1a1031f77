//! Results of frames as long as the frames, each: DataFusion holds those of all rows of a batch, or
//! of a partition, until it is done, and counts none of them.

use std::collections::VecDeque;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;

use super::limits::{FrameLimits, Memory};

/// Results that are taken for held at the same time.
const RESULTS_HELD: usize = 1 << 14;
/// They are scalars first, and then an array.
const COPIES: usize = 2;

#[derive(Debug)]
pub(super) struct Held {
    inner: Box<dyn Accumulator>,
    limits: FrameLimits,
    memory: Memory,
    results: VecDeque<usize>,
    bytes: usize,
    /// Rows that came since the last result. One that is the same for all rows of a partition is
    /// asked for once, and repeated.
    rows: usize,
}

impl Held {
    /// The accumulator itself, if its results are small.
    pub(super) fn over(inner: Box<dyn Accumulator>, returns: &DataType, limits: &FrameLimits) -> Box<dyn Accumulator> {
        if !returns.is_nested() && returns.primitive_width().is_some() || *returns == DataType::Boolean {
            return inner;
        }
        let memory = limits.memory();
        Box::new(Self { inner, limits: limits.clone(), memory, results: VecDeque::new(), bytes: 0, rows: 0 })
    }
}

impl Accumulator for Held {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.rows += values.first().map_or(0, |values| values.len());
        self.inner.update_batch(values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.limits.check()?;
        // The one to come is about as large as the one before.
        let last = self.results.back().copied().unwrap_or(0);
        self.memory.take(self.bytes.saturating_add(last).saturating_mul(COPIES))?;
        let result = self.inner.evaluate()?;
        let bytes = result.size().saturating_mul(std::mem::take(&mut self.rows).max(1));
        self.results.push_back(bytes);
        self.bytes = self.bytes.saturating_add(bytes);
        if self.results.len() > RESULTS_HELD {
            self.bytes -= self.results.pop_front().unwrap_or(0).min(self.bytes);
        }
        self.memory.take(self.bytes.saturating_mul(COPIES))?;
        Ok(result)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn size(&self) -> usize {
        self.inner.size() + self.bytes
    }
}
