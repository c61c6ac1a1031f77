//! Functions of DataFusion's that would take JSON for text.

use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::super::error::{SqlState, fail};
use super::super::item_comparison_names::is_item_comparison;
use super::super::kind::Kind;
use super::super::scalar::undefined;

/// Functions of texts alone.
const OF_TEXTS: [&str; 17] = [
    "ascii",
    "bit_length",
    "btrim",
    "initcap",
    "left",
    "lower",
    "ltrim",
    "md5",
    "overlay",
    "reverse",
    "right",
    "rtrim",
    "starts_with",
    "strpos",
    "substr",
    "trim",
    "upper",
];

/// Functions that compare the elements of an array.
const OF_ELEMENTS: [&str; 6] =
    ["array_has", "array_position", "array_positions", "array_remove", "array_replace", "arrayoverlap"];

fn compares_elements(function: &str) -> bool {
    OF_ELEMENTS.contains(&function) || is_item_comparison(function)
}

/// Whether a function is one of those that may be refused.
pub(in super::super) fn compares_texts(function: &str) -> bool {
    OF_TEXTS.contains(&function) || compares_elements(function) || ["greatest", "least"].contains(&function)
}

/// An error for a function that would compare or change the texts of `json` and `jsonb`.
pub(in super::super) fn refuse(function: &str, types: &[DataType]) -> Result<()> {
    let is_json = |data_type: &DataType| matches!(Kind::of(data_type), Kind::Json | Kind::Jsonb);
    if OF_TEXTS.contains(&function) && types.iter().any(is_json) {
        return undefined(function, types.iter());
    }
    let compares = compares_elements(function)
        && types.iter().any(|data_type| matches!(data_type, DataType::List(item) if is_json(item.data_type())));
    if compares || (["greatest", "least"].contains(&function) && types.iter().any(is_json)) {
        return fail(SqlState::FEATURE_NOT_SUPPORTED, format!("{function} of json and jsonb is not supported"));
    }
    Ok(())
}
