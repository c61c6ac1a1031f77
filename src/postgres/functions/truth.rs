//! `IS TRUE`, `IS NOT FALSE`, `IS UNKNOWN`.
//!
//! DataFusion plans them as comparisons that may be NULL by their type, and says before that they
//! never are: where one is computed once for two places, the plan contradicts itself. Here they are
//! those comparisons from the beginning.

use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

use super::error::{SqlState, fail};
use super::kind::{Kind, unknown_text};
use super::optimization_barrier::computed_though_not_null;
use super::resolution::Resolver;
use super::scalar::type_of;

impl Resolver<'_> {
    /// A test of a truth value, resolved; any other expression as it is.
    pub(super) fn truth_test(&self, expr: Expr) -> Result<Expr> {
        use Operator::{IsDistinctFrom, IsNotDistinctFrom};
        Ok(match expr {
            Expr::IsTrue(tested) => compared(self.truth_value(*tested, "IS TRUE")?, IsNotDistinctFrom, true),
            Expr::IsNotTrue(tested) => compared(self.truth_value(*tested, "IS NOT TRUE")?, IsDistinctFrom, true),
            Expr::IsFalse(tested) => compared(self.truth_value(*tested, "IS FALSE")?, IsNotDistinctFrom, false),
            Expr::IsNotFalse(tested) => compared(self.truth_value(*tested, "IS NOT FALSE")?, IsDistinctFrom, false),
            Expr::IsUnknown(tested) => Expr::IsNull(self.tested(*tested, "IS UNKNOWN")?),
            Expr::IsNotUnknown(tested) => Expr::IsNotNull(self.tested(*tested, "IS NOT UNKNOWN")?),
            other => other,
        })
    }

    fn tested(&self, tested: Expr, test: &str) -> Result<Box<Expr>> {
        Ok(Box::new(computed_though_not_null(self.truth_value(tested, test)?, self.schema)))
    }

    /// What has to be a truth value.
    ///
    /// # Errors
    /// `DATATYPE_MISMATCH` if it is of another type.
    pub(super) fn truth_value(&self, tested: Expr, test: &str) -> Result<Expr> {
        if unknown_text(&tested).is_some() {
            return self.to(tested, &DataType::Utf8, &DataType::Boolean);
        }
        let Ok(data_type) = type_of(&tested, self.schema) else { return Ok(tested) };
        match Kind::of(&data_type) {
            Kind::Bool | Kind::Other => Ok(tested),
            Kind::Null => Ok(Expr::Literal(ScalarValue::Boolean(None), None)),
            other => {
                let message = format!("argument of {test} must be type boolean, not type {}", other.name());
                fail(SqlState::DATATYPE_MISMATCH, message)
            }
        }
    }
}

fn compared(left: Expr, op: Operator, right: bool) -> Expr {
    let right = Expr::Literal(ScalarValue::Boolean(Some(right)), None);
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}
