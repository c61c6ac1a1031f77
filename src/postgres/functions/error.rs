//! Errors of functions and casts, by what PostgreSQL calls them.

use std::fmt;

use datafusion::common::DataFusionError;
pub use rowkey_base::SqlState;

/// An error in PostgreSQL's words. It travels through DataFusion as an external one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub sqlstate: SqlState,
    pub message: String,
}

impl Error {
    /// An error with PostgreSQL's code and message.
    pub fn new(sqlstate: SqlState, message: impl Into<String>) -> Self {
        Self { sqlstate, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<Error> for DataFusionError {
    fn from(error: Error) -> Self {
        DataFusionError::External(Box::new(error))
    }
}

/// Gives up with an error of this code.
pub(super) fn fail<T>(sqlstate: SqlState, message: impl Into<String>) -> Result<T, DataFusionError> {
    Err(Error::new(sqlstate, message).into())
}

/// A number that the type cannot hold.
pub(super) fn out_of_range(type_name: &str) -> DataFusionError {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{type_name} out of range")).into()
}

pub(super) fn division_by_zero() -> DataFusionError {
    Error::new(SqlState::DIVISION_BY_ZERO, "division by zero").into()
}
