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

/// DataFusion's functions that PostgreSQL does not have. They stay registered: rules of DataFusion
/// look for some of them by their names.
const NOT_POSTGRES: [&str; 117] = [
    "any_value",
    "approx_median",
    "approx_percentile_cont_with_weight",
    "array_add",
    "array_any_value",
    "array_avg",
    "array_compact",
    "array_contains",
    "array_distance",
    "array_distinct",
    "array_element",
    "array_empty",
    "array_except",
    "array_extract",
    "array_has",
    "array_has_all",
    "array_has_any",
    "array_intersect",
    "array_max",
    "array_min",
    "array_normalize",
    "array_pop_back",
    "array_pop_front",
    "array_product",
    "array_remove_all",
    "array_remove_n",
    "array_repeat",
    "array_replace_all",
    "array_replace_n",
    "array_resize",
    "array_reverse",
    "array_scale",
    "array_slice",
    "array_sort",
    "array_subtract",
    "array_sum",
    "array_union",
    "arrays_overlap",
    "arrays_zip",
    "arrow_cast",
    "arrow_field",
    "arrow_metadata",
    "arrow_try_cast",
    "cast_to_type",
    "contains",
    "cosine_distance",
    "covar",
    "dot_product",
    "empty",
    "ends_with",
    "file_row_index",
    "find_in_set",
    "flatten",
    "get_field",
    "ifnull",
    "inner_product",
    "input_file_name",
    "isnan",
    "iszero",
    "levenshtein",
    "list_add",
    "list_any_value",
    "list_avg",
    "list_compact",
    "list_contains",
    "list_distance",
    "list_distinct",
    "list_element",
    "list_empty",
    "list_except",
    "list_extract",
    "list_has",
    "list_has_all",
    "list_has_any",
    "list_intersect",
    "list_max",
    "list_normalize",
    "list_pop_back",
    "list_pop_front",
    "list_product",
    "list_remove_all",
    "list_remove_n",
    "list_repeat",
    "list_replace_all",
    "list_replace_n",
    "list_resize",
    "list_reverse",
    "list_scale",
    "list_slice",
    "list_sort",
    "list_subtract",
    "list_sum",
    "list_union",
    "list_zip",
    "log2",
    "make_array",
    "make_map",
    "mean",
    "median",
    "nanvl",
    "nvl",
    "nvl2",
    "quantile_cont",
    "rand",
    "range",
    "signum",
    "struct",
    "substr_index",
    "substring_index",
    "try_cast_to_type",
    "union_extract",
    "union_tag",
    "uuid",
    "var",
    "var_population",
    "var_sample",
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
        BUILT_IN.contains(&name) || is_registered && !NOT_POSTGRES.contains(&name)
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
