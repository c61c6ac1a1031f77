//! RANGE frames of integers near the ends of their type, of dates, and of what has no distances.

use std::sync::Arc;

use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Field, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, WindowFrame, WindowFrameBound, WindowFrameUnits};
use datafusion::optimizer::AnalyzerRule;

use crate::error::external;
use rowkey_base::{Error, SqlState};

/// `RANGE BETWEEN 2 PRECEDING AND 2 FOLLOWING` orders integers by a wider type, where the bounds
/// do not overflow: DataFusion takes an overflow for the end of the partition, where NULLs are. A
/// date is ordered as a timestamp: half a day from it there is no other. Without an offset, RANGE
/// is GROUPS, which DataFusion has for all types that have an order.
/// Runs after types are settled and before bounds are coerced.
#[derive(Debug)]
pub(super) struct WideRangeFrames;

impl AnalyzerRule for WideRangeFrames {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            let LogicalPlan::Window(window) = &plan else { return Ok(Transformed::no(plan)) };
            let schema = Arc::clone(window.input.schema());
            // Windows of one node have one order, and keep it.
            let has_offset = window.window_expr.iter().any(|expr| match expr.clone().unalias() {
                Expr::WindowFunction(function) => offset(&function.params.window_frame),
                _ => false,
            });
            let names = NamePreserver::new(&plan);
            if !has_offset {
                return plan.map_expressions(|expr| {
                    let name = names.save(&expr);
                    let grouped = expr.transform_up(|expr| grouped(expr, &schema))?;
                    Ok(if grouped.transformed { grouped.update_data(|expr| name.restore(expr)) } else { grouped })
                });
            }
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let widened = expr.transform_up(|expr| widened(expr, &schema))?;
                Ok(widened.update_data(|expr| name.restore(expr)))
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "wide_range_frames"
    }
}

fn widened(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::WindowFunction(mut function) = expr else { return Ok(Transformed::no(expr)) };
    let wide = match function.params.order_by.as_slice() {
        [by] => match by.expr.get_type(schema)? {
            DataType::Decimal128(precision, scale) => finer(precision, scale, &function.params.window_frame)?,
            DataType::Int16 | DataType::Int32 => Some(DataType::Int64),
            DataType::Int64 => Some(DataType::Decimal128(20, 0)),
            DataType::Date32 => Some(DataType::Timestamp(TimeUnit::Microsecond, None)),
            _ => None,
        },
        _ => None,
    };
    let Some(wide) = wide else { return Ok(Transformed::no(Expr::WindowFunction(function))) };
    for by in &mut function.params.order_by {
        let field = Arc::new(Field::new("", wide.clone(), true));
        by.expr = Expr::Cast(Cast { expr: Box::new(by.expr.clone()), field });
    }
    Ok(Transformed::yes(Expr::WindowFunction(function)))
}

/// The type of numerics with as many digits behind the point as their distances have, which would
/// be rounded otherwise.
fn finer(precision: u8, scale: i8, frame: &WindowFrame) -> Result<Option<DataType>> {
    let digits = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::Preceding(ScalarValue::Utf8(Some(text)))
        | WindowFrameBound::Following(ScalarValue::Utf8(Some(text))) => digits_behind_point(text),
        _ => 0,
    };
    let wanted = digits(&frame.start_bound).max(digits(&frame.end_bound));
    let more = wanted.saturating_sub(i32::from(scale));
    if more <= 0 {
        return Ok(None);
    }
    match (u8::try_from(more.saturating_add(i32::from(precision))), i8::try_from(wanted)) {
        (Ok(precision), Ok(scale)) if precision <= DECIMAL128_MAX_PRECISION => {
            Ok(Some(DataType::Decimal128(precision, scale)))
        }
        _ => {
            let message =
                format!("an offset of a frame with {wanted} digits behind the point is not supported for these values");
            Err(external(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)))
        }
    }
}

/// Of a number without an exponent, as numeric offsets are.
fn digits_behind_point(number: &str) -> i32 {
    let behind = number.split_once('.').map_or("", |(_, behind)| behind).trim_end_matches('0');
    i32::try_from(behind.len()).unwrap_or(i32::MAX)
}

fn grouped(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::WindowFunction(mut function) = expr else { return Ok(Transformed::no(expr)) };
    let is_range = function.params.window_frame.units == WindowFrameUnits::Range;
    let mut has_no_distances = false;
    for by in function.params.order_by.iter().filter(|_| is_range) {
        has_no_distances |= matches!(
            by.expr.get_type(schema)?,
            DataType::Binary
                | DataType::BinaryView
                | DataType::LargeBinary
                | DataType::FixedSizeBinary(_)
                | DataType::Time64(_)
                | DataType::Struct(_)
                | DataType::List(_)
        );
    }
    if has_no_distances {
        function.params.window_frame.units = WindowFrameUnits::Groups;
    }
    Ok(Transformed::new_transformed(Expr::WindowFunction(function), has_no_distances))
}

fn offset(frame: &WindowFrame) -> bool {
    let is_offset = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::Preceding(value) | WindowFrameBound::Following(value) => !value.is_null(),
        WindowFrameBound::CurrentRow => false,
    };
    frame.units == WindowFrameUnits::Range && (is_offset(&frame.start_bound) || is_offset(&frame.end_bound))
}
