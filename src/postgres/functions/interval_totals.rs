//! `sum` and `avg` of intervals: DataFusion has no average of them, and its sum wraps around.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Decimal128Type, Field, FieldRef, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
};
use datafusion::common::{Result, ScalarValue, not_impl_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Coercion, GroupsAccumulator, ReversedUDAF, SetMonotonicity, Signature,
    TypeSignature, TypeSignatureClass, Volatility,
};

use super::interval_math::{averaged, interval_range};
use super::kind::{Kind, NUMERIC_DIGITS_MAX, interval};
use super::of_inner::of_inner;
use crate::types::Interval;

/// `sum` of intervals, in place of DataFusion's.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct IntervalSum {
    signature: Signature,
}

impl IntervalSum {
    /// In place of a function of an argument of this type, if it is a sum of intervals.
    pub(super) fn in_place_of(function: &AggregateUDF, argument: Kind) -> Option<Arc<AggregateUDF>> {
        (function.name() == "sum" && argument == Kind::Interval).then(|| {
            let signature = Signature::exact(vec![interval()], Volatility::Immutable);
            Arc::new(AggregateUDF::new_from_impl(Self { signature }))
        })
    }
}

impl AggregateUDFImpl for IntervalSum {
    fn name(&self) -> &str {
        "sum"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(interval())
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        total(&args, false)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        total(&args, false)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(state_fields(&args))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

/// `avg`, of intervals too.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Average {
    inner: Arc<AggregateUDF>,
    signature: Signature,
}

impl Average {
    pub(super) fn over(inner: Arc<AggregateUDF>) -> AggregateUDF {
        let of_intervals = TypeSignature::Coercible(vec![Coercion::new_exact(TypeSignatureClass::Interval)]);
        let of_numbers = inner.signature().type_signature.clone();
        let signature = Signature::one_of(vec![of_numbers, of_intervals], Volatility::Immutable);
        AggregateUDF::new_from_impl(Self { inner, signature })
    }
}

fn is_interval(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Interval(_))
}

impl AggregateUDFImpl for Average {
    of_inner! {
        name() -> &str,
        aliases() -> &[String],
        create_groups_accumulator(args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>>,
        order_sensitivity() -> AggregateOrderSensitivity,
        set_monotonicity(data_type: &DataType) -> SetMonotonicity,
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [span] if is_interval(span) => Ok(interval()),
            types => self.inner.return_type(types),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match is_interval(args.return_field.data_type()) {
            true => total(&args, true),
            false => self.inner.accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match is_interval(args.return_field.data_type()) {
            true => total(&args, true),
            false => self.inner.create_sliding_accumulator(args),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        if !is_interval(args.return_field.data_type()) {
            return self.inner.state_fields(args);
        }
        Ok(state_fields(&args))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !is_interval(args.return_field.data_type()) && self.inner.groups_accumulator_supported(args)
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

fn total(args: &AccumulatorArgs, is_average: bool) -> Result<Box<dyn Accumulator>> {
    if args.is_distinct {
        return not_impl_err!("{} of distinct intervals", args.name);
    }
    Ok(Box::new(IntervalTotal { is_average, ..IntervalTotal::default() }))
}

/// How many there are, and the parts of their sum.
fn state_fields(args: &StateFieldsArgs) -> Vec<FieldRef> {
    let field = |name: &str, data_type| Arc::new(Field::new(format_state_name(args.name, name), data_type, true));
    vec![
        field("count", DataType::Int64),
        field("months", DataType::Int64),
        field("days", DataType::Int64),
        field("nanoseconds", DataType::Decimal128(NUMERIC_DIGITS_MAX, 0)),
    ]
}

/// The parts of a sum, which may be larger than those of an interval until it is divided.
#[derive(Debug, Default)]
struct IntervalTotal {
    is_average: bool,
    count: i64,
    months: i64,
    days: i64,
    nanoseconds: i128,
}

impl IntervalTotal {
    fn add_all(&mut self, values: &[ArrayRef], sign: i64) {
        let spans = values.first().and_then(|values| values.as_primitive_opt::<IntervalMonthDayNanoType>());
        let Some(spans) = spans else { return };
        self.count += sign * (spans.len() - spans.null_count()) as i64;
        for span in spans.iter().flatten() {
            self.months += sign * i64::from(span.months);
            self.days += sign * i64::from(span.days);
            self.nanoseconds += i128::from(sign) * i128::from(span.nanoseconds);
        }
    }

    fn sum(&self) -> Result<IntervalMonthDayNano> {
        let months = i32::try_from(self.months).map_err(|_| interval_range())?;
        let days = i32::try_from(self.days).map_err(|_| interval_range())?;
        let nanoseconds = i64::try_from(self.nanoseconds).map_err(|_| Interval::too_long())?;
        Ok(IntervalMonthDayNano::new(months, days, nanoseconds))
    }
}

impl Accumulator for IntervalTotal {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add_all(values, 1);
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add_all(values, -1);
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        if let [counts, months, days, nanoseconds] = states {
            let sum = |parts: &ArrayRef| parts.as_primitive::<Int64Type>().iter().flatten().sum::<i64>();
            self.count += sum(counts);
            self.months += sum(months);
            self.days += sum(days);
            self.nanoseconds += nanoseconds.as_primitive::<Decimal128Type>().iter().flatten().sum::<i128>();
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let parts = [self.count, self.months, self.days];
        let nanoseconds = ScalarValue::Decimal128(Some(self.nanoseconds), NUMERIC_DIGITS_MAX, 0);
        Ok(parts.into_iter().map(|part| ScalarValue::Int64(Some(part))).chain([nanoseconds]).collect())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::IntervalMonthDayNano(match self.count {
            0 => None,
            count if self.is_average => Some(averaged(self.months, self.days, self.nanoseconds, count)?),
            _ => Some(self.sum()?),
        }))
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }
}
