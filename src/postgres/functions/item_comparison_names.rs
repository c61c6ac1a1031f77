//! Names of the functions that compare a value with the items of an array, as plans have them: no
//! names that a statement could write.

use datafusion::sql::sqlparser::ast::BinaryOperator;

/// `x = ANY (array)`.
pub(super) const EQUALS_ANY: &str = "(= any)";

/// DataFusion's function of an array and what may be an item of it.
const ARRAY_HAS: &str = "array_has";

/// The function of `x op ANY (array)`.
pub(super) fn of_any(op: &BinaryOperator) -> Option<String> {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq).then(|| format!("({op} any)"))
}

/// The function of `x op ALL (array)`, other than `<>`, which is the contrary of `= ANY`.
pub(super) fn of_all(op: &BinaryOperator) -> Option<String> {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq};
    matches!(op, Eq | Lt | LtEq | Gt | GtEq).then(|| format!("({op} all)"))
}

/// Whether a function compares a value with the items of an array, by an operator.
pub(super) fn is_item_comparison(function: &str) -> bool {
    function.ends_with(" any)") || function.ends_with(" all)")
}

/// Whether a function is `x = ANY (array)`, of the array and x.
pub fn is_equals_any(function: &str) -> bool {
    [EQUALS_ANY, ARRAY_HAS].contains(&function)
}

/// Whether a function is `x op ANY (array)` or `x op ALL (array)`, of the array and x.
pub(crate) fn compares_items(function: &str) -> bool {
    function == ARRAY_HAS || is_item_comparison(function)
}
