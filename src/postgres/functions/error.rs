//! Errors of functions and casts, by what PostgreSQL calls them.

use std::fmt;

use datafusion::common::DataFusionError;

/// Which rule of PostgreSQL was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A text that is no value of the type.
    InvalidText,
    /// A text that is no date, time or interval.
    InvalidDateTime,
    /// A date or time beyond the type's range, or a field beyond its own.
    DateTimeOutOfRange,
    /// A part of an interval beyond its range.
    IntervalOverflow,
    /// A number beyond the type's range.
    OutOfRange,
    DivisionByZero,
    /// An argument that the function does not take.
    InvalidParameter,
    /// A regular expression that is none.
    InvalidRegex,
    /// A logarithm of nothing or less.
    InvalidLogarithm,
    /// A power without a value among the reals.
    InvalidPower,
    /// A part of a text with less than no characters.
    InvalidSubstring,
    /// Bytes that are no text of the encoding.
    InvalidEncoding,
    /// A character that the other encoding does not have.
    Untranslatable,
    /// A place beyond the end of a value.
    SubscriptOutOfRange,
    NullNotAllowed,
    /// A pattern or an escape that cannot be read.
    Syntax,
    /// A value that would be too long, or a character that there is not.
    TooLarge,
    /// Values of several rows that are too much together; fewer rows at a time may do.
    BatchTooLarge,
    /// A cast that does not exist.
    CannotCoerce,
    /// A function or operator that does not exist for these types.
    UndefinedFunction,
    /// Types of branches that do not go together.
    DatatypeMismatch,
    /// A type that does not exist.
    UndefinedType,
    /// What PostgreSQL does and this does not.
    Unsupported,
}

impl ErrorKind {
    const ALL: [ErrorKind; 23] = [
        ErrorKind::InvalidText,
        ErrorKind::InvalidDateTime,
        ErrorKind::DateTimeOutOfRange,
        ErrorKind::IntervalOverflow,
        ErrorKind::OutOfRange,
        ErrorKind::DivisionByZero,
        ErrorKind::InvalidParameter,
        ErrorKind::InvalidRegex,
        ErrorKind::InvalidLogarithm,
        ErrorKind::InvalidPower,
        ErrorKind::InvalidSubstring,
        ErrorKind::InvalidEncoding,
        ErrorKind::Untranslatable,
        ErrorKind::SubscriptOutOfRange,
        ErrorKind::NullNotAllowed,
        ErrorKind::Syntax,
        ErrorKind::TooLarge,
        ErrorKind::BatchTooLarge,
        ErrorKind::CannotCoerce,
        ErrorKind::UndefinedFunction,
        ErrorKind::DatatypeMismatch,
        ErrorKind::UndefinedType,
        ErrorKind::Unsupported,
    ];

    /// The kind that goes by this name in the debug form of an error.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| format!("{kind:?}") == name)
    }

    /// The code that clients read, as in PostgreSQL's table of error codes.
    pub fn sqlstate(self) -> &'static str {
        match self {
            ErrorKind::InvalidText => "22P02",
            ErrorKind::InvalidDateTime => "22007",
            ErrorKind::DateTimeOutOfRange => "22008",
            ErrorKind::IntervalOverflow => "22015",
            ErrorKind::OutOfRange => "22003",
            ErrorKind::DivisionByZero => "22012",
            ErrorKind::InvalidParameter => "22023",
            ErrorKind::InvalidRegex => "2201B",
            ErrorKind::InvalidLogarithm => "2201E",
            ErrorKind::InvalidPower => "2201F",
            ErrorKind::InvalidSubstring => "22011",
            ErrorKind::InvalidEncoding => "22021",
            ErrorKind::Untranslatable => "22P05",
            ErrorKind::SubscriptOutOfRange => "2202E",
            ErrorKind::NullNotAllowed => "22004",
            ErrorKind::Syntax => "42601",
            ErrorKind::TooLarge | ErrorKind::BatchTooLarge => "54000",
            ErrorKind::CannotCoerce => "42846",
            ErrorKind::UndefinedFunction => "42883",
            ErrorKind::DatatypeMismatch => "42804",
            ErrorKind::UndefinedType => "42704",
            ErrorKind::Unsupported => "0A000",
        }
    }
}

/// An error in PostgreSQL's words. It travels through the query engine as an external one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub kind: ErrorKind,
    pub message: String,
}

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
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

/// Gives up with an error of `kind`.
pub(super) fn fail<T>(kind: ErrorKind, message: impl Into<String>) -> Result<T, DataFusionError> {
    Err(Error::new(kind, message).into())
}

/// A number that the type cannot hold.
pub(super) fn out_of_range(type_name: &str) -> DataFusionError {
    Error::new(ErrorKind::OutOfRange, format!("{type_name} out of range")).into()
}

pub(super) fn division_by_zero() -> DataFusionError {
    Error::new(ErrorKind::DivisionByZero, "division by zero").into()
}
