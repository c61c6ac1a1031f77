//! Messages of DataFusion about a statement, as PostgreSQL's.

use std::sync::LazyLock;

use datafusion::sql::sqlparser::tokenizer::Location;
use regex::{Captures, Regex};

use crate::syntax::Source;
use rowkey_base::{Error, SqlState};

/// A message of DataFusion, and PostgreSQL's error for it.
struct Wording {
    pattern: Regex,
    error: fn(&Captures) -> Error,
}

/// Functions that need an OVER clause.
const WINDOW_FUNCTIONS: [&str; 8] =
    ["row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"];

fn wording(pattern: &str, error: fn(&Captures) -> Error) -> Option<Wording> {
    Regex::new(pattern).ok().map(|pattern| Wording { pattern, error })
}

static WORDINGS: LazyLock<Vec<Wording>> = LazyLock::new(|| {
    let wordings = [
        wording(r#"column "([^"]+)" must appear in the GROUP BY clause"#, |found| grouping(&found[1])),
        wording(r"HAVING clause references: (\S+) must appear in the GROUP BY", |found| grouping(&found[1])),
        wording(r"(?i)aggregate functions are not allowed in the (WHERE|HAVING|GROUP BY) clause", |found| {
            Error::new(SqlState::GROUPING_ERROR, format!("aggregate functions are not allowed in {}", &found[1]))
        }),
        wording(r"Aggregate ORDER BY is not implemented for window functions", |_| {
            let message = "aggregate ORDER BY is not implemented for window functions";
            Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        }),
        wording(r"OVER and WITHIN GROUP clause cannot be used together", |_| {
            Error::new(SqlState::FEATURE_NOT_SUPPORTED, "OVER is not supported for ordered-set aggregates")
        }),
        wording(r"NTILE requires a positive integer, but finds NULL", |_| {
            Error::new(SqlState::FEATURE_NOT_SUPPORTED, "ntile of NULL is not supported")
        }),
        wording(r"Aggregate function calls cannot be nested", |_| {
            Error::new(SqlState::GROUPING_ERROR, "aggregate function calls cannot be nested")
        }),
        wording(r"Scalar subquery returned more than one row", |_| {
            Error::new(
                SqlState::CARDINALITY_VIOLATION,
                "more than one row returned by a subquery used as an expression",
            )
        }),
        wording(
            r"(subquery has too (?:many|few) columns|WITH TIES cannot be specified without ORDER BY clause)",
            |found| Error::new(SqlState::SYNTAX_ERROR, &found[1]),
        ),
        wording(r"Too many columns! The subquery should only return one column", |_| {
            Error::new(SqlState::SYNTAX_ERROR, "subquery has too many columns")
        }),
        wording(r"expr type (.+) can't cast to (.+) in InSubquery", |found| no_operator(&found[1], "=", &found[2])),
        wording(r"Cannot create filter with non-boolean predicate '.*' returning (.+)$", |found| {
            boolean_wanted("WHERE", &found[1])
        }),
        wording(r"Unary operator 'NOT' requires a boolean expression, got (\S+)", |found| {
            boolean_wanted("NOT", &found[1])
        }),
        wording(r"byte array offset overflow", |_| {
            Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "texts of more than 2 GB in one batch of rows")
        }),
        wording(r"Arithmetic overflow: Overflow happened on", |_| {
            Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
        }),
        wording(r"Unary operator '-' only supports signed numeric", |_| {
            with_usual_hint(Error::new(SqlState::UNDEFINED_FUNCTION, "operator does not exist: - of what is no number"))
        }),
        wording(r"Invalid function '([^']+)'", |found| match WINDOW_FUNCTIONS.contains(&&found[1]) {
            true => {
                let message = format!("window function {} requires an OVER clause", &found[1]);
                Error::new(SqlState::WRONG_OBJECT_TYPE, message)
            }
            false => undefined(&found[1], ""),
        }),
        wording(r"[Tt]able function '([^']+)' not found", |found| undefined(&found[1], "")),
        // Of all other names the resolver tells which there are not.
        wording(r"table '[^']+\.[^']+\.[^']+' not found", |_| {
            let message = "a WITH query inside a term of WITH RECURSIVE is not supported";
            Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        }),
        wording(r"Field (\S+) not found in struct", |found| {
            let message = format!("could not identify column \"{}\" in record data type", &found[1]);
            Error::new(SqlState::UNDEFINED_COLUMN, message)
        }),
        wording(r"No function matches the given name and argument types '(\w+)\(([^']*)\)'", |found| {
            undefined(&found[1], &found[2])
        }),
        wording(r"satisfy a call to '(\w+)' function: coercion from (.+) to the signature", |found| {
            undefined(&found[1], &found[2])
        }),
        wording(
            r"Function '(\w+)' failed to match any signature.*received \w+ \(DataType: ([^)]+(?:\([^)]*\))?)\)",
            |found| undefined(&found[1], &found[2]),
        ),
        wording(r"Expected LIMIT to be an integer or null, but got (\S+)", |found| {
            let message = format!("argument of LIMIT must be type bigint, not type {}", type_name(&found[1]));
            Error::new(SqlState::DATATYPE_MISMATCH, message)
        }),
        wording(r"(LIMIT|OFFSET) must be >= ?0", |found| {
            let kind = if &found[1] == "LIMIT" {
                SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE
            } else {
                SqlState::INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE
            };
            Error::new(kind, format!("{} must not be negative", &found[1]))
        }),
        wording(
            r"Cannot (?:infer common|coerce).* (?:operation|expression) (.+) (=|<>|!=|<|<=|>|>=|\+|-|\*|/|%|\|\||AND|OR|~|~\*|!~|!~\*|&|\||#|<<|>>|IS DISTINCT FROM|IS NOT DISTINCT FROM) (\S+)",
            |found| no_operator(&found[1], &found[2], &found[3]),
        ),
        wording(r"Cannot infer common argument type for regex operation (.+?) (!?~~?\*?) (.+)$", |found| {
            no_operator(&found[1], &found[2], &found[3])
        }),
        wording(r"Cannot get result type for temporal operation (.+?) (\+|-|\*|/|%) (.+?)(?:: |$)", |found| {
            no_operator(&found[1], &found[2], &found[3])
        }),
        wording(r"There isn't a common type to coerce (.+?) and (.+?) in (I?LIKE) expression", |found| {
            no_operator(&found[1], if &found[3] == "LIKE" { "~~" } else { "~~*" }, &found[2])
        }),
        wording(r"Inconsistent data type across values list .*Was (.+) but found (.+)$", |found| {
            let message =
                format!("VALUES types {} and {} cannot be matched", type_name(&found[1]), type_name(&found[2]));
            Error::new(SqlState::DATATYPE_MISMATCH, message)
        }),
        wording(r"(?:Cannot automatically convert|Casting from) (.+?) to (.+?)(?: not supported|$)", |found| {
            let message = format!("cannot cast type {} to {}", type_name(&found[1]), type_name(&found[2]));
            Error::new(SqlState::CANNOT_COERCE, message)
        }),
        wording(r"Can't cast value \S+ to type (\S+)", |found| {
            Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{} out of range", type_name(&found[1])))
        }),
        wording(r"Unsupported SQL type (.+)$", |found| {
            Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("type \"{}\" is not supported", &found[1]))
        }),
        wording(r"Expected an integer value", |_| {
            Error::new(SqlState::DATATYPE_MISMATCH, "an offset of rows must be an integer")
        }),
        wording(r"Unsupported SQL unary operator", |_| {
            with_usual_hint(Error::new(SqlState::UNDEFINED_FUNCTION, "operator does not exist: !"))
        }),
        wording(r"Cannot cast string '((?s).*)' to value of (\w+(?:\([^)]*\))?) type", |found| {
            let message = format!("invalid input syntax for type {}: \"{}\"", type_name(&found[2]), &found[1]);
            Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
        }),
        wording(r"(?s)regex parse error:.*error: ([^\n]+)", |found| {
            Error::new(SqlState::INVALID_REGULAR_EXPRESSION, format!("invalid regular expression: {}", &found[1]))
        }),
        wording(r"(?i)regular expression did not compile", |_| {
            Error::new(SqlState::INVALID_REGULAR_EXPRESSION, "invalid regular expression")
        }),
    ];
    wordings.into_iter().flatten().collect()
});

/// PostgreSQL's error for a message of DataFusion, if it is one that statements cause.
pub(super) fn reworded(message: &str) -> Option<Error> {
    WORDINGS.iter().find_map(|wording| Some((wording.error)(&wording.pattern.captures(message)?)))
}

fn grouping(column: &str) -> Error {
    let message = format!("column \"{column}\" must appear in the GROUP BY clause or be used in an aggregate function");
    Error::new(SqlState::GROUPING_ERROR, message)
}

fn boolean_wanted(place: &str, found: &str) -> Error {
    let message = format!("argument of {place} must be type boolean, not type {}", type_name(found));
    Error::new(SqlState::DATATYPE_MISMATCH, message)
}

fn undefined(function: &str, types: &str) -> Error {
    let types: Vec<String> = arguments(types).into_iter().map(type_name).collect();
    let message = format!("function {function}({}) does not exist", types.join(", "));
    with_usual_hint(Error::new(SqlState::UNDEFINED_FUNCTION, message))
}

fn no_operator(left: &str, operator: &str, right: &str) -> Error {
    let (left, right) = (type_name(left), type_name(right));
    if ["AND", "OR"].contains(&operator) {
        let other = if left == "boolean" { right } else { left };
        let message = format!("argument of {operator} must be type boolean, not type {other}");
        return Error::new(SqlState::DATATYPE_MISMATCH, message);
    }
    with_usual_hint(Error::new(
        SqlState::UNDEFINED_FUNCTION,
        format!("operator does not exist: {left} {operator} {right}"),
    ))
}

/// The parts between the commas outside of parentheses.
fn arguments(list: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = list.split(|letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// The SQL name of an Arrow type, as messages of DataFusion spell it.
fn type_name(arrow: &str) -> String {
    let arrow = arrow.trim();
    let word = arrow.split(['(', '<']).next().unwrap_or(arrow);
    match word {
        "Utf8" | "Utf8View" | "LargeUtf8" | "String" => "text",
        "Boolean" => "boolean",
        "Int8" | "UInt8" | "Int16" => "smallint",
        "UInt16" | "Int32" => "integer",
        "Int64" | "UInt64" => "bigint",
        "UInt32" => "oid",
        "Float16" | "Float32" => "real",
        "Float64" => "double precision",
        "Decimal32" | "Decimal64" | "Decimal128" | "Decimal256" => "numeric",
        "Binary" | "BinaryView" | "LargeBinary" => "bytea",
        "FixedSizeBinary" => "uuid",
        "Date32" | "Date64" => "date",
        "Time32" | "Time64" => "time without time zone",
        "Interval" => "interval",
        "Null" => "unknown",
        "Struct" => "record",
        "Timestamp" if ["Some", "UTC", "+00:00", "\""].iter().any(|zone| arrow.contains(zone)) => {
            "timestamp with time zone"
        }
        "Timestamp" => "timestamp without time zone",
        "List" | "LargeList" | "FixedSizeList" => "anyarray",
        _ => arrow,
    }
    .to_owned()
}

/// An error about an unknown function, with the position of its first call in the text.
pub fn at_function(error: Error, called: &[(String, Location)], source: &Source) -> Error {
    if error.sqlstate() != SqlState::UNDEFINED_FUNCTION || error.position().is_some() {
        return error;
    }
    let message = error.to_string();
    let name = message.strip_prefix("function ").and_then(|rest| rest.split('(').next());
    match called.iter().find(|(called, at)| Some(called.as_str()) == name && at.line > 0) {
        Some((_, at)) => error.at(source.position(*at)),
        None => error,
    }
}

/// An error about an unknown function or operator, with PostgreSQL's hint.
pub(super) fn with_usual_hint(error: Error) -> Error {
    if error.sqlstate() != SqlState::UNDEFINED_FUNCTION || error.hint().is_some() {
        return error;
    }
    let message = error.to_string();
    let what = if message.starts_with("operator") { "operator" } else { "function" };
    if !message.ends_with(" does not exist") && !message.starts_with("operator") {
        return error;
    }
    error.with_hint(format!(
        "No {what} matches the given name and argument types. You might need to add explicit type casts."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_datafusion_become_those_of_postgresql() {
        let said = |message: &str| reworded(message).map(|error| (error.sqlstate(), error.to_string()));
        let of = |kind: SqlState, message: &str| Some((kind, message.to_owned()));
        assert_eq!(
            said(
                "Error during planning: Function 'lower' requires String, but received Int64 (DataType: Int64).. No function matches the given name and argument types 'lower(Int64)'. You might need to add explicit type casts."
            ),
            of(SqlState::UNDEFINED_FUNCTION, "function lower(bigint) does not exist")
        );
        assert_eq!(
            said(
                "Error during planning: Internal error: Function 'sum' failed to match any signature, errors: Error during planning: Function 'sum' requires Decimal, but received String (DataType: Utf8View).,Error"
            ),
            of(SqlState::UNDEFINED_FUNCTION, "function sum(text) does not exist")
        );
        assert_eq!(
            said("Cannot infer common argument type for comparison operation Utf8View = Int32"),
            of(SqlState::UNDEFINED_FUNCTION, "operator does not exist: text = integer")
        );
        assert_eq!(
            said("Cannot create filter with non-boolean predicate 'Employees.LastName' returning Utf8View"),
            of(SqlState::DATATYPE_MISMATCH, "argument of WHERE must be type boolean, not type text")
        );
        assert_eq!(
            said(
                "Column in SELECT must be in GROUP BY or an aggregate function: While expanding wildcard, column \"Employees.LastName\" must appear in the GROUP BY clause or must be part of an aggregate function, currently only \"count(Int64(1))\" appears"
            ),
            of(
                SqlState::GROUPING_ERROR,
                "column \"Employees.LastName\" must appear in the GROUP BY clause or be used in an aggregate function"
            )
        );
        assert_eq!(
            said("Field f1 not found in struct"),
            of(SqlState::UNDEFINED_COLUMN, "could not identify column \"f1\" in record data type")
        );
        assert_eq!(
            said("expr type Int32 can't cast to List(Int32) in InSubquery"),
            of(SqlState::UNDEFINED_FUNCTION, "operator does not exist: integer = anyarray")
        );
        for (message, kind, reworded) in [
            (
                "Cannot infer common argument type for regex operation Int64 ~~* Utf8",
                SqlState::UNDEFINED_FUNCTION,
                "operator does not exist: bigint ~~* text",
            ),
            (
                "There isn't a common type to coerce Utf8View and Timestamp(µs, \"UTC\") in LIKE expression",
                SqlState::UNDEFINED_FUNCTION,
                "operator does not exist: text ~~ timestamp with time zone",
            ),
            (
                "Cannot get result type for temporal operation Int64 / Interval(MonthDayNano): Invalid",
                SqlState::UNDEFINED_FUNCTION,
                "operator does not exist: bigint / interval",
            ),
            (
                "Inconsistent data type across values list at row 1 column 0. Was Utf8View but found Date32",
                SqlState::DATATYPE_MISMATCH,
                "VALUES types text and date cannot be matched",
            ),
            (
                "Casting from Struct(\"c0\": Int32) to Utf8View not supported",
                SqlState::CANNOT_COERCE,
                "cannot cast type record to text",
            ),
            (
                "Cast error: Cannot cast string 'p1' to value of Decimal128(38, 10) type",
                SqlState::INVALID_TEXT_REPRESENTATION,
                "invalid input syntax for type numeric: \"p1\"",
            ),
            (
                "Cast error: Can't cast value 9223372036854775808 to type Int64",
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                "bigint out of range",
            ),
            (
                "This feature is not implemented: Unsupported SQL type box",
                SqlState::FEATURE_NOT_SUPPORTED,
                "type \"box\" is not supported",
            ),
        ] {
            assert_eq!(said(message), of(kind, reworded), "{message}");
        }
        assert_eq!(said("something else"), None);
        assert_eq!(WORDINGS.len(), 38, "a pattern does not compile");
    }

    #[test]
    fn types_have_the_names_of_sql() {
        assert_eq!(type_name("Timestamp(µs, \"UTC\")"), "timestamp with time zone");
        assert_eq!(type_name("Timestamp(Microsecond, None)"), "timestamp without time zone");
        assert_eq!(type_name("Decimal128(10, 2)"), "numeric");
        assert_eq!(arguments("Utf8View, Decimal128(10, 2), Int64"), ["Utf8View", "Decimal128(10, 2)", "Int64"]);
    }
}
