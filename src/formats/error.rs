//! What can be wrong with an input.

use rowkey_base::SqlState;
use std::fmt;
use std::io;
use std::sync::Arc;

use super::place::Place;

/// Why an input cannot be read, or not any further. Every message begins with the input's name.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{input}: cannot read it: {source}")]
    Read { input: Arc<str>, source: io::Error },

    /// The format was not detected by the first bytes.
    #[error("{input}: {reason}")]
    UnknownFormat { input: Arc<str>, reason: String },

    /// Text that is not in its format, or has another shape than an export.
    #[error("{}: {reason}", place.of(input))]
    Syntax { input: Arc<str>, place: Place, reason: String },

    #[error("{input}: {source}")]
    Parquet { input: Arc<str>, source: parquet::errors::ParquetError },

    /// The reader of Parquet panicked, as it does on some damaged files.
    #[error("{input}: the file is damaged: {reason}")]
    DamagedParquet { input: Arc<str>, reason: String },

    #[error("{input}: {source}")]
    Arrow { input: Arc<str>, source: arrow::error::ArrowError },

    /// A column that does not fit the data model, or a key column that is missing.
    #[error("{input}: column \"{column}\": {reason}")]
    Column { input: Arc<str>, column: String, reason: String },

    /// The input is a stream and its format needs a file.
    #[error("{input}: {reason}; give it as a file")]
    NeedsFile { input: Arc<str>, reason: &'static str },

    /// Keys cannot be made of columns here.
    #[error("{input}: keys of an Azurite database are its own; they are not made of other columns")]
    KeysNotMapped { input: Arc<str> },

    /// The keys are the path of the file, and this has none.
    #[error(
        "{input}: the archiver has the keys of an entity in its path, TABLE/PARTITIONKEY/ROWKEY.json; this is {reason}"
    )]
    KeysNotInPath { input: Arc<str>, reason: &'static str },

    /// The input holds several tables and was to be read as one.
    #[error("{input}: an Azurite database holds several tables; name the one to read")]
    SeveralTables { input: Arc<str> },
}

/// An entity that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reject {
    pub input: Arc<str>,
    pub place: Place,
    /// The value and the rule it broke.
    pub reason: String,
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place.of(&self.input), self.reason)
    }
}

/// What is wrong with an input is for the caller to mend; an input that cannot be read is out of
/// reach.
impl From<Error> for rowkey_base::Error {
    fn from(error: Error) -> Self {
        let sqlstate = match &error {
            Error::Read { .. } => SqlState::IO_ERROR,
            _ => SqlState::INVALID_STATEMENT,
        };
        Self::new(sqlstate, error.to_string()).with_source(error)
    }
}
