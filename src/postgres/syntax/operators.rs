//! Which operators compare.

use datafusion::sql::sqlparser::ast::BinaryOperator;

/// Whether an operator compares two values by their order, or by whether they are equal.
pub(crate) fn is_comparison(operator: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}
