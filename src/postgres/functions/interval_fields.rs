//! Intervals of some fields: `interval year to month`, `interval day to second(3)`.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, IntervalMonthDayNanoArray};
use arrow::datatypes::{Field, IntervalMonthDayNano, IntervalMonthDayNanoType};
use datafusion::common::Result;

use super::calendar::{MICROS_PER_HOUR, MICROS_PER_MINUTE};
use super::type_names::INTERVAL_FIELDS;
use crate::types::IntervalFields;

/// Arrow's intervals have nanoseconds.
const NANOS_PER_HOUR: i64 = 1_000 * MICROS_PER_HOUR;
const NANOS_PER_MINUTE: i64 = 1_000 * MICROS_PER_MINUTE;

/// The fields that the type of a cast's target names.
pub(super) fn interval_fields(target: &Field) -> Option<IntervalFields> {
    IntervalFields::named(target.metadata().get(INTERVAL_FIELDS)?)
}

/// Intervals without what is below the smallest field.
pub(super) fn in_fields(array: &ArrayRef, fields: IntervalFields) -> Result<ArrayRef> {
    let Some(spans) = array.as_primitive_opt::<IntervalMonthDayNanoType>() else { return Ok(Arc::clone(array)) };
    let cut = spans.iter().map(|span| span.map(|span| cut(span, fields)));
    Ok(Arc::new(cut.collect::<IntervalMonthDayNanoArray>()))
}

fn cut(span: IntervalMonthDayNano, fields: IntervalFields) -> IntervalMonthDayNano {
    let IntervalMonthDayNano { months, days, nanoseconds } = span;
    let down_to = |unit: i64| nanoseconds / unit * unit;
    use IntervalFields as Of;
    match fields {
        Of::Year => IntervalMonthDayNano::new(months / 12 * 12, 0, 0),
        Of::Month | Of::YearToMonth => IntervalMonthDayNano::new(months, 0, 0),
        Of::Day => IntervalMonthDayNano::new(months, days, 0),
        Of::Hour | Of::DayToHour => IntervalMonthDayNano::new(months, days, down_to(NANOS_PER_HOUR)),
        Of::Minute | Of::DayToMinute | Of::HourToMinute => {
            IntervalMonthDayNano::new(months, days, down_to(NANOS_PER_MINUTE))
        }
        Of::Second | Of::DayToSecond | Of::HourToSecond | Of::MinuteToSecond => span,
    }
}
