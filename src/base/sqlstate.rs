//! PostgreSQL's error codes, each with what the caller can do about it.

use std::fmt;

/// What the caller can do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Correct the statement or the order of statements.
    Statement,
    /// Correct a name.
    Name,
    /// Change a value.
    Value,
    /// Look at the entity again: it is there, is not, or has another ETag.
    Entity,
    /// Try the same again: another writer was first.
    Retry,
    /// Ask for less, or allow more: a limit was met.
    Limit,
    /// Make room on the disk and try again.
    DiskFull,
    /// Restore access to the data and try again.
    Unavailable,
    /// Restore the file: it is damaged. What does not need it still works.
    Corrupt,
    /// Reopen to find out: a write may or may not have happened.
    OutcomeUnknown,
    /// Obtain the privilege, or name something that is permitted.
    NotAllowed,
    /// Ask in another way: this version does not do that.
    Unsupported,
    /// Nothing: it was stopped on request, by a timeout or by the end of the server.
    Cancelled,
    /// Report it: a fault of this program.
    Internal,
}

/// An error code (appendix A of PostgreSQL's manual, whose names the constants have) with its
/// [`ErrorKind`]. Where one code has two constants, they differ in what the caller can do.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState(Row);

macro_rules! sqlstates {
    ($($name:ident $code:literal $kind:ident,)*) => {
        /// One byte, so that errors stay small.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        enum Row {
            $($name,)*
        }

        impl SqlState {
            $(
                #[doc = concat!("Code ", $code, ".")]
                pub const $name: Self = Self(Row::$name);
            )*

            /// All of them, by their names.
            pub const ALL: &[(&'static str, Self)] = &[$((stringify!($name), Self::$name),)*];

            /// The five characters that clients match.
            pub fn code(self) -> &'static str {
                match self.0 {
                    $(Row::$name => $code,)*
                }
            }

            /// What the caller can do.
            pub fn kind(self) -> ErrorKind {
                match self.0 {
                    $(Row::$name => ErrorKind::$kind,)*
                }
            }
        }
    };
}

sqlstates! {
    SYNTAX_ERROR "42601" Statement,
    INVALID_STATEMENT "42000" Statement,
    DATATYPE_MISMATCH "42804" Statement,
    GROUPING_ERROR "42803" Statement,
    WINDOWING_ERROR "42P20" Statement,
    CARDINALITY_VIOLATION "21000" Statement,
    UNDEFINED_OBJECT "42704" Name,
    UNDEFINED_TABLE "42P01" Name,
    UNDEFINED_SCHEMA "3F000" Name,
    UNDEFINED_DATABASE "3D000" Name,
    UNDEFINED_COLUMN "42703" Name,
    AMBIGUOUS_COLUMN "42702" Name,
    AMBIGUOUS_ALIAS "42P09" Name,
    DUPLICATE_ALIAS "42712" Name,
    DUPLICATE_COLUMN "42701" Name,
    INVALID_COLUMN_REFERENCE "42P10" Name,
    INVALID_RECURSION "42P19" Statement,
    INVALID_CURSOR_DEFINITION "42P11" Statement,
    INDETERMINATE_DATATYPE "42P18" Statement,
    STATEMENT_TOO_COMPLEX "54001" Limit,
    TOO_MANY_COLUMNS "54011" Limit,
    TOO_MANY_ARGUMENTS "54023" Limit,
    UNDEFINED_FUNCTION "42883" Name,
    UNDEFINED_CURSOR "34000" Name,
    UNDEFINED_PREPARED_STATEMENT "26000" Name,
    UNDEFINED_SAVEPOINT "3B001" Name,
    UNDEFINED_PARAMETER "42P02" Name,
    DUPLICATE_TABLE "42P07" Name,
    DUPLICATE_CURSOR "42P03" Name,
    DUPLICATE_PREPARED_STATEMENT "42P05" Name,
    DEPENDENT_OBJECTS_STILL_EXIST "2BP01" Statement,
    CHECK_VIOLATION "23514" Value,
    INVALID_TEXT_REPRESENTATION "22P02" Value,
    INVALID_BINARY_REPRESENTATION "22P03" Value,
    CHARACTER_NOT_IN_REPERTOIRE "22021" Value,
    INVALID_DATETIME_FORMAT "22007" Value,
    DATETIME_FIELD_OVERFLOW "22008" Value,
    INVALID_TIME_ZONE_DISPLACEMENT "22009" Value,
    INTERVAL_FIELD_OVERFLOW "22015" Value,
    NUMERIC_VALUE_OUT_OF_RANGE "22003" Value,
    DIVISION_BY_ZERO "22012" Value,
    INVALID_PARAMETER_VALUE "22023" Value,
    AMBIGUOUS_FUNCTION "42725" Name,
    INVALID_NAME "42602" Name,
    INVALID_REGULAR_EXPRESSION "2201B" Value,
    INVALID_ESCAPE_CHARACTER "22019" Value,
    INVALID_ARGUMENT_FOR_NTILE "22014" Value,
    INVALID_ARGUMENT_FOR_NTH_VALUE "22016" Value,
    INVALID_ESCAPE_SEQUENCE "22025" Value,
    INVALID_USE_OF_ESCAPE_CHARACTER "2200C" Value,
    INVALID_ARGUMENT_FOR_LOGARITHM "2201E" Value,
    INVALID_ARGUMENT_FOR_POWER_FUNCTION "2201F" Value,
    INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION "2201G" Value,
    SUBSTRING_ERROR "22011" Value,
    INVALID_ROW_COUNT_IN_LIMIT_CLAUSE "2201W" Value,
    INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE "2201X" Value,
    UNTRANSLATABLE_CHARACTER "22P05" Value,
    ARRAY_SUBSCRIPT_ERROR "2202E" Value,
    WRONG_OBJECT_TYPE "42809" Statement,
    PROGRAM_LIMIT_EXCEEDED "54000" Value,
    BATCH_TOO_LARGE "54000" Limit,
    NULL_VALUE_NOT_ALLOWED "22004" Value,
    BAD_COPY_FILE_FORMAT "22P04" Value,
    NOT_NULL_VIOLATION "23502" Value,
    GENERATED_ALWAYS "428C9" Statement,
    CANNOT_COERCE "42846" Statement,
    CANT_CHANGE_RUNTIME_PARAM "55P02" Statement,
    UNIQUE_VIOLATION "23505" Entity,
    NO_DATA_FOUND "P0002" Entity,
    PRECONDITION_FAILED "40001" Entity,
    SERIALIZATION_FAILURE "40001" Retry,
    IN_FAILED_SQL_TRANSACTION "25P02" Statement,
    READ_ONLY_SQL_TRANSACTION "25006" Statement,
    NO_ACTIVE_SQL_TRANSACTION "25P01" Statement,
    ACTIVE_SQL_TRANSACTION "25001" Statement,
    OBJECT_NOT_IN_PREREQUISITE_STATE "55000" Statement,
    FEATURE_NOT_SUPPORTED "0A000" Unsupported,
    CACHED_PLAN_CHANGED "0A000" Retry,
    INSUFFICIENT_PRIVILEGE "42501" NotAllowed,
    INVALID_AUTHORIZATION_SPECIFICATION "28000" NotAllowed,
    PROTOCOL_VIOLATION "08P01" Statement,
    QUERY_CANCELED "57014" Cancelled,
    ADMIN_SHUTDOWN "57P01" Cancelled,
    IDLE_SESSION_TIMEOUT "57P05" Cancelled,
    IDLE_IN_TRANSACTION_SESSION_TIMEOUT "25P03" Cancelled,
    TOO_MANY_CONNECTIONS "53300" Limit,
    OUT_OF_MEMORY "53200" Limit,
    DISK_FULL "53100" DiskFull,
    IO_ERROR "58030" Unavailable,
    LOCK_FILE_EXISTS "F0001" Unavailable,
    DATA_CORRUPTED "XX001" Corrupt,
    TRANSACTION_RESOLUTION_UNKNOWN "08007" OutcomeUnknown,
    INTERNAL_ERROR "XX000" Internal,
    SUCCESSFUL_COMPLETION "00000" Statement,
}

impl SqlState {
    /// The first one with a code.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.iter().map(|(_, state)| *state).find(|state| state.code() == code)
    }
}

/// The code in parentheses: errors that DataFusion hands on as debug text are known by it.
impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqlState({})", self.code())
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

#[cfg(test)]
mod tests;
