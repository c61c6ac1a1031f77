//! `bool_and` and `bool_or`, which only need to know how many of each there are.

use arrow::array::{Array, ArrayRef, AsArray};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;

#[derive(Debug)]
pub(super) struct Booleans {
    /// Whether one of the first kind decides: false for `bool_and`.
    decides: bool,
    deciding: i64,
    others: i64,
}

impl Booleans {
    pub(super) fn and() -> Self {
        Self { decides: false, deciding: 0, others: 0 }
    }

    pub(super) fn or() -> Self {
        Self { decides: true, deciding: 0, others: 0 }
    }

    fn count(&mut self, values: &[ArrayRef], sign: i64) -> Result<()> {
        let Some(values) = values.first().and_then(|values| values.as_boolean_opt()) else {
            return internal_err!("booleans of another type");
        };
        let (all, true_ones) = ((values.len() - values.null_count()) as i64, values.true_count() as i64);
        let deciding = if self.decides { true_ones } else { all - true_ones };
        self.deciding += sign * deciding;
        self.others += sign * (all - deciding);
        Ok(())
    }
}

impl Accumulator for Booleans {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.count(values, 1)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.count(values, -1)
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Boolean(match (self.deciding, self.others) {
            (0, 0) => None,
            (0, _) => Some(!self.decides),
            _ => Some(self.decides),
        }))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("a frame has no state")
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        internal_err!("a frame has no state")
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }
}
