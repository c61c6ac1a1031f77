//! Which window frames there are: PostgreSQL's rules of their bounds.

use datafusion::sql::sqlparser::ast::{Expr, Value, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec};

use super::error::{NameError, Result, SqlState};

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

/// Gives a frame that ends before it starts a form that DataFusion takes: it is behind all rows.
///
/// # Errors
/// `FEATURE_NOT_SUPPORTED` where offsets are no numbers of rows.
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
        WindowFrameUnits::Rows => {
            let behind = Following(Some(Box::new(Expr::value(Value::Number(i64::MAX.to_string(), false)))));
            (frame.start_bound, *end) = (behind.clone(), behind);
            Ok(())
        }
        WindowFrameUnits::Range | WindowFrameUnits::Groups => {
            let message = "a RANGE or GROUPS frame that ends before it starts is not supported";
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
