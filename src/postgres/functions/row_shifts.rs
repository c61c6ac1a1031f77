//! `lag` and `lead` whose offset is an expression of each row; DataFusion computes those of a
//! constant.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt64Array};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::Result;
use datafusion::logical_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::{
    Expr, LimitEffect, PartitionEvaluator, Signature, Volatility, WindowFunctionDefinition, WindowUDF, WindowUDFImpl,
};
use datafusion::physical_expr::PhysicalExpr;

use super::error::{SqlState, fail};
use super::resolution::Resolver;
use super::scalar::{type_of, undefined};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Direction {
    Back,
    Ahead,
}

/// One of the two.
#[derive(Debug, PartialEq, Eq, Hash)]
struct RowShift {
    direction: Direction,
    signature: Signature,
}

/// What stands for a window function whose second argument is one of each row: one of these, or
/// the function itself.
///
/// # Errors
/// PostgreSQL has no other offsets than integers.
pub(super) fn of_each_row(
    function: WindowFunctionDefinition,
    args: &[Expr],
    resolver: &Resolver,
) -> Result<WindowFunctionDefinition> {
    let direction = match function.name() {
        "lag" => Direction::Back,
        "lead" => Direction::Ahead,
        _ => return Ok(function),
    };
    if args.get(1).and_then(|offset| resolver.kind(offset)).is_some_and(|kind| !kind.is_integer()) {
        let types = args.iter().map(|arg| type_of(arg, resolver.schema)).collect::<Result<Vec<_>>>()?;
        return undefined(function.name(), types.iter());
    }
    let shift = RowShift { direction, signature: Signature::any(2, Volatility::Immutable) };
    Ok(WindowFunctionDefinition::WindowUDF(Arc::new(WindowUDF::from(shift))))
}

impl WindowUDFImpl for RowShift {
    fn name(&self) -> &str {
        match self.direction {
            Direction::Back => "lag",
            Direction::Ahead => "lead",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn partition_evaluator(&self, _: PartitionEvaluatorArgs) -> Result<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(Shifted { direction: self.direction }))
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        let Some(value) = args.input_fields().first() else {
            return fail(SqlState::UNDEFINED_FUNCTION, format!("function {}() does not exist", self.name()));
        };
        Ok(Arc::new(value.as_ref().clone().with_name(args.name()).with_nullable(true)))
    }

    fn limit_effect(&self, _: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        LimitEffect::Unknown
    }
}

/// The rows of a partition, all at once.
#[derive(Debug)]
struct Shifted {
    direction: Direction,
}

impl PartitionEvaluator for Shifted {
    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let [value, offsets, ..] = values else {
            return fail(SqlState::UNDEFINED_FUNCTION, "lag and lead take a value and an offset");
        };
        let offsets = cast(offsets, &DataType::Int64)?;
        let places = offsets.as_primitive::<Int64Type>().iter().enumerate().map(|(row, offset)| {
            let offset = match self.direction {
                Direction::Back => offset?.checked_neg()?,
                Direction::Ahead => offset?,
            };
            let place = i64::try_from(row).ok()?.checked_add(offset)?;
            u64::try_from(place).ok().filter(|place| *place < rows as u64)
        });
        let places: UInt64Array = places.collect();
        Ok(take(value.as_ref(), &places, None)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int32Array, Int64Array};

    #[test]
    fn each_row_has_its_own_offset() {
        let values: ArrayRef = Arc::new(Int32Array::from(vec![10, 20, 30, 40]));
        let offsets: ArrayRef = Arc::new(Int64Array::from(vec![Some(0), Some(1), None, Some(i64::MIN)]));
        let shifted = |direction| {
            let found =
                Shifted { direction }.evaluate_all(&[Arc::clone(&values), Arc::clone(&offsets)], 4).expect("shifts");
            found.as_primitive::<arrow::datatypes::Int32Type>().iter().collect::<Vec<_>>()
        };
        assert_eq!(shifted(Direction::Back), [Some(10), Some(10), None, None]);
        assert_eq!(shifted(Direction::Ahead), [Some(10), Some(30), None, None]);
    }
}
