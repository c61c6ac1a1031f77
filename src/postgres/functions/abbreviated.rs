//! Deep operands under short names, while a statement is planned.
//!
//! DataFusion makes the name of an expression at each of its levels whenever it wants the field of
//! the whole: for a chain of operators, as much text as the square of its length. So each operand
//! that has become deep is put into a call that hands it on and has a short name. The rule that
//! gives plans their types takes the calls away again, but for those of operands that cannot be
//! fused.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Operands of so many levels get a short name.
const LEVELS_MAX: usize = 16;

/// The operand, in a call if it is deep: if its first operand has a first operand, and so on.
/// `type_of` finds out its type.
pub(super) fn abbreviated(operand: Expr, type_of: impl Fn(&Expr) -> Option<DataType>) -> Expr {
    let mut below = &operand;
    for _ in 0..LEVELS_MAX {
        below = match below {
            Expr::BinaryExpr(binary) => &binary.left,
            Expr::ScalarFunction(call) if of(call).is_none() => match call.args.first() {
                Some(first) => first,
                None => return operand,
            },
            _ => return operand,
        };
    }
    let data_type = if has_parameter(&operand) { None } else { type_of(&operand) };
    under_short_name(operand, data_type)
}

/// The operand in a call, whatever it is.
pub(super) fn under_short_name(operand: Expr, data_type: Option<DataType>) -> Expr {
    let mut hasher = DefaultHasher::new();
    operand.hash(&mut hasher);
    let name = format!("abbreviated_{:016x}", hasher.finish());
    let function = Abbreviated { signature: Signature::any(1, Volatility::Immutable), name, data_type };
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(ScalarUDF::new_from_impl(function)), vec![operand]))
}

/// Parameters get their types later, and with them what they are operands of.
fn has_parameter(operand: &Expr) -> bool {
    let mut found = false;
    let visited = operand.apply(|expr| {
        found |= matches!(expr, Expr::Placeholder(_));
        Ok(match known_type(expr) {
            Some(_) => TreeNodeRecursion::Jump,
            None if found => TreeNodeRecursion::Stop,
            None => TreeNodeRecursion::Continue,
        })
    });
    found || visited.is_err()
}

fn of(call: &ScalarFunction) -> Option<&Abbreviated> {
    call.func.inner().downcast_ref()
}

/// The type of what a call hands on, if that was known when the call was made.
pub(super) fn known_type(expr: &Expr) -> Option<&DataType> {
    match expr {
        Expr::ScalarFunction(call) => of(call)?.data_type.as_ref(),
        _ => None,
    }
}

/// What a call hands on, or the expression itself.
pub(super) fn in_full(expr: &Expr) -> &Expr {
    match expr {
        Expr::ScalarFunction(call) if of(call).is_some() => call.args.first().unwrap_or(expr),
        _ => expr,
    }
}

/// What a call hands on, taken out of it. `Err`: it is no such call, and as it was.
pub(super) fn into_full(expr: Expr) -> std::result::Result<Expr, Expr> {
    match expr {
        Expr::ScalarFunction(mut call) if of(&call).is_some() && call.args.len() == 1 => Ok(call.args.swap_remove(0)),
        expr => Err(expr),
    }
}

/// Hands on its argument. Calls are equal if their arguments are.
#[derive(Debug)]
struct Abbreviated {
    signature: Signature,
    /// Another one for another argument.
    name: String,
    data_type: Option<DataType>,
}

impl PartialEq for Abbreviated {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Abbreviated {}

impl Hash for Abbreviated {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl ScalarUDFImpl for Abbreviated {
    fn name(&self) -> &'static str {
        "abbreviated"
    }

    /// Errors show it as it was written.
    fn display_name(&self, args: &[Expr]) -> Result<String> {
        Ok(args.iter().map(Expr::to_string).collect())
    }

    fn schema_name(&self, _: &[Expr]) -> Result<String> {
        Ok(self.name.clone())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [of_argument] => Ok(of_argument.clone()),
            _ => internal_err!("an abbreviated expression is one argument"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        match args.arg_fields {
            [of_argument] => Ok(Arc::clone(of_argument)),
            _ => internal_err!("an abbreviated expression is one argument"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match <[ColumnarValue; 1]>::try_from(args.args) {
            Ok([argument]) => Ok(argument),
            Err(_) => internal_err!("an abbreviated expression is one argument"),
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{col, lit, placeholder};

    use super::*;

    fn chain(terms: usize, first: Expr) -> Expr {
        (1..terms).fold(first, |chain, _| abbreviated(chain, |_| Some(DataType::Int32)) + lit(1))
    }

    #[test]
    fn names_of_long_chains_are_short_and_differ() {
        let (long, longer) = (chain(1000, col("a")), chain(1001, col("a")));
        assert!(long.schema_name().to_string().len() < 200);
        assert_ne!(long.schema_name().to_string(), longer.schema_name().to_string());
        assert_ne!(long.schema_name().to_string(), chain(1000, col("b")).schema_name().to_string());
        assert_eq!(long, chain(1000, col("a")));
        assert_ne!(long, chain(1000, col("b")));
    }

    #[test]
    fn short_chains_stay_as_they_are() {
        let written = (1..LEVELS_MAX).fold(col("a"), |chain, _| chain + lit(1));
        assert_eq!(chain(LEVELS_MAX, col("a")), written);
    }

    #[test]
    fn types_are_known_unless_a_parameter_has_none_yet() {
        let operand = |first: Expr| (0..LEVELS_MAX).fold(first, |chain, _| chain + lit(1));
        let known = abbreviated(operand(col("a")), |_| Some(DataType::Int32));
        assert_eq!(known_type(&known), Some(&DataType::Int32));
        let unknown = abbreviated(operand(placeholder("$1")), |_| Some(DataType::Int32));
        assert_eq!(known_type(&unknown), None);
        assert_eq!(in_full(&known), &operand(col("a")));
        assert_eq!(into_full(known), Ok(operand(col("a"))));
        assert_eq!(into_full(col("a")), Err(col("a")));
    }
}
