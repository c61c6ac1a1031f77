//! Which window frames there are: PostgreSQL's rules of their bounds.

use datafusion::sql::sqlparser::ast::{Expr, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec};

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

fn offset(bound: &WindowFrameBound) -> Option<&Expr> {
    match bound {
        WindowFrameBound::CurrentRow => None,
        WindowFrameBound::Preceding(offset) | WindowFrameBound::Following(offset) => offset.as_deref(),
    }
}

fn refuse(message: &str) -> Result<()> {
    Err(NameError::new(SqlState::WINDOWING_ERROR, message))
}
