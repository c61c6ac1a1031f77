//! Errors of functions and casts, by what PostgreSQL calls them.

use datafusion::common::DataFusionError;

pub(super) use crate::types::{Error, SqlState};

/// It travels through DataFusion as an external one.
impl From<Error> for DataFusionError {
    fn from(error: Error) -> Self {
        Self::External(Box::new(error))
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
