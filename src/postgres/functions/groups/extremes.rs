//! `min` and `max` of floats of many groups: DataFusion's know no NaN, which is above all numbers
//! in PostgreSQL.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray};
use arrow::buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};

use super::taken;

/// The least or the greatest value of each group, the last of several alike.
pub(in super::super) struct ExtremeFloats<T: ArrowPrimitiveType> {
    /// How a value compares with the one that it takes the place of.
    wanted: Ordering,
    values: Vec<T::Native>,
    /// Whether a group has a value.
    seen: Vec<bool>,
}

impl<T: ArrowPrimitiveType> ExtremeFloats<T>
where
    T::Native: PartialOrd,
{
    pub(in super::super) fn new(greatest: bool) -> Self {
        let wanted = if greatest { Ordering::Greater } else { Ordering::Less };
        Self { wanted, values: Vec::new(), seen: Vec::new() }
    }

    fn add(&mut self, group: usize, value: T::Native) {
        let (seen, found) = (&mut self.seen[group], &mut self.values[group]);
        let is_beaten = || match compared(value, *found) {
            Ordering::Equal => true,
            order => order == self.wanted,
        };
        if !*seen || is_beaten() {
            (*seen, *found) = (true, value);
        }
    }

    fn emitted(&mut self, to: EmitTo) -> ArrayRef {
        let (values, seen) = (to.take_needed(&mut self.values), to.take_needed(&mut self.seen));
        let nulls = NullBuffer::new(BooleanBuffer::from(seen));
        Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), Some(nulls)))
    }
}

/// As PostgreSQL orders floats: NaN is above all others, and the zeros are alike.
fn compared<F: PartialOrd + Copy>(a: F, b: F) -> Ordering {
    let is_nan = |value: F| value.partial_cmp(&value).is_none();
    a.partial_cmp(&b).unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)))
}

impl<T: ArrowPrimitiveType> GroupsAccumulator for ExtremeFloats<T>
where
    T::Native: PartialOrd,
{
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.values.resize(total, T::default_value());
        self.seen.resize(total, false);
        let Some(values) = values.first() else { return internal_err!("min and max have an argument") };
        let taken = taken(filter, Some(values));
        let values = values.as_primitive::<T>().values();
        match taken {
            None => groups.iter().zip(values).for_each(|(&group, &value)| self.add(group, value)),
            Some(taken) => taken.values().set_indices().for_each(|row| self.add(groups[row], values[row])),
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.update_batch(states, groups, None, total)
    }

    fn evaluate(&mut self, to: EmitTo) -> Result<ArrayRef> {
        Ok(self.emitted(to))
    }

    fn state(&mut self, to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.emitted(to)])
    }

    /// Each row is a group of its own.
    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let Some(values) = values.first() else { return internal_err!("min and max have an argument") };
        let numbers = values.as_primitive::<T>();
        let kept = taken(filter, Some(values)).map(|taken| NullBuffer::new(taken.values().clone()));
        Ok(vec![Arc::new(PrimitiveArray::<T>::new(numbers.values().clone(), kept))])
    }

    fn size(&self) -> usize {
        self.values.capacity() * size_of::<T::Native>() + self.seen.capacity()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Float64Array;
    use arrow::datatypes::Float64Type;

    use super::*;

    const ROWS: [(usize, Option<f64>); 9] = [
        (0, Some(1.0)),
        (1, Some(f64::NAN)),
        (0, Some(f64::NAN)),
        (2, None),
        (1, Some(f64::NEG_INFINITY)),
        (0, Some(-7.5)),
        (3, Some(0.0)),
        (3, Some(-0.0)),
        (0, None),
    ];

    fn of(greatest: bool, filter: Option<&BooleanArray>) -> Vec<Option<f64>> {
        let values: ArrayRef = Arc::new(Float64Array::from_iter(ROWS.map(|(_, value)| value)));
        let groups = ROWS.map(|(group, _)| group);
        let mut once = ExtremeFloats::<Float64Type>::new(greatest);
        once.update_batch(&[Arc::clone(&values)], &groups, filter, 4).expect("rows");
        // The same by states, each of one row, and given out in two parts.
        let mut merged = ExtremeFloats::<Float64Type>::new(greatest);
        let states = merged.convert_to_state(&[values], filter).expect("states");
        merged.merge_batch(&states, &groups, 4).expect("states");
        let first = merged.evaluate(EmitTo::First(1)).expect("a group");
        let rest = merged.state(EmitTo::All).expect("the others");
        let all = once.evaluate(EmitTo::All).expect("groups");
        let shown = |array: &ArrayRef| array.as_primitive::<Float64Type>().iter().collect::<Vec<_>>();
        let parts = [shown(&first), shown(&rest[0])].concat();
        assert_eq!(format!("{parts:?}"), format!("{:?}", shown(&all)));
        parts
    }

    #[test]
    fn nan_is_above_all_others() {
        let (least, greatest) = (of(false, None), of(true, None));
        assert_eq!(least[..3], [Some(-7.5), Some(f64::NEG_INFINITY), None]);
        assert!(greatest[0].is_some_and(f64::is_nan) && greatest[1].is_some_and(f64::is_nan));
        assert_eq!((greatest[2], greatest[3]), (None, Some(0.0)));
    }

    #[test]
    fn rows_that_a_filter_leaves_out_do_not_count() {
        let filter = BooleanArray::from_iter(ROWS.map(|(_, value)| value.map(|value| value > 0.0)));
        assert_eq!(of(true, Some(&filter)), [Some(1.0), None, None, None]);
    }
}
