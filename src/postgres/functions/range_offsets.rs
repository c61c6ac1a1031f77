//! Offsets of RANGE frames, as the ORDER BY column takes them: numbers beside numbers, intervals
//! beside days. DataFusion has offsets as texts, which it reads as whatever it can.

use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Expr, SortExpr, WindowFrame, WindowFrameBound, WindowFrameUnits};

use super::error::{SqlState, fail};
use super::keys;
use super::kind::{Kind, interval};
use super::resolution::Resolver;
use super::scalar::type_of;

/// Stands before the text of an offset that was a literal in quotes.
pub(crate) const QUOTED: char = '\'';
/// Stands before the text of an offset that was an interval.
pub(crate) const INTERVAL: char = 'i';

/// The frame with offsets of the types that go with the window's order.
///
/// # Errors
/// `FEATURE_NOT_SUPPORTED`: they do not go together, or their moments are not known here.
pub(super) fn settled(mut frame: WindowFrame, order_by: &[SortExpr], resolver: &Resolver) -> Result<WindowFrame> {
    let [by] = order_by else { return Ok(frame) };
    if frame.units != WindowFrameUnits::Range {
        return Ok(frame);
    }
    for bound in [&mut frame.start_bound, &mut frame.end_bound] {
        if let WindowFrameBound::Preceding(value) | WindowFrameBound::Following(value) = bound
            && let ScalarValue::Utf8(Some(text)) = value
            && let Some(kind) = resolver.kind(&by.expr)
        {
            if let Ok(DataType::Struct(_)) = type_of(&by.expr, resolver.schema) {
                return refuse("column type record");
            }
            *value = offset(text, kind, resolver)?;
        }
    }
    Ok(frame)
}

fn offset(text: &str, kind: Kind, resolver: &Resolver) -> Result<ScalarValue> {
    let (rest, of_type) = match (text.strip_prefix(QUOTED), text.strip_prefix(INTERVAL)) {
        (Some(rest), _) => (rest, Kind::Null),
        (None, Some(rest)) => (rest, Kind::Interval),
        (None, None) if text.contains(['.', 'e', 'E']) => (text, Kind::Numeric),
        (None, None) => (text, Kind::Int4),
    };
    match (kind, of_type) {
        (Kind::Null | Kind::Other, _) => Ok(ScalarValue::Utf8(Some(rest.to_owned()))),
        (kind, Kind::Numeric) if kind.is_integer() => refuse_offset(kind, of_type),
        (Kind::Numeric, _) if rest.contains(['e', 'E']) => {
            let message =
                format!("an offset of a frame is not supported in the notation of \"{rest}\": write its digits");
            fail(SqlState::FEATURE_NOT_SUPPORTED, message)
        }
        (kind, Kind::Null | Kind::Int4 | Kind::Numeric) if kind.is_number() => {
            Ok(ScalarValue::Utf8(Some(rest.to_owned())))
        }
        (kind, Kind::Null | Kind::Interval) if kind.is_day() => span(rest, kind, resolver),
        _ => refuse_offset(kind, of_type),
    }
}

/// An interval that is taken away from moments, or added to them, in their own terms.
fn span(text: &str, kind: Kind, resolver: &Resolver) -> Result<ScalarValue> {
    let literal = Expr::Literal(ScalarValue::Utf8(Some(text.to_owned())), None);
    let Expr::Literal(value, _) = resolver.to(literal, &DataType::Utf8, &interval())? else {
        return fail(SqlState::FEATURE_NOT_SUPPORTED, "an offset of a frame that is no constant is not supported");
    };
    let ScalarValue::IntervalMonthDayNano(Some(offset)) = value else { return Ok(value) };
    if keys::length(offset) < 0 {
        return fail(SqlState::FEATURE_NOT_SUPPORTED, "a negative offset of a frame is not supported");
    }
    // Moments are added to as clocks in Greenwich show them: elsewhere months begin at other hours,
    // and days may have 23.
    let east = resolver.zone.map(|zone| zone.style().zone.constant_offset());
    let is_elsewhere =
        east.is_some_and(|east| (offset.months != 0 && east != Some(0)) || (offset.days != 0 && east.is_none()));
    if kind == Kind::TimestampTz && is_elsewhere {
        let message = "RANGE by months or days over timestamp with time zone is not supported in this time zone";
        return fail(SqlState::FEATURE_NOT_SUPPORTED, message);
    }
    Ok(value)
}

fn refuse_offset<T>(kind: Kind, of_type: Kind) -> Result<T> {
    let column = kind.name();
    match kind.is_number() || kind.is_day() {
        true => refuse(&format!("column type {column} and offset type {}", of_type.name())),
        false => refuse(&format!("column type {column}")),
    }
}

fn refuse<T>(types: &str) -> Result<T> {
    let message = format!("RANGE with offset PRECEDING/FOLLOWING is not supported for {types}");
    fail(SqlState::FEATURE_NOT_SUPPORTED, message)
}
