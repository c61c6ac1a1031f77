//! An accumulator that keeps the rows of its frame and adds them anew where some have left it.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{FieldRef, Schema};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};

use super::limits::{FrameLimits, Memory};
use super::rows::FrameRows;

/// Makes accumulators that all are alike.
#[derive(Debug)]
struct Maker {
    function: Arc<AggregateUDF>,
    return_field: FieldRef,
    schema: Schema,
    expr_fields: Vec<FieldRef>,
    ignore_nulls: bool,
    order_bys: Vec<PhysicalSortExpr>,
    is_distinct: bool,
    is_reversed: bool,
    name: String,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
}

impl Maker {
    fn new(function: &Arc<AggregateUDF>, args: &AccumulatorArgs) -> Self {
        Self {
            function: Arc::clone(function),
            return_field: Arc::clone(&args.return_field),
            schema: args.schema.clone(),
            expr_fields: args.expr_fields.to_vec(),
            ignore_nulls: args.ignore_nulls,
            order_bys: args.order_bys.to_vec(),
            is_distinct: args.is_distinct,
            is_reversed: args.is_reversed,
            name: args.name.to_owned(),
            exprs: args.exprs.to_vec(),
        }
    }

    fn accumulator(&self) -> Result<Box<dyn Accumulator>> {
        self.function.accumulator(AccumulatorArgs {
            return_field: Arc::clone(&self.return_field),
            schema: &self.schema,
            expr_fields: &self.expr_fields,
            ignore_nulls: self.ignore_nulls,
            order_bys: &self.order_bys,
            is_distinct: self.is_distinct,
            is_reversed: self.is_reversed,
            name: &self.name,
            exprs: &self.exprs,
        })
    }
}

/// An accumulator that has the first rows of the frame.
#[derive(Debug)]
struct Begun {
    accumulator: Box<dyn Accumulator>,
    rows: usize,
}

#[derive(Debug)]
pub(super) struct Anew {
    maker: Maker,
    rows: FrameRows,
    /// Until a row leaves the frame.
    begun: Option<Begun>,
    limits: FrameLimits,
    memory: Memory,
}

impl Anew {
    pub(super) fn new(function: &Arc<AggregateUDF>, args: &AccumulatorArgs, limits: FrameLimits) -> Self {
        let memory = limits.memory();
        Self { maker: Maker::new(function, args), rows: FrameRows::default(), begun: None, limits, memory }
    }

    /// The accumulator with all rows of the frame.
    fn added(&mut self) -> Result<&mut Begun> {
        let mut begun = match self.begun.take() {
            Some(begun) => begun,
            None => Begun { accumulator: self.maker.accumulator()?, rows: 0 },
        };
        for piece in self.rows.behind(begun.rows) {
            self.limits.check()?;
            begun.accumulator.update_batch(&piece)?;
        }
        begun.rows = self.rows.len();
        Ok(self.begun.insert(begun))
    }
}

impl Accumulator for Anew {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.rows.push(values)?;
        self.memory.take(self.rows.bytes())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |values| values.len());
        if rows > 0 {
            self.rows.pop(rows);
            self.begun = None;
        }
        self.memory.take(self.rows.bytes())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.limits.check()?;
        self.added()?.accumulator.evaluate()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("a frame has no state")
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        internal_err!("a frame has no state")
    }

    fn size(&self) -> usize {
        let begun = self.begun.as_ref().map_or(0, |begun| begun.accumulator.size());
        size_of::<Self>() + self.rows.bytes() + begun
    }
}
