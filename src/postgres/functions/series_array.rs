//! `generate_series` as an array, which set-returning calls in expressions are made of:
//! DataFusion's, within the memory that values may take.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, IntervalMonthDayNanoArray, ListArray, PrimitiveArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Field, FieldRef, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, TimeUnit,
    TimestampMicrosecondType,
};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

use super::error::{SqlState, fail};
use super::interval_math::{date_range, moved};
use super::kind::interval;
use super::value_budget::ValueBudget;
use super::zone::Zone;
use crate::carried::Stop;

/// Most items are as wide, and none is wider.
const ITEM_BYTES: u128 = 8;
const DAY_MICROS: i128 = 86_400_000_000;
const MONTH_DAYS_MIN: i128 = 28;
/// Items between two checks for cancellation.
const ITEMS_CHECKED: usize = 4096;

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
        if let [start, stop, step] = arrays.as_slice()
            && let DataType::Timestamp(TimeUnit::Microsecond, zone) = start.data_type()
            && stop.data_type() == start.data_type()
            && let Some(steps) = step.as_primitive_opt::<IntervalMonthDayNanoType>()
        {
            let session = Zone::of(&args.config_options)?;
            let lists = moments(start, stop, steps, zone.as_ref().map(|_| &session), &Stop::of(&args.config_options))?;
            let lists = cast(&lists, args.return_field.data_type())?;
            return Ok(match is_constant {
                true => ColumnarValue::Scalar(ScalarValue::try_from_array(&lists, 0)?),
                false => ColumnarValue::Array(lists),
            });
        }
        self.inner.invoke_with_args(args)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}

/// The moments of each row's series. Days and months are those of a zone: DataFusion's are of UTC.
fn moments(
    start: &ArrayRef,
    stop: &ArrayRef,
    steps: &IntervalMonthDayNanoArray,
    zone: Option<&Zone>,
    stops: &Stop,
) -> Result<ArrayRef> {
    let (first, last) =
        (start.as_primitive::<TimestampMicrosecondType>(), stop.as_primitive::<TimestampMicrosecondType>());
    let nulls = NullBuffer::union_many([first.nulls(), last.nulls(), steps.nulls()]);
    let (mut items, mut lengths) = (Vec::new(), Vec::with_capacity(first.len()));
    for row in 0..first.len() {
        stops.check()?;
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            lengths.push(0);
            continue;
        }
        let (step, last) = (steps.value(row), last.value(row));
        let sign = (step.months, step.days, step.nanoseconds).cmp(&(0, 0, 0));
        if sign.is_eq() {
            return fail(SqlState::INVALID_PARAMETER_VALUE, "step size cannot equal zero");
        }
        let (before, mut at) = (items.len(), first.value(row));
        while if sign.is_gt() { at <= last } else { at >= last } {
            items.push(at);
            if items.len() % ITEMS_CHECKED == 0 {
                stops.check()?;
            }
            at = moved(at, step, 1, zone).ok_or_else(|| date_range("timestamp"))?;
        }
        lengths.push(items.len() - before);
    }
    let items: ArrayRef = Arc::new(PrimitiveArray::<TimestampMicrosecondType>::from(items));
    let items = cast(&items, start.data_type())?;
    let item = Arc::new(Field::new_list_field(start.data_type().clone(), true));
    Ok(Arc::new(ListArray::try_new(item, OffsetBuffer::from_lengths(lengths), items, nulls)?))
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
