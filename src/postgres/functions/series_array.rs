//! `generate_series` as an array, which set-returning calls in expressions are made of:
//! DataFusion's, within the memory that values may take.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Field, FieldRef, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, TimeUnit,
};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, Documentation, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

use super::kind::interval;
use super::value_budget::ValueBudget;

/// Most items are as wide, and none is wider.
const ITEM_BYTES: u128 = 8;
const DAY_MICROS: i128 = 86_400_000_000;
const MONTH_DAYS_MIN: i128 = 28;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct SeriesArray {
    inner: Arc<ScalarUDF>,
}

impl SeriesArray {
    pub(super) fn over(inner: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
        Arc::new(ScalarUDF::new_from_impl(Self { inner }))
    }
}

impl ScalarUDFImpl for SeriesArray {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let field = self.inner.return_field_from_args(args)?;
        Ok(Arc::new(Field::clone(&field).with_name(self.name())))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let arrays = args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let mut reserved = ValueBudget::of(&args.config_options).reserve(rows, 0);
        if let Some(items) = items(&arrays)? {
            for row in 0..rows {
                let bytes = items(row).saturating_mul(ITEM_BYTES);
                reserved.value(usize::try_from(bytes).unwrap_or(usize::MAX))?;
            }
        }
        self.inner.invoke_with_args(args)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}

/// How many items a row's series has at most; none for arguments that it is not made of.
fn items(arguments: &[ArrayRef]) -> Result<Option<impl Fn(usize) -> u128>> {
    let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
    let number = |array: &ArrayRef| -> Result<Option<ArrayRef>> {
        Ok(match array.data_type() {
            data_type if data_type.is_integer() => Some(cast(array, &DataType::Int64)?),
            data_type if data_type.is_temporal() => Some(cast(&cast(array, &micros)?, &DataType::Int64)?),
            _ => None,
        })
    };
    let (start, stop, step) = match arguments {
        [stop] => (None, stop, None),
        [start, stop] => (Some(start), stop, None),
        [start, stop, step] => (Some(start), stop, Some(step)),
        _ => return Ok(None),
    };
    let Some(stop) = number(stop)? else { return Ok(None) };
    let start = match start {
        None => None,
        Some(start) => match number(start)? {
            None => return Ok(None),
            start => start,
        },
    };
    let step = match step {
        None => None,
        Some(step) if step.data_type().is_integer() => Some(cast(step, &DataType::Int64)?),
        Some(step) if *step.data_type() == interval() => Some(Arc::clone(step)),
        Some(_) => return Ok(None),
    };
    let value =
        |array: &ArrayRef, row: usize| array.is_valid(row).then(|| array.as_primitive::<Int64Type>().value(row));
    Ok(Some(move |row: usize| {
        let start = start.as_ref().map_or(Some(0), |start| value(start, row));
        let step = step.as_ref().map_or(1, |step| step_of(step, row));
        match (start, value(&stop, row)) {
            (Some(start), Some(stop)) => (i128::from(stop) - i128::from(start)).unsigned_abs() / step.max(1) + 1,
            _ => 0,
        }
    }))
}

/// The least that a step is: months have 28 days at least.
fn step_of(steps: &ArrayRef, row: usize) -> u128 {
    if steps.is_null(row) {
        return u128::MAX;
    }
    if let Some(spans) = steps.as_primitive_opt::<IntervalMonthDayNanoType>() {
        let IntervalMonthDayNano { months, days, nanoseconds } = spans.value(row);
        let days = i128::from(months) * MONTH_DAYS_MIN + i128::from(days);
        return (days * DAY_MICROS + i128::from(nanoseconds) / 1000).unsigned_abs();
    }
    u128::from(steps.as_primitive::<Int64Type>().value(row).unsigned_abs())
}
