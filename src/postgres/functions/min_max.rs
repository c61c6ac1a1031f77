//! `min` and `max` of doubles by group, of intervals and of arrays. DataFusion's accumulators for
//! many groups start from the largest finite double, so they never find an infinity, and forget
//! what came before a NaN; those for a single group do neither. Intervals it compares by months
//! first, arrays by the bits of their items.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, make_comparator};
use arrow::compute::concat;
use arrow::datatypes::{DataType, Field, FieldRef, Float32Type, Float64Type};
use datafusion::common::{Result, ScalarValue, not_impl_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, SetMonotonicity, Signature,
    StatisticsArgs,
};

use super::groups::ExtremeFloats;
use super::keys::{NULLS_LAST, of_array};
use super::of_inner::of_inner;
use super::scalar::undefined;
use super::type_names::is_character;

/// One of DataFusion's two, with accumulators of our own for floats of groups and for intervals.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct MinMax {
    inner: Arc<AggregateUDF>,
    /// Also of truth values and uuids, of which PostgreSQL has none.
    of_all_types: bool,
}

impl MinMax {
    pub(super) fn over(inner: Arc<AggregateUDF>) -> AggregateUDF {
        AggregateUDF::new_from_impl(Self { inner, of_all_types: false })
    }
}

/// The same `min` or `max`, of all types: for what statements are rewritten to.
pub(crate) fn of_all_types(aggregate: &AggregateUDF) -> Option<Arc<AggregateUDF>> {
    let inner = Arc::clone(&aggregate.inner().downcast_ref::<MinMax>()?.inner);
    Some(Arc::new(AggregateUDF::new_from_impl(MinMax { inner, of_all_types: true })))
}

/// Intervals and arrays, which DataFusion compares by their fields and bits.
fn is_by_key(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Interval(_) | DataType::List(_))
}

impl AggregateUDFImpl for MinMax {
    of_inner! {
        name() -> &str,
        signature() -> &Signature,
        coerce_types(types: &[DataType]) -> Result<Vec<DataType>>,
        state_fields(args: StateFieldsArgs) -> Result<Vec<FieldRef>>,
        is_descending() -> Option<bool>,
        order_sensitivity() -> AggregateOrderSensitivity,
        value_from_stats(statistics: &StatisticsArgs) -> Option<ScalarValue>,
        set_monotonicity(data_type: &DataType) -> SetMonotonicity,
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types.first() {
            Some(DataType::Boolean | DataType::FixedSizeBinary(_)) if !self.of_all_types => {
                undefined(self.name(), types.iter())
            }
            _ => self.inner.return_type(types),
        }
    }

    /// That of a `char(n)` has its blanks where it goes out.
    fn return_field(&self, arguments: &[FieldRef]) -> Result<FieldRef> {
        let types: Vec<_> = arguments.iter().map(|field| field.data_type().clone()).collect();
        let field = Field::new(self.name(), self.return_type(&types)?, self.is_nullable());
        Ok(Arc::new(match arguments.first().filter(|argument| is_character(argument)) {
            Some(argument) => field.with_metadata(argument.metadata().clone()),
            None => field,
        }))
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let data_type = args.return_field.data_type();
        if is_by_key(data_type) {
            let found = ScalarValue::try_new_null(data_type)?;
            return Ok(Box::new(ExtremeByKey { greatest: self.name() == "max", found }));
        }
        self.inner.accumulator(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        match args.return_field.data_type() {
            data_type if is_by_key(data_type) => false,
            DataType::Float32 | DataType::Float64 => true,
            _ => self.inner.groups_accumulator_supported(args),
        }
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        let greatest = self.name() == "max";
        match args.return_field.data_type() {
            DataType::Float32 => Ok(Box::new(ExtremeFloats::<Float32Type>::new(greatest))),
            DataType::Float64 => Ok(Box::new(ExtremeFloats::<Float64Type>::new(greatest))),
            _ => self.inner.create_groups_accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if is_by_key(args.return_field.data_type()) {
            return not_impl_err!("{} of intervals or arrays over a moving frame is not supported", self.name());
        }
        self.inner.create_sliding_accumulator(args)
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

/// The greatest or least of what is compared by its key, intervals and arrays; the last of several
/// alike.
#[derive(Debug)]
struct ExtremeByKey {
    greatest: bool,
    /// NULL: none yet.
    found: ScalarValue,
}

impl ExtremeByKey {
    /// The place of the greatest or least, `None` where all are NULL.
    fn best_of(&self, values: &ArrayRef) -> Result<Option<usize>> {
        let keys = of_array(values)?;
        let compare = make_comparator(&keys, &keys, NULLS_LAST)?;
        let rows = (0..keys.len()).filter(|row| keys.is_valid(*row));
        Ok(rows.reduce(|best, row| match compare(row, best) {
            Ordering::Less if self.greatest => best,
            Ordering::Greater if !self.greatest => best,
            _ => row,
        }))
    }
}

impl Accumulator for ExtremeByKey {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(values) = values.first() else { return Ok(()) };
        let Some(best) = self.best_of(values)? else { return Ok(()) };
        let best = values.slice(best, 1);
        let beaten = !self.found.is_null()
            && self.best_of(&concat(&[self.found.to_array()?.as_ref(), best.as_ref()])?)? == Some(0);
        if !beaten {
            self.found = ScalarValue::try_from_array(&best, 0)?.compacted();
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.found.clone())
    }

    fn size(&self) -> usize {
        size_of::<Self>() - size_of::<ScalarValue>() + self.found.size()
    }
}
