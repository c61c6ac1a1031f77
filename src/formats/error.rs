//! What can be wrong with an input.

use std::fmt;
use std::io;
use std::sync::Arc;

/// Why an input cannot be read, or not any further. Every message begins with the input's name.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{input}: cannot read it: {source}")]
    Read { input: Arc<str>, source: io::Error },

    /// The format could not be told from the first bytes.
    #[error("{input}: {reason}")]
    UnknownFormat { input: Arc<str>, reason: String },

    /// Text that is no JSON, or has another shape than an export.
    #[error("{input}:{line}: {reason}")]
    Syntax { input: Arc<str>, line: u64, reason: String },

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
    #[error("{input}: Parquet is read from its end; give it as a file")]
    NeedsFile { input: Arc<str> },
}

/// Where in an input an entity stands; both count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Line(u64),
    Row(u64),
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
        match self.place {
            Place::Line(line) => write!(f, "{}:{line}: {}", self.input, self.reason),
            Place::Row(row) => write!(f, "{}: row {row}: {}", self.input, self.reason),
        }
    }
}
