//! Literals in quotes as arguments of functions of numerics.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::ScalarFunction;

use super::kind::unknown_text;
use super::numeric_like::numeric_like;
use super::resolution::Resolver;

impl Resolver<'_> {
    /// A call with its literals in quotes as numerics, each with its own digits, where PostgreSQL
    /// has the function of no other type.
    pub(super) fn with_numeric_literals(&self, expr: Expr) -> Result<Expr> {
        let Expr::ScalarFunction(function) = &expr else { return Ok(expr) };
        let numerics = match (function.func.name(), function.args.len()) {
            ("scale" | "min_scale", 1) | ("round" | "trunc", 2) => 1,
            ("div", 2) => 2,
            _ => return Ok(expr),
        };
        if !function.args.iter().take(numerics).any(|argument| unknown_text(argument).is_some()) {
            return Ok(expr);
        }
        let argument = |(place, argument): (usize, &Expr)| match unknown_text(argument) {
            Some(_) if place < numerics => {
                let wanted = numeric_like(argument, &DataType::Utf8);
                self.to(argument.clone(), &DataType::Utf8, &wanted)
            }
            _ => Ok(argument.clone()),
        };
        let args = function.args.iter().enumerate().map(argument).collect::<Result<_>>()?;
        Ok(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&function.func), args)))
    }
}
