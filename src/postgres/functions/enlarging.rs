//! Functions that multiply.

/// Functions whose values may be much larger than their arguments: operators take few rows at a
/// time where they find one.
pub(crate) const ENLARGING: [&str; 9] = [
    "repeat",
    "lpad",
    "rpad",
    "replace",
    "regexp_replace",
    "array_to_string",
    "string_to_array",
    "regexp_split_to_array",
    "format",
];
