//! `percentile_cont`: between which two values of a group a share of all lies, and how far from
//! each.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, ListArray};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
};

use super::error::{SqlState, fail};
use super::groups::{filtered, lengths, taken};
use super::kind::Kind;
use super::ordered_set::shares;

/// How often values are in memory at most: as a partial aggregate's state, and while a list of them
/// grows, itself and twice as long.
const COPIES: usize = 3;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct PercentileCont {
    signature: Signature,
    /// Those of DataFusion's: where functions are put into a state anew, an alias would bring its
    /// function back under the name.
    aliases: Vec<String>,
}

impl PercentileCont {
    pub(super) fn in_place_of(replaced: &AggregateUDF) -> AggregateUDF {
        let aliases = replaced.aliases().to_vec();
        AggregateUDF::new_from_impl(Self { signature: Signature::user_defined(Volatility::Immutable), aliases })
    }
}

impl AggregateUDFImpl for PercentileCont {
    fn name(&self) -> &str {
        "percentile_cont"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let is_number = |ty: &DataType| Kind::of(ty).is_number() || Kind::of(ty) == Kind::Null;
        match types {
            [value, DataType::List(_)] if is_number(value) => {
                Ok(vec![DataType::Float64, DataType::new_list(DataType::Float64, true)])
            }
            [value, share] if is_number(value) && is_number(share) => Ok(vec![DataType::Float64, DataType::Float64]),
            // Refused by name where its type is asked for: this error would become another.
            [DataType::Interval(_), _] => Ok(types.to_vec()),
            // The value that is ordered comes first, and is no argument to PostgreSQL.
            _ => super::scalar::undefined(self.name(), types.iter().skip(1)),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [DataType::Interval(_), ..] => {
                fail(SqlState::FEATURE_NOT_SUPPORTED, "percentile_cont over values of type interval is not supported")
            }
            [_, DataType::List(_)] => Ok(DataType::new_list(DataType::Float64, true)),
            _ => Ok(DataType::Float64),
        }
    }

    fn supports_within_group_clause(&self) -> bool {
        true
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let values = DataType::new_list(DataType::Float64, true);
        Ok(vec![Arc::new(Field::new(format_state_name(args.name, self.name()), values, true))])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Values { places: Places::of(&args)?, values: Vec::new() }))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(GroupValues { places: Places::of(&args)?, groups: Vec::new(), values: 0 }))
    }
}

/// What is asked for of the values of a group.
#[derive(Debug)]
struct Places {
    shares: Vec<Option<f64>>,
    descending: bool,
    as_list: bool,
}

impl Places {
    fn of(args: &AccumulatorArgs) -> Result<Self> {
        Ok(Self {
            shares: args.exprs.get(1).map_or_else(|| Ok(Vec::new()), shares)?,
            descending: args.order_bys.first().is_some_and(|order| order.options.descending),
            as_list: matches!(args.return_field.data_type(), DataType::List(_)),
        })
    }

    /// The value at a share of all.
    fn at(&self, values: &mut [f64], share: Option<f64>) -> Option<f64> {
        let share = share?;
        let last = values.len().checked_sub(1)?;
        let place = share * last as f64;
        let (lower, upper) = (place.floor() as usize, place.ceil() as usize);
        let order = |one: &f64, other: &f64| match self.descending {
            false => nan_last(*one, *other),
            true => nan_last(*other, *one),
        };
        let (_, low, behind) = values.select_nth_unstable_by(lower.min(last), order);
        let low = *low;
        if lower == upper {
            return Some(low);
        }
        let high = behind.iter().copied().min_by(order)?;
        Some(low + (place - lower as f64) * (high - low))
    }

    fn found(&self, values: &mut [f64]) -> Vec<Option<f64>> {
        self.shares.iter().map(|share| self.at(values, *share)).collect()
    }
}

/// PostgreSQL's order of doubles.
fn nan_last(one: f64, other: f64) -> Ordering {
    one.partial_cmp(&other).unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
}

/// # Errors
/// `PROGRAM_LIMIT_EXCEEDED` for more values than a column of lists has.
fn check_number(values: usize) -> Result<()> {
    match i32::try_from(values) {
        Ok(_) => Ok(()),
        Err(_) => fail(SqlState::PROGRAM_LIMIT_EXCEEDED, format!("percentile_cont of {values} values")),
    }
}

/// Lists of doubles, one for each group.
fn lists(groups: Vec<Vec<f64>>) -> Result<ListArray> {
    let number = groups.iter().map(Vec::len).sum();
    check_number(number)?;
    let offsets = OffsetBuffer::from_lengths(groups.iter().map(Vec::len));
    let mut values = Vec::with_capacity(number);
    for group in groups {
        values.extend_from_slice(&group);
    }
    Ok(list_of(offsets, Float64Array::new(ScalarBuffer::from(values), None)))
}

fn list_of(offsets: OffsetBuffer<i32>, values: Float64Array) -> ListArray {
    ListArray::new(Arc::new(Field::new_list_field(DataType::Float64, true)), offsets, Arc::new(values), None)
}

/// All values but NULLs.
#[derive(Debug)]
struct Values {
    places: Places,
    values: Vec<f64>,
}

impl Accumulator for Values {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(values) = values.first().and_then(|values| values.as_primitive_opt::<Float64Type>()) else {
            return Ok(());
        };
        match values.null_count() {
            0 => self.values.extend_from_slice(values.values()),
            _ => self.values.extend(values.iter().flatten()),
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(lists) = states.first().and_then(|state| state.as_list_opt::<i32>()) else { return Ok(()) };
        lists.iter().flatten().try_for_each(|list| self.update_batch(&[list]))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        check_number(self.values.len())?;
        let values = Float64Array::new(ScalarBuffer::from(std::mem::take(&mut self.values)), None);
        Ok(vec![SingleRowListArrayBuilder::new(Arc::new(values)).build_list_scalar()])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let found = self.places.found(&mut self.values);
        if !self.places.as_list {
            return Ok(ScalarValue::Float64(found.into_iter().next().flatten()));
        }
        if self.values.is_empty() {
            return ScalarValue::try_from(&DataType::new_list(DataType::Float64, true));
        }
        Ok(SingleRowListArrayBuilder::new(Arc::new(Float64Array::from(found))).build_list_scalar())
    }

    fn size(&self) -> usize {
        size_of::<Self>() + (self.values.capacity() * size_of::<f64>()).saturating_mul(COPIES)
    }
}

struct GroupValues {
    places: Places,
    groups: Vec<Vec<f64>>,
    /// How many there are room for, of all groups.
    values: usize,
}

impl GroupValues {
    fn add(&mut self, group: usize, values: impl Iterator<Item = f64>) {
        let group = &mut self.groups[group];
        let before = group.capacity();
        group.extend(values);
        self.values += group.capacity() - before;
    }

    fn take(&mut self, emit_to: EmitTo) -> Vec<Vec<f64>> {
        let taken = emit_to.take_needed(&mut self.groups);
        self.values -= taken.iter().map(Vec::capacity).sum::<usize>();
        taken
    }
}

impl GroupsAccumulator for GroupValues {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        rows: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.groups.resize(total_num_groups.max(self.groups.len()), Vec::new());
        let Some(column) = values.first() else { return Ok(()) };
        let Some(values) = column.as_primitive_opt::<Float64Type>() else { return Ok(()) };
        let taken = taken(rows, Some(column));
        for (row, group) in group_indices.iter().enumerate() {
            if taken.as_ref().is_none_or(|taken| taken.value(row)) {
                self.add(*group, std::iter::once(values.value(row)));
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.groups.resize(total_num_groups.max(self.groups.len()), Vec::new());
        let Some(lists) = states.first().and_then(|state| state.as_list_opt::<i32>()) else { return Ok(()) };
        for (list, group) in lists.iter().zip(group_indices) {
            if let Some(list) = list {
                self.add(*group, list.as_primitive::<Float64Type>().iter().flatten());
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let mut groups = self.take(emit_to);
        if !self.places.as_list {
            let first = |values: &mut Vec<f64>| self.places.found(values).into_iter().next().flatten();
            return Ok(Arc::new(groups.iter_mut().map(first).collect::<Float64Array>()));
        }
        let each = groups.iter_mut().map(|values| (!values.is_empty()).then(|| self.places.found(values)));
        Ok(Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(each)))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![Arc::new(lists(self.take(emit_to))?)])
    }

    fn convert_to_state(&self, values: &[ArrayRef], rows: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let Some(column) = values.first() else { return Ok(Vec::new()) };
        let taken = taken(rows, Some(column));
        let items = filtered(column, taken.as_ref())?.as_primitive::<Float64Type>().clone();
        let offsets = OffsetBuffer::from_lengths(lengths(column.len(), taken.as_ref()));
        Ok(vec![Arc::new(list_of(offsets, items))])
    }

    fn size(&self) -> usize {
        self.groups.capacity() * size_of::<Vec<f64>>() + (self.values * size_of::<f64>()).saturating_mul(COPIES)
    }
}
