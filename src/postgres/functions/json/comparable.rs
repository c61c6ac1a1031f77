//! What cannot be compared.

use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::Expr;

use super::super::error::{SqlState, fail};
use super::super::kind::Kind;
use super::super::scalar::type_of;

/// An error for `json`, whose values are neither equal nor in order.
pub(in super::super) fn comparable(expr: &Expr, schema: &DFSchema, operator: &str) -> Result<()> {
    match type_of(expr, schema) {
        Ok(data_type) if Kind::of(&data_type) == Kind::Json => {
            let message = format!("could not identify an {operator} operator for type json");
            fail(SqlState::UNDEFINED_FUNCTION, message)
        }
        _ => Ok(()),
    }
}
