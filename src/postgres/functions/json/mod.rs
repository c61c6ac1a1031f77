//! `json` and `jsonb`: their operators and functions.
//!
//! Arrow holds a `json` in [`DataType::LargeBinary`] and a `jsonb` in [`DataType::LargeUtf8`],
//! which nothing else is held in: so the types of columns and of expressions tell them from `text`
//! and from each other. What the texts say is in [`crate::types::json`].

mod access;
mod building;
mod changes;
mod comparable;
mod documents;
mod jsonpath;
mod keys;
mod objects;
mod records;
mod refusals;
mod sets;

pub(super) use comparable::comparable;
pub(super) use keys::KEY;
pub(super) use refusals::{compares_texts, refuse};

use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Cast, Expr};

use super::error::{SqlState, fail};
use super::kind::Kind;
use super::scalar::{Arguments, Function, Scalar};

/// Internal name of the operator `->`.
pub(super) const JSON_GET: &str = "json_get";
/// Internal name of the operator `->>`.
pub(super) const JSON_GET_TEXT: &str = "json_get_text";
/// Internal name of the operator `#>`.
pub(super) const JSON_GET_PATH: &str = "json_get_path";
/// Internal name of the operator `#>>`.
pub(super) const JSON_GET_PATH_TEXT: &str = "json_get_path_text";
/// The operator `@>`.
pub(super) const CONTAINS: &str = "jsonb_contains";
/// The operator `||`.
pub(super) const CONCAT: &str = "jsonb_concat";
/// The operator `-`.
pub(super) const DELETE: &str = "jsonb_delete";
/// Internal names of what makes `json_agg` of `array_agg`.
pub const JSON_OF_ARRAY: &str = "json_of_array";
pub const JSONB_OF_ARRAY: &str = "jsonb_of_array";
/// Internal names of what makes `json_object_agg` of `array_agg` over rows of key and value.
pub const JSON_OF_PAIRS: &str = "json_of_pairs";
pub const JSONB_OF_PAIRS: &str = "jsonb_of_pairs";

/// All of them.
pub(super) fn functions() -> impl Iterator<Item = &'static Function> {
    let tables = [
        access::FUNCTIONS.as_slice(),
        building::FUNCTIONS.as_slice(),
        changes::FUNCTIONS.as_slice(),
        jsonpath::FUNCTIONS.as_slice(),
        objects::FUNCTIONS.as_slice(),
        records::FUNCTIONS.as_slice(),
        sets::FUNCTIONS.as_slice(),
    ];
    tables.into_iter().flatten().chain([&KEY])
}

/// The function of a name.
pub(super) fn function(name: &str) -> Option<&'static Function> {
    functions().find(|function| function.name == name)
}

/// `expr[key]` of a `jsonb`.
pub(crate) fn jsonb_part(expr: Expr, key: Expr) -> Option<Expr> {
    let get = function("jsonb_extract_path")?;
    let step = Expr::Cast(Cast::new(Box::new(key), DataType::Utf8View));
    Some(Expr::ScalarFunction(ScalarFunction::new_udf(Scalar::udf(get), vec![expr, step])))
}

fn list_of(item: DataType) -> DataType {
    DataType::new_list(item, true)
}

/// Whether an argument is, or may become, of a type.
fn fits(arguments: &Arguments, place: usize, kind: Kind) -> bool {
    arguments.may_be(place, |given| given == kind)
}

fn is_text(arguments: &Arguments, place: usize) -> bool {
    matches!(arguments.kind(place), Kind::Text | Kind::Null)
}

/// An array of texts, or the text of one.
fn is_path(arguments: &Arguments, place: usize) -> bool {
    let of_texts = |data_type: &&DataType| match data_type {
        DataType::List(item) => matches!(Kind::of(item.data_type()), Kind::Text | Kind::Null),
        _ => false,
    };
    arguments.types.get(place).is_some_and(of_texts) || fits(arguments, place, Kind::Null)
}

/// The PostgreSQL operator of a function here is missing for such operands.
fn no_operator<T>(operator: &str, arguments: &Arguments) -> Result<T> {
    let name = |place: usize| match arguments.kind(place) {
        _ if arguments.is_unknown(place) => "unknown",
        kind => kind.name(),
    };
    if (0..2).all(|place| arguments.is_unknown(place)) {
        return fail(SqlState::AMBIGUOUS_FUNCTION, format!("operator is not unique: unknown {operator} unknown"));
    }
    let message = format!("operator does not exist: {} {operator} {}", name(0), name(1));
    fail(SqlState::UNDEFINED_FUNCTION, message)
}

fn invalid<T>(message: impl Into<String>) -> Result<T> {
    fail(SqlState::INVALID_PARAMETER_VALUE, message)
}
