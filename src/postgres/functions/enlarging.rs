//! Functions that multiply.

/// Functions whose values may be much larger than their arguments: operators take few rows at a
/// time where they find one.
pub(crate) const ENLARGING: [&str; 27] = [
    "repeat",
    "lpad",
    "rpad",
    "replace",
    "regexp_replace",
    "array_to_string",
    "array_append",
    "array_prepend",
    "array_cat",
    "array_fill",
    "generate_series",
    "string_to_array",
    "regexp_split_to_array",
    "format",
    "jsonb_pretty",
    "to_json",
    "to_jsonb",
    "row_to_json",
    "array_to_json",
    "json_build_object",
    "jsonb_build_object",
    "json_build_array",
    "jsonb_build_array",
    "json_of_array",
    "jsonb_of_array",
    "json_of_pairs",
    "jsonb_of_pairs",
];
