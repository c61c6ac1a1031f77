//! Which window frames there are: PostgreSQL's rules of their bounds.

use datafusion::sql::sqlparser::ast::{
    DataType, DateTimeField, ExactNumberInfo, Expr, Interval, UnaryOperator, Value, ValueWithSpan, WindowFrame,
    WindowFrameBound, WindowFrameUnits, WindowSpec,
};

use super::error::{NameError, Result, SqlState};
use crate::functions::{INTERVAL_OFFSET, QUOTED_OFFSET};

/// Refuses a frame whose bounds are in the wrong order, or that needs another ORDER BY. What a
/// window takes over from the one that it names is not known here.
pub(super) fn check_frame(spec: &WindowSpec) -> Result<()> {
    let Some(frame) = &spec.window_frame else { return Ok(()) };
    check_bounds(frame)?;
    if spec.window_name.is_some() {
        return Ok(());
    }
    let has_offset = offset(&frame.start_bound).or_else(|| frame.end_bound.as_ref().and_then(offset)).is_some();
    match frame.units {
        WindowFrameUnits::Groups if spec.order_by.is_empty() => refuse("GROUPS mode requires an ORDER BY clause"),
        WindowFrameUnits::Range if has_offset && spec.order_by.len() != 1 => {
            refuse("RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column")
        }
        _ => Ok(()),
    }
}

fn check_bounds(frame: &WindowFrame) -> Result<()> {
    use WindowFrameBound::{CurrentRow, Following, Preceding};
    let Some(end) = &frame.end_bound else {
        return match &frame.start_bound {
            Following(None) => refuse("frame start cannot be UNBOUNDED FOLLOWING"),
            Following(Some(_)) => refuse("frame starting from following row cannot end with current row"),
            CurrentRow | Preceding(_) => Ok(()),
        };
    };
    match (&frame.start_bound, end) {
        (Following(None), _) => refuse("frame start cannot be UNBOUNDED FOLLOWING"),
        (_, Preceding(None)) => refuse("frame end cannot be UNBOUNDED PRECEDING"),
        (CurrentRow, Preceding(_)) => refuse("frame starting from current row cannot have preceding rows"),
        (Following(_), Preceding(_) | CurrentRow) => {
            refuse("frame starting from following row cannot have preceding rows")
        }
        _ => Ok(()),
    }
}

/// Brings the offsets of a frame into forms that the planner takes: numbers, and beside them in a
/// RANGE frame texts that are marked with what they were, since only the type of the ORDER BY
/// column tells what they mean.
///
/// # Errors
/// `FEATURE_NOT_SUPPORTED` for an offset that is no constant, or a negative one.
pub(super) fn settle_offsets(frame: &mut WindowFrame) -> Result<()> {
    use WindowFrameBound::{Following, Preceding};
    for bound in [Some(&mut frame.start_bound), frame.end_bound.as_mut()].into_iter().flatten() {
        if let Preceding(Some(offset)) | Following(Some(offset)) = bound {
            **offset = settled(offset, frame.units)?;
        }
    }
    Ok(())
}

fn settled(offset: &Expr, units: WindowFrameUnits) -> Result<Expr> {
    let is_range = units == WindowFrameUnits::Range;
    let found = match offset {
        Expr::Nested(inner) => return settled(inner, units),
        Expr::Cast { expr, data_type, .. } if is_number_of(expr, data_type) => return settled(expr, units),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } if number_of(expr).is_some() => {
            let message = "a negative offset of a frame is not supported";
            return Err(NameError::new(SqlState::FEATURE_NOT_SUPPORTED, message).at_node(offset));
        }
        Expr::Value(ValueWithSpan { value: Value::Number(..), .. }) => Some(offset.clone()),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) if is_range => Some(marked(QUOTED_OFFSET, text)),
            Value::SingleQuotedString(text) => {
                let rows: Option<u64> = text.trim().parse().ok();
                rows.map(|rows| Expr::value(Value::Number(rows.to_string(), false)))
            }
            _ => None,
        },
        other => interval_text(other).filter(|_| is_range).map(|text| marked(INTERVAL_OFFSET, &text)),
    };
    found.ok_or_else(|| {
        let message = "an offset of a frame that is no constant is not supported";
        NameError::new(SqlState::FEATURE_NOT_SUPPORTED, message).at_node(offset)
    })
}

/// Whether a cast changes nothing of a number but its type.
fn is_number_of(expr: &Expr, data_type: &DataType) -> bool {
    let Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) = expr else { return false };
    match data_type {
        DataType::SmallInt(None) | DataType::Int2(None) => digits.parse::<i16>().is_ok(),
        DataType::Int(None) | DataType::Integer(None) | DataType::Int4(None) => digits.parse::<i32>().is_ok(),
        DataType::BigInt(None) | DataType::Int8(None) => digits.parse::<i64>().is_ok(),
        DataType::Numeric(ExactNumberInfo::None) | DataType::Decimal(ExactNumberInfo::None) => {
            digits.contains(['.', 'e', 'E'])
        }
        _ => false,
    }
}

/// A constant interval as a text that is read without more words.
fn interval_text(offset: &Expr) -> Option<String> {
    match offset {
        Expr::Interval(Interval { value, leading_field, last_field: None, .. }) => {
            let text = text_of(value)?;
            match leading_field {
                None => Some(text.to_owned()),
                Some(field) => text.trim().parse::<f64>().ok().map(|number| format!("{number} {field}")),
            }
        }
        Expr::TypedString(typed) if is_interval(&typed.data_type) => match &typed.value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        Expr::Cast { expr, data_type, .. } if is_interval(data_type) => text_of(expr).map(str::to_owned),
        _ => None,
    }
}

fn is_interval(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Interval { fields: None, precision: None })
}

fn text_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => Some(text),
        _ => None,
    }
}

/// A last field alone, which no statement has, keeps it as it is until it is planned.
fn marked(mark: char, text: &str) -> Expr {
    Expr::Interval(Interval {
        value: Box::new(Expr::value(Value::SingleQuotedString(format!("{mark}{text}")))),
        leading_field: None,
        leading_precision: None,
        last_field: Some(DateTimeField::Second),
        fractional_seconds_precision: None,
    })
}

/// Gives a frame that ends before it starts a form that DataFusion takes: it is behind all rows.
///
/// # Errors
/// `FEATURE_NOT_SUPPORTED` where offsets are no numbers of rows or of groups.
pub(super) fn settle_empty_frame(frame: &mut WindowFrame) -> Result<()> {
    use WindowFrameBound::{Following, Preceding};
    let number = |bound| offset(bound).and_then(number_of);
    let Some(end) = frame.end_bound.as_mut() else { return Ok(()) };
    let is_empty = match (&frame.start_bound, &*end) {
        (Following(_), Following(_)) => number(&frame.start_bound).zip(number(end)).is_some_and(|(from, to)| from > to),
        (Preceding(_), Preceding(_)) => number(&frame.start_bound).zip(number(end)).is_some_and(|(from, to)| from < to),
        _ => false,
    };
    match frame.units {
        _ if !is_empty => Ok(()),
        // No group of rows is no row.
        WindowFrameUnits::Rows | WindowFrameUnits::Groups => {
            frame.units = WindowFrameUnits::Rows;
            let behind = Following(Some(Box::new(Expr::value(Value::Number(i64::MAX.to_string(), false)))));
            (frame.start_bound, *end) = (behind.clone(), behind);
            Ok(())
        }
        WindowFrameUnits::Range => {
            let message = "a RANGE frame that ends before it starts is not supported";
            Err(NameError::new(SqlState::FEATURE_NOT_SUPPORTED, message))
        }
    }
}

fn number_of(offset: &Expr) -> Option<u64> {
    match offset {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

fn offset(bound: &WindowFrameBound) -> Option<&Expr> {
    match bound {
        WindowFrameBound::CurrentRow => None,
        WindowFrameBound::Preceding(offset) | WindowFrameBound::Following(offset) => offset.as_deref(),
    }
}

fn refuse(message: &str) -> Result<()> {
    Err(NameError::new(SqlState::WINDOWING_ERROR, message))
}
