//! What a function refuses, in PostgreSQL's words.

use datafusion::error::DataFusionError;

/// What kind of refusal: the session makes an SQLSTATE of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FunctionErrorKind {
    /// 42P01
    UndefinedTable,
    /// 42703
    UndefinedColumn,
    /// 42704
    UndefinedObject,
    /// 42883
    UndefinedFunction,
    /// 42725
    AmbiguousFunction,
    /// 42602
    InvalidName,
    /// 22023
    InvalidParameter,
    /// 22P02
    InvalidText,
    /// 22003
    OutOfRange,
    /// 22004
    NullNotAllowed,
    /// 2201B
    InvalidRegularExpression,
    /// 22019
    InvalidEscape,
    /// 21000
    MoreThanOneRow,
    /// 0A000
    NotSupported,
    /// 55P02
    CannotChange,
    /// 3F000
    InvalidSchema,
    /// 3D000
    UndefinedDatabase,
}

impl FunctionErrorKind {
    /// The five characters that PostgreSQL's clients go by.
    pub const fn sqlstate(self) -> &'static str {
        match self {
            Self::UndefinedTable => "42P01",
            Self::UndefinedColumn => "42703",
            Self::UndefinedObject => "42704",
            Self::UndefinedFunction => "42883",
            Self::AmbiguousFunction => "42725",
            Self::InvalidName => "42602",
            Self::InvalidParameter => "22023",
            Self::InvalidText => "22P02",
            Self::OutOfRange => "22003",
            Self::NullNotAllowed => "22004",
            Self::InvalidRegularExpression => "2201B",
            Self::InvalidEscape => "22019",
            Self::MoreThanOneRow => "21000",
            Self::NotSupported => "0A000",
            Self::CannotChange => "55P02",
            Self::InvalidSchema => "3F000",
            Self::UndefinedDatabase => "3D000",
        }
    }
}

/// A refusal: its kind, and PostgreSQL's sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FunctionError {
    pub kind: FunctionErrorKind,
    pub message: String,
}

impl FunctionError {
    pub fn new(kind: FunctionErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl From<FunctionError> for DataFusionError {
    fn from(error: FunctionError) -> Self {
        Self::External(Box::new(error))
    }
}
