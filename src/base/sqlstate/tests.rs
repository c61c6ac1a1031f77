use super::*;
use ErrorKind as Kind;

/// Every constant with its code, which clients match, and what the caller can do.
const TABLE: &[(SqlState, &str, Kind)] = &[
    (SqlState::SYNTAX_ERROR, "42601", Kind::Statement),
    (SqlState::INVALID_STATEMENT, "42000", Kind::Statement),
    (SqlState::DATATYPE_MISMATCH, "42804", Kind::Statement),
    (SqlState::GROUPING_ERROR, "42803", Kind::Statement),
    (SqlState::WINDOWING_ERROR, "42P20", Kind::Statement),
    (SqlState::CARDINALITY_VIOLATION, "21000", Kind::Statement),
    (SqlState::UNDEFINED_OBJECT, "42704", Kind::Name),
    (SqlState::UNDEFINED_TABLE, "42P01", Kind::Name),
    (SqlState::UNDEFINED_SCHEMA, "3F000", Kind::Name),
    (SqlState::UNDEFINED_DATABASE, "3D000", Kind::Name),
    (SqlState::UNDEFINED_COLUMN, "42703", Kind::Name),
    (SqlState::AMBIGUOUS_COLUMN, "42702", Kind::Name),
    (SqlState::AMBIGUOUS_ALIAS, "42P09", Kind::Name),
    (SqlState::DUPLICATE_ALIAS, "42712", Kind::Name),
    (SqlState::DUPLICATE_COLUMN, "42701", Kind::Name),
    (SqlState::INVALID_COLUMN_REFERENCE, "42P10", Kind::Name),
    (SqlState::INVALID_RECURSION, "42P19", Kind::Statement),
    (SqlState::INVALID_CURSOR_DEFINITION, "42P11", Kind::Statement),
    (SqlState::INDETERMINATE_DATATYPE, "42P18", Kind::Statement),
    (SqlState::STATEMENT_TOO_COMPLEX, "54001", Kind::Limit),
    (SqlState::TOO_MANY_COLUMNS, "54011", Kind::Limit),
    (SqlState::TOO_MANY_ARGUMENTS, "54023", Kind::Limit),
    (SqlState::UNDEFINED_FUNCTION, "42883", Kind::Name),
    (SqlState::UNDEFINED_CURSOR, "34000", Kind::Name),
    (SqlState::UNDEFINED_PREPARED_STATEMENT, "26000", Kind::Name),
    (SqlState::UNDEFINED_SAVEPOINT, "3B001", Kind::Name),
    (SqlState::UNDEFINED_PARAMETER, "42P02", Kind::Name),
    (SqlState::DUPLICATE_TABLE, "42P07", Kind::Name),
    (SqlState::DUPLICATE_CURSOR, "42P03", Kind::Name),
    (SqlState::DUPLICATE_PREPARED_STATEMENT, "42P05", Kind::Name),
    (SqlState::DEPENDENT_OBJECTS_STILL_EXIST, "2BP01", Kind::Statement),
    (SqlState::CHECK_VIOLATION, "23514", Kind::Value),
    (SqlState::INVALID_TEXT_REPRESENTATION, "22P02", Kind::Value),
    (SqlState::INVALID_BINARY_REPRESENTATION, "22P03", Kind::Value),
    (SqlState::CHARACTER_NOT_IN_REPERTOIRE, "22021", Kind::Value),
    (SqlState::INVALID_DATETIME_FORMAT, "22007", Kind::Value),
    (SqlState::DATETIME_FIELD_OVERFLOW, "22008", Kind::Value),
    (SqlState::INVALID_TIME_ZONE_DISPLACEMENT, "22009", Kind::Value),
    (SqlState::INTERVAL_FIELD_OVERFLOW, "22015", Kind::Value),
    (SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "22003", Kind::Value),
    (SqlState::DIVISION_BY_ZERO, "22012", Kind::Value),
    (SqlState::INVALID_PARAMETER_VALUE, "22023", Kind::Value),
    (SqlState::AMBIGUOUS_FUNCTION, "42725", Kind::Name),
    (SqlState::INVALID_NAME, "42602", Kind::Name),
    (SqlState::INVALID_REGULAR_EXPRESSION, "2201B", Kind::Value),
    (SqlState::INVALID_ESCAPE_CHARACTER, "22019", Kind::Value),
    (SqlState::INVALID_ARGUMENT_FOR_NTILE, "22014", Kind::Value),
    (SqlState::INVALID_ARGUMENT_FOR_NTH_VALUE, "22016", Kind::Value),
    (SqlState::INVALID_ESCAPE_SEQUENCE, "22025", Kind::Value),
    (SqlState::INVALID_USE_OF_ESCAPE_CHARACTER, "2200C", Kind::Value),
    (SqlState::INVALID_ARGUMENT_FOR_LOGARITHM, "2201E", Kind::Value),
    (SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION, "2201F", Kind::Value),
    (SqlState::INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION, "2201G", Kind::Value),
    (SqlState::SUBSTRING_ERROR, "22011", Kind::Value),
    (SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE, "2201W", Kind::Value),
    (SqlState::INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE, "2201X", Kind::Value),
    (SqlState::UNTRANSLATABLE_CHARACTER, "22P05", Kind::Value),
    (SqlState::ARRAY_SUBSCRIPT_ERROR, "2202E", Kind::Value),
    (SqlState::WRONG_OBJECT_TYPE, "42809", Kind::Statement),
    (SqlState::PROGRAM_LIMIT_EXCEEDED, "54000", Kind::Value),
    (SqlState::BATCH_TOO_LARGE, "54000", Kind::Limit),
    (SqlState::NULL_VALUE_NOT_ALLOWED, "22004", Kind::Value),
    (SqlState::BAD_COPY_FILE_FORMAT, "22P04", Kind::Value),
    (SqlState::NOT_NULL_VIOLATION, "23502", Kind::Value),
    (SqlState::GENERATED_ALWAYS, "428C9", Kind::Statement),
    (SqlState::CANNOT_COERCE, "42846", Kind::Statement),
    (SqlState::CANT_CHANGE_RUNTIME_PARAM, "55P02", Kind::Statement),
    (SqlState::UNIQUE_VIOLATION, "23505", Kind::Entity),
    (SqlState::NO_DATA_FOUND, "P0002", Kind::Entity),
    (SqlState::PRECONDITION_FAILED, "40001", Kind::Entity),
    (SqlState::SERIALIZATION_FAILURE, "40001", Kind::Retry),
    (SqlState::IN_FAILED_SQL_TRANSACTION, "25P02", Kind::Statement),
    (SqlState::READ_ONLY_SQL_TRANSACTION, "25006", Kind::Statement),
    (SqlState::NO_ACTIVE_SQL_TRANSACTION, "25P01", Kind::Statement),
    (SqlState::ACTIVE_SQL_TRANSACTION, "25001", Kind::Statement),
    (SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "55000", Kind::Statement),
    (SqlState::FEATURE_NOT_SUPPORTED, "0A000", Kind::Unsupported),
    (SqlState::CACHED_PLAN_CHANGED, "0A000", Kind::Retry),
    (SqlState::INSUFFICIENT_PRIVILEGE, "42501", Kind::NotAllowed),
    (SqlState::INVALID_AUTHORIZATION_SPECIFICATION, "28000", Kind::NotAllowed),
    (SqlState::PROTOCOL_VIOLATION, "08P01", Kind::Statement),
    (SqlState::QUERY_CANCELED, "57014", Kind::Cancelled),
    (SqlState::ADMIN_SHUTDOWN, "57P01", Kind::Cancelled),
    (SqlState::IDLE_SESSION_TIMEOUT, "57P05", Kind::Cancelled),
    (SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT, "25P03", Kind::Cancelled),
    (SqlState::TOO_MANY_CONNECTIONS, "53300", Kind::Limit),
    (SqlState::OUT_OF_MEMORY, "53200", Kind::Limit),
    (SqlState::DISK_FULL, "53100", Kind::DiskFull),
    (SqlState::IO_ERROR, "58030", Kind::Unavailable),
    (SqlState::LOCK_FILE_EXISTS, "F0001", Kind::Unavailable),
    (SqlState::DATA_CORRUPTED, "XX001", Kind::Corrupt),
    (SqlState::TRANSACTION_RESOLUTION_UNKNOWN, "08007", Kind::OutcomeUnknown),
    (SqlState::INTERNAL_ERROR, "XX000", Kind::Internal),
    (SqlState::SUCCESSFUL_COMPLETION, "00000", Kind::Statement),
];

#[test]
fn every_row_has_its_code_and_its_kind() {
    for (state, code, kind) in TABLE {
        assert_eq!((state.code(), state.kind()), (*code, *kind));
        assert_eq!((format!("{state:?}"), state.to_string()), (format!("SqlState({code})"), (*code).to_owned()));
        assert_eq!(SqlState::from_code(code).map(SqlState::code), Some(*code));
    }
    assert_eq!(TABLE.len(), SqlState::ALL.len(), "a row is missing here");
    assert_eq!(SqlState::from_code("no"), None);
}

#[test]
fn constants_of_one_code_differ_in_what_the_caller_can_do() {
    for (at, (name, state)) in SqlState::ALL.iter().enumerate() {
        for (other, same) in &SqlState::ALL[..at] {
            assert!((state.code(), state.kind()) != (same.code(), same.kind()), "{name} is {other}");
        }
    }
}
