//! `generate_series` as an array, which set-returning calls in expressions are made of: within the
//! memory that values may take.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, AsArray, Decimal128Array, Int64Array,
    IntervalMonthDayNanoArray, ListArray, PrimitiveArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, FieldRef, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType};
use datafusion::common::Result;

use super::decimal::Decimal;
use super::error::{SqlState, fail};
use super::interval_math::{date_range, moved};
use super::kind::{Kind, NUMERIC_DIGITS_MAX, interval, timestamp, timestamptz};
use super::scalar::{Arguments, Call, Function, immutable, undefined};
use super::zone::Zone;
use crate::carried::Stop;

const DAY_MICROS: i128 = 86_400_000_000;
const MONTH_DAYS_MIN: i128 = 28;
/// Items between two checks for cancellation.
const ITEMS_CHECKED: usize = 4096;

pub(super) static FUNCTIONS: [Function; 1] = [immutable("generate_series", 2..=3, returns, run)];

fn returns(arguments: &Arguments) -> Result<DataType> {
    let kinds: Vec<Kind> = (0..arguments.types.len()).map(|place| kind(arguments, place)).collect();
    let Some(bound) = kinds[0].common(kinds[1]) else { return arguments.undefined() };
    let step = kinds.get(2).copied();
    let item = match (bound, step) {
        (Kind::Timestamp, Some(Kind::Interval | Kind::Null)) => timestamp(),
        // Of what may be either, PostgreSQL prefers it.
        (Kind::Date | Kind::TimestampTz, Some(Kind::Interval | Kind::Null)) | (Kind::Null, Some(Kind::Interval)) => {
            timestamptz()
        }
        _ => match bound.common(step.unwrap_or(bound)) {
            Some(Kind::Int2 | Kind::Int4) => DataType::Int32,
            Some(Kind::Int8) => DataType::Int64,
            Some(Kind::Numeric) => {
                let scale = (0..kinds.len()).map(|place| scale(arguments, place)).max().unwrap_or(0);
                DataType::Decimal128(NUMERIC_DIGITS_MAX, scale)
            }
            _ => return arguments.undefined(),
        },
    };
    Ok(DataType::new_list(item, true))
}

fn kind(arguments: &Arguments, place: usize) -> Kind {
    if arguments.is_unknown(place) { Kind::Null } else { arguments.kind(place) }
}

/// The digits behind the point of a number; a text has as many as it shows.
fn scale(arguments: &Arguments, place: usize) -> i8 {
    match arguments.types.get(place) {
        Some(DataType::Decimal128(_, scale)) => *scale,
        _ => arguments.text(place).and_then(Decimal::parse).map_or(0, |number| number.scale()),
    }
}

fn run(call: &Call) -> Result<ArrayRef> {
    let DataType::List(item) = call.returns else {
        return undefined(call.function, call.args.iter().map(|array| array.data_type()));
    };
    match item.data_type() {
        DataType::Timestamp(_, zone) => moments(call, item, zone.is_some()),
        DataType::Decimal128(..) => decimals(call, item),
        _ => integers(call, item),
    }
}

/// Lists as they grow, a row after the other.
struct Lists<'c> {
    call: &'c Call<'c>,
    stop: Stop,
    nulls: Option<NullBuffer>,
    lengths: Vec<usize>,
}

impl<'c> Lists<'c> {
    fn new(call: &'c Call<'c>, nulls: Option<NullBuffer>) -> Self {
        Self { call, stop: Stop::of(call.options), nulls, lengths: Vec::with_capacity(call.rows) }
    }

    /// Makes the items of each row from its number of items at most, and one from the one before.
    fn items<T: Copy>(
        &mut self,
        items_max: impl Fn(usize) -> u128,
        series: impl Fn(usize) -> Result<(T, bool)>,
        next: impl Fn(usize, T) -> Result<Option<T>>,
    ) -> Result<Vec<T>> {
        let mut reserved = self.call.reserve();
        let is_null = |row: usize| self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        for row in (0..self.call.rows).filter(|row| !is_null(*row)) {
            let bytes = items_max(row).saturating_mul(size_of::<T>() as u128);
            reserved.value(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        }
        let mut items = Vec::new();
        for row in 0..self.call.rows {
            self.stop.check()?;
            let before = items.len();
            if !is_null(row) {
                let (first, has_items) = series(row)?;
                let mut at = has_items.then_some(first);
                while let Some(item) = at {
                    items.push(item);
                    if items.len() % ITEMS_CHECKED == 0 {
                        self.stop.check()?;
                    }
                    at = next(row, item)?;
                }
            }
            self.lengths.push(items.len() - before);
        }
        Ok(items)
    }

    fn finish(self, item: &FieldRef, items: &ArrayRef) -> Result<ArrayRef> {
        let items = cast(items, item.data_type())?;
        let offsets = OffsetBuffer::from_lengths(self.lengths);
        Ok(Arc::new(ListArray::try_new(Arc::clone(item), offsets, items, self.nulls)?))
    }
}

/// Whether a series has a value, or has run past its end.
fn is_within<T: Ord>(at: T, last: T, is_rising: bool) -> bool {
    if is_rising { at <= last } else { at >= last }
}

fn no_step<T>() -> Result<T> {
    fail(SqlState::INVALID_PARAMETER_VALUE, "step size cannot equal zero")
}

/// How many numbers a series has.
fn count(first: i128, last: i128, step: i128) -> u128 {
    match step {
        0 => 0,
        step if is_within(first, last, step > 0) => last.abs_diff(first) / step.unsigned_abs() + 1,
        _ => 0,
    }
}

fn integers(call: &Call, item: &FieldRef) -> Result<ArrayRef> {
    let (lists, items) = numbers::<Int64Type>(call, |place| call.int8(place), 1)?;
    let items: ArrayRef = Arc::new(Int64Array::from(items));
    lists.finish(item, &items)
}

fn decimals(call: &Call, item: &FieldRef) -> Result<ArrayRef> {
    let DataType::Decimal128(precision, scale) = *item.data_type() else {
        return undefined(call.function, call.args.iter().map(|array| array.data_type()));
    };
    let of = |place: usize| -> Result<Decimal128Array> {
        Ok(call.as_type(place, item.data_type())?.as_primitive::<Decimal128Type>().clone())
    };
    let (lists, items) = numbers(call, of, Decimal::new(1, 0).unscaled(precision, scale)?)?;
    let items: ArrayRef = Arc::new(Decimal128Array::from(items).with_precision_and_scale(precision, scale)?);
    lists.finish(item, &items)
}

/// Those of all rows, which are `one` apart where no step is said.
fn numbers<'c, T: ArrowPrimitiveType<Native: Ord + Into<i128>>>(
    call: &'c Call<'c>,
    of: impl Fn(usize) -> Result<PrimitiveArray<T>>,
    one: T::Native,
) -> Result<(Lists<'c>, Vec<T::Native>)> {
    let (first, last) = (of(0)?, of(1)?);
    let steps = if call.len() > 2 { Some(of(2)?) } else { None };
    let nulls = NullBuffer::union_many([first.nulls(), last.nulls(), steps.as_ref().and_then(|steps| steps.nulls())]);
    let step = |row: usize| steps.as_ref().map_or(one, |steps| steps.value(row));
    let is_within = |row: usize, at: T::Native| is_within(at, last.value(row), step(row) > T::Native::ZERO);
    let mut lists = Lists::new(call, nulls);
    let items = lists.items(
        |row| count(first.value(row).into(), last.value(row).into(), step(row).into()),
        |row| match step(row).is_zero() {
            true => no_step(),
            false => Ok((first.value(row), is_within(row, first.value(row)))),
        },
        |row, at| Ok(at.add_checked(step(row)).ok().filter(|at| is_within(row, *at))),
    )?;
    Ok((lists, items))
}

/// Days and months of moments with a zone are those of the session's.
fn moments(call: &Call, item: &FieldRef, is_zoned: bool) -> Result<ArrayRef> {
    let of = |place: usize| -> Result<Int64Array> {
        let moments = call.as_type(place, item.data_type())?;
        Ok(cast(&moments, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
    };
    let (first, last) = (of(0)?, of(1)?);
    let steps: IntervalMonthDayNanoArray =
        call.as_type(2, &interval())?.as_primitive::<IntervalMonthDayNanoType>().clone();
    let zone: Option<&Zone> = is_zoned.then_some(&call.zone);
    let nulls = NullBuffer::union_many([first.nulls(), last.nulls(), steps.nulls()]);
    let is_rising = |row: usize| {
        let step = steps.value(row);
        (step.months, step.days, step.nanoseconds) > (0, 0, 0)
    };
    let mut lists = Lists::new(call, nulls);
    let items = lists.items(
        |row| i128::from(first.value(row)).abs_diff(last.value(row).into()) / step_min(steps.value(row)).max(1) + 1,
        |row| match steps.value(row) {
            IntervalMonthDayNano { months: 0, days: 0, nanoseconds: 0 } => no_step(),
            _ => Ok((first.value(row), is_within(first.value(row), last.value(row), is_rising(row)))),
        },
        |row, at| match moved(at, steps.value(row), 1, zone) {
            Some(at) => Ok(is_within(at, last.value(row), is_rising(row)).then_some(at)),
            None => Err(date_range("timestamp")),
        },
    )?;
    let items: ArrayRef = Arc::new(Int64Array::from(items));
    lists.finish(item, &items)
}

/// The least that a step is, in microseconds: months have 28 days at least.
fn step_min(step: IntervalMonthDayNano) -> u128 {
    let days = i128::from(step.months) * MONTH_DAYS_MIN + i128::from(step.days);
    (days * DAY_MICROS + i128::from(step.nanoseconds) / 1000).unsigned_abs()
}
