//! Why a filter is not taken.

use rowkey_base::{Error, SqlState};

/// Why a text is no filter, in the words of the service (specification, section 2.9, "Errors").
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// The text breaks the grammar; the position is behind the token that does, in characters
    /// from 0.
    #[error("Syntax error at position {position} in '{filter}'.")]
    Syntax { position: usize, filter: String },

    /// `null` with `eq` or `ne`.
    #[error("One of the request inputs is not valid.")]
    Null,

    /// `null` with an operator of order, by the service's name for it.
    #[error("The operator '{0}' is not supported for the 'null' literal; only equality checks are supported.")]
    NullOrder(&'static str),

    /// A part of OData that the service does not have: functions, arithmetic, comparisons between
    /// properties or between constants.
    #[error("The requested operation is not implemented on the specified resource.")]
    NotImplemented,

    /// More than is allowed of something; no client comes near.
    #[error("The filter has more than {limit} {what}.")]
    TooLarge { what: &'static str, limit: usize },
}

impl From<FilterError> for Error {
    fn from(error: FilterError) -> Self {
        let sqlstate = match &error {
            FilterError::Syntax { .. } => SqlState::SYNTAX_ERROR,
            FilterError::Null | FilterError::NullOrder(_) => SqlState::INVALID_STATEMENT,
            FilterError::NotImplemented => SqlState::FEATURE_NOT_SUPPORTED,
            FilterError::TooLarge { .. } => SqlState::STATEMENT_TOO_COMPLEX,
        };
        Self::new(sqlstate, error.to_string()).with_source(error)
    }
}
