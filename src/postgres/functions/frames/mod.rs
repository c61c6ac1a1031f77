//! Aggregates over frames that move. DataFusion takes away from an aggregate what leaves the frame:
//! of doubles that leaves rounding errors behind, and what one NaN has made. PostgreSQL adds the
//! rows of the frame anew, one after the other, and so does this, but where taking away is exact.

mod anew;
mod booleans;
mod held;
mod limits;
mod rows;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ReversedUDAF, SetMonotonicity, Signature, WindowFunctionDefinition,
};

use super::error::{SqlState, fail};
use super::of_inner::of_inner;
use anew::Anew;
use booleans::Booleans;
use held::Held;
pub use limits::FrameLimits;

/// Sums and their like, which exact numbers can be taken away from again.
const SUMS: [&str; 6] = ["sum", "avg", "var", "var_pop", "stddev", "stddev_pop"];

/// Others whose result is the same in any order of the rows.
const UNORDERED: [&str; 7] = ["min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor"];

/// An aggregate of a window, in place of DataFusion's.
///
/// # Errors
/// PostgreSQL has no window of such an aggregate.
pub(super) fn framed(
    window: WindowFunction,
    argument: &DataType,
    limits: Option<&FrameLimits>,
) -> Result<WindowFunction> {
    let WindowFunctionDefinition::AggregateUDF(function) = &window.fun else { return Ok(window) };
    if window.params.distinct {
        return fail(SqlState::FEATURE_NOT_SUPPORTED, "DISTINCT is not implemented for window functions");
    }
    if function.supports_within_group_clause() {
        let message = format!("OVER is not supported for ordered-set aggregate {}", function.name());
        return fail(SqlState::FEATURE_NOT_SUPPORTED, message);
    }
    // Counts are exact.
    if function.name() == "count" {
        return Ok(window);
    }
    let inner = match function.inner().downcast_ref::<FrameAggregate>() {
        Some(framed) => Arc::clone(&framed.inner),
        None => Arc::clone(function),
    };
    let ordered = match inner.name() {
        name if SUMS.contains(&name) => argument.is_floating(),
        name => !UNORDERED.contains(&name),
    };
    let framed = FrameAggregate { inner, ordered, limits: limits.cloned() };
    let fun = WindowFunctionDefinition::AggregateUDF(Arc::new(AggregateUDF::new_from_impl(framed)));
    Ok(WindowFunction { fun, ..window })
}

/// An aggregate whose rows come and go.
#[derive(Debug)]
struct FrameAggregate {
    inner: Arc<AggregateUDF>,
    /// Whether the result depends on the order of rows.
    ordered: bool,
    /// Of the statement that is planned.
    limits: Option<FrameLimits>,
}

impl PartialEq for FrameAggregate {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner && self.ordered == other.ordered
    }
}

impl Eq for FrameAggregate {}

impl std::hash::Hash for FrameAggregate {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl FrameAggregate {
    fn limits(&self) -> FrameLimits {
        self.limits.clone().unwrap_or_default()
    }
}

impl AggregateUDFImpl for FrameAggregate {
    of_inner! {
        name() -> &str,
        aliases() -> &[String],
        signature() -> &Signature,
        return_type(types: &[DataType]) -> Result<DataType>,
        return_field(fields: &[FieldRef]) -> Result<FieldRef>,
        coerce_types(types: &[DataType]) -> Result<Vec<DataType>>,
        is_nullable() -> bool,
        default_value(data_type: &DataType) -> Result<ScalarValue>,
        state_fields(args: StateFieldsArgs) -> Result<Vec<FieldRef>>,
        order_sensitivity() -> AggregateOrderSensitivity,
        set_monotonicity(data_type: &DataType) -> SetMonotonicity,
        supports_null_handling_clause() -> bool,
    }

    /// Of a frame that only grows.
    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let returns = args.return_field.data_type().clone();
        Ok(Held::over(self.inner.accumulator(args)?, &returns, &self.limits()))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let argument = args.expr_fields.first().map_or(DataType::Null, |field| field.data_type().clone());
        let retracts = match self.name() {
            "bool_and" => return Ok(Box::new(Booleans::and())),
            "bool_or" => return Ok(Box::new(Booleans::or())),
            "min" | "max" => !matches!(argument, DataType::Interval(_) | DataType::List(_)),
            name => SUMS.contains(&name) && !argument.is_floating(),
        };
        if retracts {
            return self.inner.create_sliding_accumulator(args);
        }
        let returns = args.return_field.data_type().clone();
        Ok(Held::over(Box::new(Anew::new(&self.inner, &args, self.limits())), &returns, &self.limits()))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        if self.ordered { ReversedUDAF::NotSupported } else { ReversedUDAF::Identical }
    }
}
