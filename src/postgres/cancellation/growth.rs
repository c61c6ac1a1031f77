//! Whether expressions make values that are much larger than the rows that they are made of.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, InListExpr, LikeExpr, Literal};
use datafusion::physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;

use super::row_bytes::is_copied;
use crate::functions::{ENLARGING, ILIKE, LIKE};

/// Most bytes of constants, repeated for each row, in a batch: within the least budget of values.
const CONSTANTS_BYTES_MAX: usize = 4 << 20;
/// Smaller constants are not counted.
const CONSTANT_BYTES_MIN: usize = 1 << 10;
const COMPARISONS: [Operator; 8] = [
    Operator::Eq,
    Operator::NotEq,
    Operator::Lt,
    Operator::LtEq,
    Operator::Gt,
    Operator::GtEq,
    Operator::IsDistinctFrom,
    Operator::IsNotDistinctFrom,
];
/// More copies of texts than this that an operator makes of each row are counted.
const COPIES_MAX: usize = 2;
/// Rows at a time, where values may be of any size and the batch cannot be tried again.
const ROWS_OF_ANY_SIZE: usize = 64;

/// What the expressions of an operator make of its rows.
#[derive(Debug, Default)]
pub(super) struct Growth {
    constants_bytes: usize,
    enlarging: bool,
    /// Texts and lists that calls make of values of a row, each about as large as the row is.
    copies: usize,
}

impl Growth {
    /// That of one expression.
    pub(super) fn of_expr(expr: &Arc<dyn PhysicalExpr>) -> Result<Self> {
        let mut growth = Self::default();
        growth.add(expr)?;
        Ok(growth)
    }

    /// That of an operator's expressions.
    pub(super) fn of(plan: &dyn ExecutionPlan) -> Result<Self> {
        let mut growth = Self::default();
        plan.apply_expressions(&mut |expr| growth.add(expr).map(|()| TreeNodeRecursion::Continue))?;
        Ok(growth)
    }

    fn add(&mut self, expr: &Arc<dyn PhysicalExpr>) -> Result<()> {
        expr.apply(|expr| {
            if compares(expr) {
                let operands = expr.children().into_iter().filter(|operand| !operand.is::<Literal>());
                operands.into_iter().try_for_each(|operand| self.add(operand))?;
                return Ok(TreeNodeRecursion::Jump);
            }
            if let Some(literal) = expr.downcast_ref::<Literal>() {
                let bytes = bytes_of(literal.value());
                self.constants_bytes += if bytes >= CONSTANT_BYTES_MIN { bytes } else { 0 };
            }
            if let Some(subquery) = expr.downcast_ref::<ScalarSubqueryExpr>() {
                // Its value is copied for each row, unless it is a view.
                self.enlarging |= is_copied(subquery.return_field(&Schema::empty())?.data_type());
            }
            if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
                self.enlarging |= ENLARGING.contains(&call.fun().name());
                self.copies += usize::from(call.return_type().primitive_width().is_none());
            }
            if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
                self.copies += usize::from(*binary.op() == Operator::StringConcat);
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(())
    }

    /// That of two expressions.
    pub(super) fn and(&self, other: Self) -> Self {
        Self {
            constants_bytes: self.constants_bytes + other.constants_bytes,
            enlarging: self.enlarging || other.enlarging,
            copies: self.copies + other.copies,
        }
    }

    pub(super) fn is_large(&self) -> bool {
        self.constants_bytes > 0 || self.enlarging || self.copies_rows()
    }

    /// The same of what makes texts of a row for a moment only.
    pub(super) fn without_copies(self) -> Self {
        Self { copies: 0, ..self }
    }

    /// Whether rows become several times as large.
    pub(super) fn copies_rows(&self) -> bool {
        self.copies > COPIES_MAX
    }

    /// Whether there is a text or a list that is made of a row.
    pub(super) fn has_copies(&self) -> bool {
        self.copies > 0
    }

    /// How many times a row is there with all that is made of it.
    pub(super) fn times(&self) -> usize {
        self.copies.max(1)
    }

    /// What the constants of a row take, in bytes.
    pub(super) fn constants_bytes(&self) -> usize {
        self.constants_bytes
    }

    /// Rows at a time that keep the constants small.
    pub(super) fn rows_of_constants(&self) -> usize {
        match self.constants_bytes {
            0 => usize::MAX,
            bytes => (CONSTANTS_BYTES_MAX / bytes).max(1),
        }
    }

    /// Rows that the operators above gather at most.
    pub(super) fn rows_gathered(&self) -> usize {
        self.rows_of_constants().min(if self.enlarging { ROWS_OF_ANY_SIZE } else { usize::MAX })
    }
}

/// Whether a projection makes values that are much larger than its rows: it is then evaluated by an
/// operator of its own, which takes as many rows at a time as memory allows.
///
/// # Errors
/// What DataFusion finds wrong with an expression.
pub fn makes_large_values(projection: &ProjectionExec) -> Result<bool> {
    Ok(Growth::of(projection)?.is_large())
}

/// Whether constants beside the operands are taken once, not for each row.
fn compares(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let by_call = |call: &ScalarFunctionExpr| [LIKE, ILIKE].contains(&call.fun().name());
    expr.downcast_ref::<BinaryExpr>().is_some_and(|binary| COMPARISONS.contains(binary.op()))
        || expr.is::<LikeExpr>()
        || expr.is::<InListExpr>()
        || expr.downcast_ref::<ScalarFunctionExpr>().is_some_and(by_call)
}

fn bytes_of(value: &ScalarValue) -> usize {
    match value {
        ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)) | ScalarValue::LargeUtf8(Some(text)) => {
            text.len()
        }
        ScalarValue::Binary(Some(bytes))
        | ScalarValue::BinaryView(Some(bytes))
        | ScalarValue::LargeBinary(Some(bytes)) => bytes.len(),
        ScalarValue::List(list) => list.values().get_buffer_memory_size(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field};
    use datafusion::physical_expr::expressions::{col, like, lit};

    use super::*;

    #[test]
    fn a_constant_that_is_compared_with_is_there_once() {
        let schema = Schema::new(vec![Field::new("s", DataType::Utf8, true)]);
        let (column, long) = (col("s", &schema).expect("a column"), || lit("x".repeat(5_000)));
        let binary = |operator| Arc::new(BinaryExpr::new(Arc::clone(&column), operator, long())) as Arc<_>;
        let pattern = like(false, false, Arc::clone(&column), long(), &schema).expect("a condition");
        let bytes = |expr: Arc<dyn PhysicalExpr>| Growth::of_expr(&expr).expect("no error").constants_bytes();
        assert_eq!([binary(Operator::Eq), pattern, long()].map(bytes), [0, 0, 5_000]);
        // A value of each row is made of this one.
        let made = binary(Operator::StringConcat);
        assert_eq!(bytes(Arc::clone(&made)), 5_000);
        assert_eq!(bytes(Arc::new(BinaryExpr::new(made, Operator::Lt, long()))), 5_000);
    }
}
