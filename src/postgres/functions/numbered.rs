//! Subqueries, unnested lists and volatile calls by numbers: DataFusion calls all of a kind alike,
//! and a plan node has one column of a name.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Internal names of the function: of a value and a number it is the value.
pub const NUMBERED_SUBQUERY: &str = "numbered_subquery";
pub const NUMBERED_LIST: &str = "numbered_list";
pub const NUMBERED_CALL: &str = "numbered_call";

pub(super) fn numbered_functions() -> [ScalarUDF; 3] {
    [NUMBERED_SUBQUERY, NUMBERED_LIST, NUMBERED_CALL]
        .map(|name| ScalarUDF::new_from_impl(Numbered { name, signature: Signature::any(2, Volatility::Immutable) }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Numbered {
    name: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for Numbered {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// By the number alone.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        match args {
            [_, number] => Ok(format!("{} {number}", self.name)),
            _ => internal_err!("{} takes two arguments", self.name),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [data_type, _] => Ok(data_type.clone()),
            _ => internal_err!("{} takes two arguments", self.name),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        match args.arg_fields {
            [field, _] => Ok(Arc::clone(field)),
            _ => internal_err!("{} takes two arguments", self.name),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match <[ColumnarValue; 2]>::try_from(args.args) {
            Ok([value, _]) => Ok(value),
            Err(_) => internal_err!("{} takes two arguments", self.name),
        }
    }
}
