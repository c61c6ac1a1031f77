//! Functions that there are not: they stand in while a statement is planned, and refuse once the
//! types of their arguments are known, which PostgreSQL's message names.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::FunctionRegistry;
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::error::{SqlState, fail};
use super::kind::Kind;

/// Those that the planner knows without their being in a list.
const BUILT_IN: [&str; 2] = ["unnest", "array"];

/// DataFusion's functions over its own types and files, of which statements have no values.
const INTERNAL: [&str; 14] = [
    "arrow_cast",
    "arrow_field",
    "arrow_metadata",
    "arrow_try_cast",
    "cast_to_type",
    "file_row_index",
    "get_field",
    "input_file_name",
    "make_map",
    "struct",
    "try_cast_to_type",
    "union_extract",
    "union_tag",
    "with_metadata",
];

/// The state with stand-ins for those of the called functions that it does not have.
pub fn with_undefined<'s, 'n>(
    state: &'s SessionState,
    called: impl Iterator<Item = &'n str>,
) -> Result<Cow<'s, SessionState>> {
    let is_known = |name: &str| {
        let is_registered = state.scalar_functions().contains_key(name)
            || state.aggregate_functions().contains_key(name)
            || state.window_functions().contains_key(name)
            || state.table_functions().contains_key(name);
        BUILT_IN.contains(&name) || is_registered && !INTERNAL.contains(&name)
    };
    let mut with = Cow::Borrowed(state);
    for name in called.filter(|name| !is_known(name)) {
        let signature = Signature::user_defined(Volatility::Volatile);
        let function = ScalarUDF::new_from_impl(Undefined { name: name.to_owned(), signature });
        with.to_mut().register_udf(Arc::new(function))?;
    }
    Ok(with)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Undefined {
    name: String,
    signature: Signature,
}

impl Undefined {
    fn refuse<T>(&self, types: &[String]) -> Result<T> {
        fail(SqlState::UNDEFINED_FUNCTION, format!("function {}({}) does not exist", self.name, types.join(", ")))
    }
}

impl ScalarUDFImpl for Undefined {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.refuse(&types.iter().map(|ty| Kind::of(ty).name().to_owned()).collect::<Vec<_>>())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let names = args.arg_fields.iter().zip(args.scalar_arguments);
        self.refuse(&names.map(|(field, literal)| type_name(field, *literal).to_owned()).collect::<Vec<_>>())
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.refuse(&[])
    }
}

/// The type of an argument. Literals do not have theirs yet when a statement is planned.
fn type_name(field: &FieldRef, literal: Option<&ScalarValue>) -> &'static str {
    match literal {
        Some(ScalarValue::Utf8(_)) => "unknown",
        Some(ScalarValue::Int64(Some(number))) if i32::try_from(*number).is_ok() => "integer",
        Some(ScalarValue::Float64(_)) => "numeric",
        _ => Kind::of(field.data_type()).name(),
    }
}
