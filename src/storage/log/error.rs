//! What can go wrong with the log.

use std::sync::Arc;

use rowkey_model::files;

/// Result of an operation on the log.
pub(super) type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the log.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Files(#[from] files::Error),

    /// Something durable has changed or is gone. Nothing was changed by finding it.
    #[error("{path} is damaged at byte {offset}: {reason}")]
    Corrupt { path: String, offset: u64, reason: String },

    /// The log begins behind the newest checkpoint there is. Nothing was changed by finding it.
    #[error("{path} is missing, or a checkpoint of a later record: {log} begins with record {first}, and {}", there_is(.newest))]
    CheckpointMissing { path: String, log: String, first: u64, newest: u64 },

    /// A record is intact, but cannot be applied to the state before it.
    #[error("{path} holds at byte {offset} record {sequence}, which cannot be applied: {source}")]
    Apply { path: String, offset: u64, sequence: u64, source: Box<dyn std::error::Error + Send + Sync> },

    /// A write failed earlier; this one was not begun.
    #[error("the log takes no more writes until it is opened again, because one failed: {cause}")]
    Poisoned { cause: Arc<str> },

    /// There is no room for a new segment, or the folder was taken away. The write was not begun;
    /// later ones may succeed.
    #[error("nothing was written, because the log cannot go on: {cause}")]
    NoSegment { cause: Arc<files::Error> },

    /// The write failed half way: after the next opening its record may be there or not.
    #[error("the outcome of the write is unknown until the log is opened again: {cause}")]
    OutcomeUnknown { cause: Arc<str> },

    #[error("a log record of {bytes} bytes is longer than {bytes_max} bytes")]
    TooLong { bytes: u64, bytes_max: u64 },

    #[error("log record kind {kind} is reserved")]
    ReservedKind { kind: u8 },

    /// A checkpoint that claims what the log does not have, or less than there is one for.
    #[error(
        "a checkpoint at sequence number {sequence} lies not between the newest one, at {newest}, and the end of the log, \
         at {durable}"
    )]
    CheckpointMisplaced { sequence: u64, newest: u64, durable: u64 },

    #[error("cannot start the thread that writes the log: {0}")]
    Thread(#[source] std::io::Error),
}

fn there_is(newest: &u64) -> String {
    match newest {
        0 => "there is no checkpoint".to_owned(),
        newest => format!("the newest checkpoint is that of record {newest}"),
    }
}

impl Error {
    pub(super) fn corrupt(path: impl Into<String>, offset: u64, reason: impl Into<String>) -> Self {
        Error::Corrupt { path: path.into(), offset, reason: reason.into() }
    }
}
