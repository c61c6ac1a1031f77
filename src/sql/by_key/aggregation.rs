//! What aggregates make of rows: of all of them, or of each group, as DataFusion's hash aggregation
//! has it.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Field, Schema};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::EmitTo;
use datafusion::physical_expr::aggregate::LoweredAggregate;
use datafusion::physical_expr::{GroupsAccumulatorAdapter, PhysicalExpr};
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;

/// The groups of some rows.
pub(super) struct Groups {
    keys: Box<dyn GroupValues>,
    /// By row, its group.
    places: Vec<usize>,
}

impl Groups {
    /// Rows are of one group that have the same keys.
    pub(super) fn of(keys: &[ArrayRef]) -> Result<Self> {
        let field = |(at, key): (usize, &ArrayRef)| Field::new(at.to_string(), key.data_type().clone(), true);
        let schema = Schema::new(keys.iter().enumerate().map(field).collect::<Vec<_>>());
        let (mut groups, mut places) = (new_group_values(Arc::new(schema), &GroupOrdering::None)?, Vec::new());
        groups.intern(keys, &mut places)?;
        Ok(Self { keys: groups, places })
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The value of an aggregate by group.
    pub(super) fn aggregated(&mut self, lowered: &LoweredAggregate, rows: &RecordBatch) -> Result<ArrayRef> {
        let LoweredAggregate { aggregate, filter, .. } = lowered;
        let kept = filter.as_ref().map(|filter| evaluate(filter, rows)).transpose()?;
        let arguments = arguments(lowered, rows)?;
        let mut accumulator = match aggregate.groups_accumulator_supported() {
            true => aggregate.create_groups_accumulator()?,
            false => {
                let aggregate = Arc::clone(aggregate);
                Box::new(GroupsAccumulatorAdapter::new(move || aggregate.create_accumulator()))
            }
        };
        let kept = kept.as_ref().map(|kept| kept.as_boolean());
        accumulator.update_batch(&arguments, &self.places, kept, self.len())?;
        accumulator.evaluate(EmitTo::All)
    }

    /// The keys by group.
    pub(super) fn into_keys(mut self) -> Result<Vec<ArrayRef>> {
        self.keys.emit(EmitTo::All)
    }
}

/// The value of an aggregate over all rows.
pub(super) fn aggregated(lowered: &LoweredAggregate, rows: &RecordBatch) -> Result<ScalarValue> {
    let LoweredAggregate { aggregate, filter, .. } = lowered;
    let kept = match filter {
        Some(filter) => &filter_record_batch(rows, evaluate(filter, rows)?.as_boolean())?,
        None => rows,
    };
    let arguments = arguments(lowered, kept)?;
    let mut accumulator = aggregate.create_accumulator()?;
    accumulator.update_batch(&arguments)?;
    accumulator.evaluate()
}

/// The arguments of an aggregate.
fn arguments(lowered: &LoweredAggregate, rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
    lowered.aggregate.expressions().iter().map(|argument| evaluate(argument, rows)).collect()
}

/// An expression over rows.
pub(super) fn evaluate(expr: &Arc<dyn PhysicalExpr>, rows: &RecordBatch) -> Result<ArrayRef> {
    expr.evaluate(rows)?.into_array(rows.num_rows())
}
