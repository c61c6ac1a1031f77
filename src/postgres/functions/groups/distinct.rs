//! `count(DISTINCT x)` of many groups, of values that DataFusion counts for one group only.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, ListArray, UInt32Array, UInt64Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, UInt64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, AggregateFunctionSimplification, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, SetMonotonicity, Signature,
    StatisticsArgs,
};
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;

use super::super::of_inner::of_inner;
use super::{filtered, items_of, lengths, taken};

/// DataFusion's `count`, with one table for the distinct values of all groups.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct DistinctCount {
    inner: Arc<AggregateUDF>,
}

impl DistinctCount {
    pub(in super::super) fn over(inner: Arc<AggregateUDF>) -> AggregateUDF {
        AggregateUDF::new_from_impl(Self { inner })
    }
}

/// Whether DataFusion's `count` of many groups lacks the values of `args`.
fn is_ours(inner: &AggregateUDF, args: &AccumulatorArgs) -> bool {
    let is_null = |field: &FieldRef| *field.data_type() == DataType::Null;
    args.is_distinct
        && args.expr_fields.len() == 1
        && !args.expr_fields.iter().any(is_null)
        && !inner.groups_accumulator_supported(again(args))
}

fn again<'a>(args: &AccumulatorArgs<'a>) -> AccumulatorArgs<'a> {
    AccumulatorArgs { return_field: Arc::clone(&args.return_field), ..*args }
}

impl AggregateUDFImpl for DistinctCount {
    of_inner! {
        name() -> &str,
        signature() -> &Signature,
        return_type(types: &[DataType]) -> Result<DataType>,
        is_nullable() -> bool,
        state_fields(args: StateFieldsArgs) -> Result<Vec<FieldRef>>,
        create_sliding_accumulator(args: AccumulatorArgs) -> Result<Box<dyn Accumulator>>,
        order_sensitivity() -> AggregateOrderSensitivity,
        simplify() -> Option<AggregateFunctionSimplification>,
        default_value(data_type: &DataType) -> Result<ScalarValue>,
        value_from_stats(statistics: &StatisticsArgs) -> Option<ScalarValue>,
        set_monotonicity(data_type: &DataType) -> SetMonotonicity,
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        // DataFusion keeps a scalar for each of these, which counts the batch that it is from.
        match args.expr_fields.first() {
            Some(field) if field.data_type().is_nested() && is_ours(&self.inner, &args) => {
                Ok(Box::new(OfOneGroup(Mutex::new(DistinctGroups::of(field.data_type())?))))
            }
            _ => self.inner.accumulator(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        is_ours(&self.inner, &args) || self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        match args.expr_fields.first() {
            Some(field) if is_ours(&self.inner, &args) => Ok(Box::new(DistinctGroups::of(field.data_type())?)),
            _ => self.inner.create_groups_accumulator(args),
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

/// The distinct values of each group but NULL.
struct DistinctGroups {
    value: DataType,
    /// Numbers of groups, and values.
    seen: Box<dyn GroupValues>,
    groups: usize,
    /// What `intern` gives back, unused; kept for its allocation.
    places: Vec<usize>,
}

impl DistinctGroups {
    fn of(value: &DataType) -> Result<Self> {
        let fields = vec![Field::new("group", DataType::UInt64, false), Field::new("value", value.clone(), true)];
        let seen = new_group_values(Arc::new(Schema::new(fields)), &GroupOrdering::None)?;
        Ok(Self { value: value.clone(), seen, groups: 0, places: Vec::new() })
    }

    fn add(&mut self, groups: UInt64Array, values: ArrayRef) -> Result<()> {
        self.places.clear();
        self.seen.intern(&[Arc::new(groups), values], &mut self.places)
    }

    /// Gives up the first groups, or all: how many values each has, and the rows of all of them in
    /// the order of their groups, among values that are returned, too.
    fn emit(&mut self, emit_to: EmitTo) -> Result<(Vec<usize>, UInt32Array, ArrayRef)> {
        let emitted = match emit_to {
            EmitTo::All => self.groups,
            EmitTo::First(groups) => groups,
        };
        let columns = self.seen.emit(EmitTo::All)?;
        self.seen.clear_shrink(0);
        let [groups, values] = columns.as_slice() else { return internal_err!("distinct values without groups") };
        let groups = groups.as_primitive::<UInt64Type>().values();
        let mut counts = vec![0; emitted];
        for group in groups.iter().filter(|group| (**group as usize) < emitted) {
            counts[*group as usize] += 1;
        }
        let mut next = Vec::with_capacity(emitted);
        let mut end = 0;
        for count in &counts {
            next.push(end);
            end += count;
        }
        let mut order = vec![0; end];
        let mut kept = Vec::with_capacity(groups.len() - end);
        for (row, group) in groups.iter().enumerate() {
            match next.get_mut(*group as usize) {
                Some(place) => {
                    order[*place] = row as u32;
                    *place += 1;
                }
                None => kept.push(row as u32),
            }
        }
        self.groups -= emitted;
        if !kept.is_empty() {
            let left = kept.iter().map(|row| groups[*row as usize] - emitted as u64).collect();
            self.add(left, take(values, &UInt32Array::from(kept), None)?)?;
        }
        Ok((counts, UInt32Array::from(order), Arc::clone(values)))
    }

    fn lists(&self, lengths: Vec<usize>, values: ArrayRef) -> Result<ArrayRef> {
        if i32::try_from(values.len()).is_err() {
            return internal_err!("the states of groups hold {} values, more than lists have", values.len());
        }
        let field = Arc::new(Field::new_list_field(self.value.clone(), true));
        Ok(Arc::new(ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), values, None)?))
    }
}

impl GroupsAccumulator for DistinctGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.groups = self.groups.max(total_num_groups);
        let Some(values) = values.first() else { return Ok(()) };
        let taken = taken(filter, Some(values));
        let is_taken = |row: &usize| taken.as_ref().is_none_or(|taken| taken.value(*row));
        let rows = (0..group_indices.len()).filter(is_taken);
        self.add(rows.map(|row| group_indices[row] as u64).collect(), filtered(values, taken.as_ref())?)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.groups = self.groups.max(total_num_groups);
        let Some(lists) = states.first().and_then(|state| state.as_list_opt::<i32>()) else { return Ok(()) };
        let (items, _) = items_of(lists);
        let lengths = lists.offsets().lengths();
        let groups = group_indices.iter().zip(lengths);
        let groups = groups.flat_map(|(group, length)| std::iter::repeat_n(*group as u64, length));
        self.add(groups.collect(), items)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (counts, ..) = self.emit(emit_to)?;
        Ok(Arc::new(counts.into_iter().map(|count| count as i64).collect::<Int64Array>()))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let (counts, order, values) = self.emit(emit_to)?;
        Ok(vec![self.lists(counts, take(&values, &order, None)?)?])
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let Some(values) = values.first() else { return internal_err!("a count of no value") };
        let taken = taken(filter, Some(values));
        let lengths = lengths(values.len(), taken.as_ref());
        Ok(vec![self.lists(lengths, filtered(values, taken.as_ref())?)?])
    }

    fn size(&self) -> usize {
        // Where they are emitted they are put in the order of their groups.
        size_of::<Self>() + self.seen.size().saturating_mul(2) + self.places.capacity() * size_of::<usize>()
    }
}

/// The same for all rows. It is behind a lock because accumulators may be shared between threads.
struct OfOneGroup(Mutex<DistinctGroups>);

impl OfOneGroup {
    fn only(&mut self) -> &mut DistinctGroups {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for OfOneGroup {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("distinct values")
    }
}

impl Accumulator for OfOneGroup {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |values| values.len());
        self.only().update_batch(values, &vec![0; rows], None, 1)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.first().map_or(0, |states| states.len());
        self.only().merge_batch(states, &vec![0; rows], 1)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let groups = self.only();
        groups.groups = 1;
        let states = groups.state(EmitTo::All)?;
        states.iter().map(|state| ScalarValue::try_from_array(state, 0)).collect()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Int64(Some(self.only().seen.len() as i64)))
    }

    fn size(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).size()
    }
}
