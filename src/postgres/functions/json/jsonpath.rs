//! What takes a `jsonpath` is known by its name, and refused.

use super::super::error::{SqlState, fail};
use super::super::scalar::{Function, immutable};

pub(super) static FUNCTIONS: [Function; 12] = [
    refused("jsonb_path_exists"),
    refused("jsonb_path_exists_tz"),
    refused("jsonb_path_exists_opr"),
    refused("jsonb_path_match"),
    refused("jsonb_path_match_tz"),
    refused("jsonb_path_match_opr"),
    refused("jsonb_path_query"),
    refused("jsonb_path_query_tz"),
    refused("jsonb_path_query_array"),
    refused("jsonb_path_query_array_tz"),
    refused("jsonb_path_query_first"),
    refused("jsonb_path_query_first_tz"),
];

const fn refused(name: &'static str) -> Function {
    immutable(
        name,
        0..=usize::MAX,
        |arguments| {
            let name = match arguments.function {
                "jsonb_path_exists_opr" => "the operator @?",
                "jsonb_path_match_opr" => "the operator @@",
                name => name,
            };
            fail(SqlState::FEATURE_NOT_SUPPORTED, format!("jsonpath is not supported: {name}"))
        },
        |call| fail(SqlState::FEATURE_NOT_SUPPORTED, format!("jsonpath is not supported: {}", call.function)),
    )
}
