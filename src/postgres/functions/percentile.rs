//! `percentile_cont`: DataFusion's accumulators keep all values, and say what they take when they
//! have it already.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, AggregateFunctionSimplification, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature};

/// How often values are in memory at most: as a partial aggregate's state, and while a list of them
/// grows, itself and twice as long.
const COPIES: usize = 3;

/// DataFusion's, under accumulators that count what they are about to take.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct PercentileCont(Arc<AggregateUDF>);

impl PercentileCont {
    pub(super) fn over(inner: Arc<AggregateUDF>) -> AggregateUDF {
        AggregateUDF::new_from_impl(Self(inner))
    }
}

impl AggregateUDFImpl for PercentileCont {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.0.return_type(types)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.0.state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Foresighted(self.0.accumulator(args)?)))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Foresighted(self.0.create_sliding_accumulator(args)?)))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.0.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Foresighted(self.0.create_groups_accumulator(args)?)))
    }

    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        self.0.simplify()
    }

    fn supports_within_group_clause(&self) -> bool {
        self.0.supports_within_group_clause()
    }
}

#[derive(Debug)]
struct Foresighted<T: ?Sized>(Box<T>);

impl Accumulator for Foresighted<dyn Accumulator> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(values)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.0.supports_retract_batch()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.0.evaluate()
    }

    fn size(&self) -> usize {
        self.0.size().saturating_mul(COPIES)
    }
}

impl GroupsAccumulator for Foresighted<dyn GroupsAccumulator> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        rows: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.0.update_batch(values, group_indices, rows, total_num_groups)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.0.merge_batch(values, group_indices, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.0.evaluate(emit_to)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.0.state(emit_to)
    }

    fn convert_to_state(&self, values: &[ArrayRef], rows: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        self.0.convert_to_state(values, rows)
    }

    fn size(&self) -> usize {
        self.0.size().saturating_mul(COPIES)
    }
}
