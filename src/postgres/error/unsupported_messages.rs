//! What DataFusion says of constructs that it has no plan for, in words that know nothing of it.

use rowkey_base::{Error, SqlState};

/// A piece of DataFusion's message, and what is said instead.
const WORDINGS: &[(&str, SqlState, &str)] = &[
    (
        "Unnest should be rewritten to LogicalPlan::Unnest",
        SqlState::FEATURE_NOT_SUPPORTED,
        "set-returning functions are not supported in this place",
    ),
    ("unnest() does not support null yet", SqlState::AMBIGUOUS_FUNCTION, "function unnest(unknown) is not unique"),
    (
        "unnest() can only be applied to array, struct and null",
        SqlState::UNDEFINED_FUNCTION,
        "function unnest of a value that is no array does not exist",
    ),
    (
        "Only identifiers and literals are supported in tuples",
        SqlState::FEATURE_NOT_SUPPORTED,
        "a row of expressions as an argument is not supported",
    ),
    (
        "Unary operator '+' only supports",
        SqlState::UNDEFINED_FUNCTION,
        "operator does not exist: + of what is no number",
    ),
    (
        "in SetComparison",
        SqlState::UNDEFINED_FUNCTION,
        "operator does not exist for a value and an array of a subquery: = ANY (ARRAY(...)) takes its items",
    ),
    (
        "exceeds the maximum supported precision",
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "numeric value beyond 38 digits: out of range",
    ),
    ("Unsupported LIMIT expression", SqlState::FEATURE_NOT_SUPPORTED, "a LIMIT that is no constant is not supported"),
    (
        "Unsupported OFFSET expression",
        SqlState::FEATURE_NOT_SUPPORTED,
        "an OFFSET that is no constant is not supported",
    ),
    (
        "Invalid window frame: start bound",
        SqlState::FEATURE_NOT_SUPPORTED,
        "a frame that ends before it starts is not supported for these offsets",
    ),
    (
        "LATERAL syntax is not supported for FULL OUTER",
        SqlState::FEATURE_NOT_SUPPORTED,
        "LATERAL on a side of a FULL or RIGHT JOIN is not supported",
    ),
    (
        "Aggregate can not be used as a sliding accumulator",
        SqlState::FEATURE_NOT_SUPPORTED,
        "this aggregate is not supported over window frames whose start moves",
    ),
    (
        "In an aggregate with DISTINCT, ORDER BY expressions must appear in argument list",
        SqlState::INVALID_COLUMN_REFERENCE,
        "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list",
    ),
    (
        "There is only support Literal types for field at idx",
        SqlState::FEATURE_NOT_SUPPORTED,
        "an argument of this window function has to be a constant",
    ),
    (
        "FILTER clause can only be used with aggregate window functions",
        SqlState::FEATURE_NOT_SUPPORTED,
        "FILTER is not implemented for non-aggregate window functions",
    ),
    (
        "to grouping function is not in grouping columns",
        SqlState::GROUPING_ERROR,
        "arguments to GROUPING must be grouping expressions of the associated query level",
    ),
    (
        "For SELECT DISTINCT, ORDER BY expressions",
        SqlState::INVALID_COLUMN_REFERENCE,
        "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
    ),
    (
        "Typed literal requires a string payload",
        SqlState::SYNTAX_ERROR,
        "syntax error: behind the name of its type a literal stands in quotes",
    ),
    (
        "ORDER BY and WITHIN GROUP clauses cannot be used together",
        SqlState::SYNTAX_ERROR,
        "cannot use multiple ORDER BY clauses with WITHIN GROUP",
    ),
    (
        "does not support named arguments",
        SqlState::FEATURE_NOT_SUPPORTED,
        "arguments by their names are not supported for this function",
    ),
    (
        "common argument type for comparison operation Struct(",
        SqlState::DATATYPE_MISMATCH,
        "cannot compare rows of different types, or numbers of columns",
    ),
    ("ast node in sqltorel: IsNormalized", SqlState::FEATURE_NOT_SUPPORTED, "IS NORMALIZED is not supported"),
    ("not supported in rank", SqlState::FEATURE_NOT_SUPPORTED, "sorting arrays of this type is not supported here"),
    (
        "Can't compare arrays of different types",
        SqlState::FEATURE_NOT_SUPPORTED,
        "this comparison of arrays is not supported: cast both sides to one type",
    ),
    (
        "is too large to store in a Decimal128",
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "a number here has more digits than those it is compared with",
    ),
    ("SingleQuotedByteStringLiteral", SqlState::FEATURE_NOT_SUPPORTED, "bit strings are not supported"),
    (
        "Conflicting ordering requirements in aggregate functions is not supported",
        SqlState::FEATURE_NOT_SUPPORTED,
        "aggregates that order their arguments differently are not supported beside each other here",
    ),
    (
        "Physical input schema should be the same as the one converted from logical input schema",
        SqlState::FEATURE_NOT_SUPPORTED,
        "the combination of expressions in this query is not supported",
    ),
    (
        "does not satisfy order requirements",
        SqlState::FEATURE_NOT_SUPPORTED,
        "the combination of orders in this query is not supported",
    ),
];

/// The error instead of such a message.
pub(super) fn unsupported(message: &str) -> Option<Error> {
    let found = WORDINGS.iter().find(|(piece, ..)| message.contains(piece));
    found.map(|(_, sqlstate, text)| Error::new(*sqlstate, *text))
}

#[test]
fn no_message_is_said_that_is_taken_for_another() {
    for (piece, sqlstate, text) in WORDINGS {
        let error = unsupported(&format!("Error during planning: {piece}: and more")).expect(piece);
        assert_eq!((error.sqlstate(), error.to_string().as_str()), (*sqlstate, *text));
    }
    assert!(unsupported("anything else").is_none());
}
