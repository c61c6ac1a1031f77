//! `min` and `max` of doubles by group, and of intervals. DataFusion's accumulators for many groups
//! start from the largest finite double, so they never find an infinity, and forget what came
//! before a NaN; those for a single group do neither. Intervals it compares by months first.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Field, FieldRef, Float32Type, Float64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
};
use datafusion::common::{Result, ScalarValue, not_impl_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, SetMonotonicity, Signature,
    StatisticsArgs,
};

use super::groups::ExtremeFloats;
use super::keys::length;
use super::of_inner::of_inner;
use super::type_names::is_character;

/// One of DataFusion's two, with accumulators of our own for floats of groups and for intervals.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct MinMax {
    inner: Arc<AggregateUDF>,
}

impl MinMax {
    pub(super) fn over(inner: Arc<AggregateUDF>) -> AggregateUDF {
        AggregateUDF::new_from_impl(Self { inner })
    }
}

impl AggregateUDFImpl for MinMax {
    of_inner! {
        name() -> &str,
        signature() -> &Signature,
        return_type(types: &[DataType]) -> Result<DataType>,
        coerce_types(types: &[DataType]) -> Result<Vec<DataType>>,
        state_fields(args: StateFieldsArgs) -> Result<Vec<FieldRef>>,
        is_descending() -> Option<bool>,
        order_sensitivity() -> AggregateOrderSensitivity,
        value_from_stats(statistics: &StatisticsArgs) -> Option<ScalarValue>,
        set_monotonicity(data_type: &DataType) -> SetMonotonicity,
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
        if matches!(args.return_field.data_type(), DataType::Interval(_)) {
            return Ok(Box::new(ExtremeInterval { greatest: self.name() == "max", found: None }));
        }
        self.inner.accumulator(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        match args.return_field.data_type() {
            DataType::Interval(_) => false,
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
        if matches!(args.return_field.data_type(), DataType::Interval(_)) {
            return not_impl_err!("{} of intervals over a moving frame is not supported", self.name());
        }
        self.inner.create_sliding_accumulator(args)
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

/// The longest or shortest interval; the last of several alike.
#[derive(Debug)]
struct ExtremeInterval {
    greatest: bool,
    found: Option<IntervalMonthDayNano>,
}

impl Accumulator for ExtremeInterval {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(spans) = values.first().and_then(|values| values.as_primitive_opt::<IntervalMonthDayNanoType>())
        else {
            return Ok(());
        };
        for span in spans.iter().flatten() {
            let beaten = self.found.is_some_and(|found| match self.greatest {
                true => length(found) > length(span),
                false => length(found) < length(span),
            });
            if !beaten {
                self.found = Some(span);
            }
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
        Ok(ScalarValue::IntervalMonthDayNano(self.found))
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }
}
