//! What can be wrong with a value, a cast or a call.

use std::borrow::Cow;

pub use rowkey_base::SqlState;

/// What an error shows of a value. Clients are sent no more, and texts of megabytes would be copied
/// with each step that an error takes.
const SHOWN_BYTES_MAX: usize = 8 << 10;

/// Why a text or a binary form is no value of its type, a value cannot be shown, or a function
/// refuses its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub sqlstate: SqlState,
    /// In PostgreSQL's wording where it has one.
    pub message: String,
}

impl Error {
    /// An error with PostgreSQL's code and message.
    pub fn new(sqlstate: SqlState, message: impl Into<String>) -> Self {
        Self { sqlstate, message: message.into() }
    }

    pub(super) fn invalid_text(type_name: &str, text: &str) -> Self {
        Self::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type {type_name}: \"{}\"", shown(text)),
        )
    }

    pub(super) fn value_out_of_range(type_name: &str, text: &str) -> Self {
        Self::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("value \"{}\" is out of range for type {type_name}", shown(text)),
        )
    }

    pub(super) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(SqlState::FEATURE_NOT_SUPPORTED, message)
    }
}

/// A value as errors show it: long ones in part.
fn shown(text: &str) -> Cow<'_, str> {
    match text.len() <= SHOWN_BYTES_MAX {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("{} ...", &text[..text.floor_char_boundary(SHOWN_BYTES_MAX)])),
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<Error> for rowkey_base::Error {
    fn from(error: Error) -> Self {
        Self::new(error.sqlstate, error.message)
    }
}
