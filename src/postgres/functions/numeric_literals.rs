//! Literals in quotes as arguments of functions of numerics, and of `width_bucket`.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::ScalarFunction;

use super::kind::unknown_text;
use super::numeric_like::numeric_like;
use super::resolution::Resolver;
use super::scalar::{type_of, undefined};

impl Resolver<'_> {
    /// A call with its literals in quotes as numerics, each with its own digits, where PostgreSQL
    /// has the function of no other type.
    pub(super) fn with_numeric_literals(&self, expr: Expr) -> Result<Expr> {
        let Expr::ScalarFunction(function) = &expr else { return Ok(expr) };
        let numerics = match (function.func.name(), function.args.len()) {
            ("scale" | "min_scale", 1) | ("round" | "trunc", 2) => 1,
            ("div", 2) => 2,
            ("width_bucket", 2) => return self.with_threshold_literals(function),
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

    /// `width_bucket(value, thresholds)`, one of which is a literal that has the type of the other.
    fn with_threshold_literals(&self, function: &ScalarFunction) -> Result<Expr> {
        let mut args = function.args.clone();
        if let [value, thresholds] = args.as_mut_slice() {
            let types = [&*value, &*thresholds].map(|argument| type_of(argument, self.schema));
            match (unknown_text(value), unknown_text(thresholds), types) {
                (Some(_), Some(_), _) => {
                    let texts = DataType::new_list(DataType::Utf8, true);
                    *thresholds = self.to(thresholds.clone(), &DataType::Utf8, &texts)?;
                }
                (_, None, [Ok(ty), Ok(DataType::Null)]) => {
                    *thresholds = self.to(thresholds.clone(), &DataType::Null, &DataType::new_list(ty, true))?;
                }
                (Some(_), None, [_, Ok(DataType::List(item))]) => {
                    *value = self.to(value.clone(), &DataType::Utf8, item.data_type())?;
                }
                (None, Some(_), [Ok(ty), _]) => {
                    let ty = if ty.is_null() { DataType::Utf8 } else { ty };
                    *thresholds = self.to(thresholds.clone(), &DataType::Utf8, &DataType::new_list(ty, true))?;
                }
                (_, None, [Ok(ty), Ok(other)]) if !matches!(other, DataType::List(_)) => {
                    return undefined(function.func.name(), [ty, other].iter());
                }
                _ => {}
            }
        }
        Ok(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&function.func), args)))
    }
}
