//! What can be wrong with a value.

/// Why a text or a binary form is no value of its type, or a value cannot be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub kind: ErrorKind,
    /// In PostgreSQL's wording where it has one.
    pub message: String,
}

/// The class of an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    InvalidText,
    InvalidDateTime,
    DateTimeOverflow,
    ZoneDisplacement,
    IntervalOverflow,
    OutOfRange,
    InvalidBinary,
    InvalidEncoding,
    Unsupported,
    InvalidParameter,
    /// A defect of the program.
    Internal,
}

impl ErrorKind {
    /// PostgreSQL's five-letter code.
    pub fn sqlstate(self) -> &'static str {
        match self {
            ErrorKind::InvalidText => "22P02",
            ErrorKind::InvalidDateTime => "22007",
            ErrorKind::DateTimeOverflow => "22008",
            ErrorKind::ZoneDisplacement => "22009",
            ErrorKind::IntervalOverflow => "22015",
            ErrorKind::OutOfRange => "22003",
            ErrorKind::InvalidBinary => "22P03",
            ErrorKind::InvalidEncoding => "22021",
            ErrorKind::Unsupported => "0A000",
            ErrorKind::InvalidParameter => "22023",
            ErrorKind::Internal => "XX000",
        }
    }
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(super) fn invalid_text(type_name: &str, text: &str) -> Self {
        Self::new(ErrorKind::InvalidText, format!("invalid input syntax for type {type_name}: \"{text}\""))
    }

    pub(super) fn value_out_of_range(type_name: &str, text: &str) -> Self {
        Self::new(ErrorKind::OutOfRange, format!("value \"{text}\" is out of range for type {type_name}"))
    }

    pub(super) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
