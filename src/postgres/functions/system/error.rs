//! What a function refuses, in PostgreSQL's words.

use datafusion::error::DataFusionError;
pub use rowkey_base::SqlState;

/// A refusal: its code, and PostgreSQL's sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FunctionError {
    pub sqlstate: SqlState,
    pub message: String,
}

impl FunctionError {
    /// An error with PostgreSQL's code and message.
    pub fn new(sqlstate: SqlState, message: impl Into<String>) -> Self {
        Self { sqlstate, message: message.into() }
    }
}

impl From<FunctionError> for DataFusionError {
    fn from(error: FunctionError) -> Self {
        Self::External(Box::new(error))
    }
}
