//! What COPY does not do.

use rowkey_base::{Error, SqlState};

pub(super) fn server_files() -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, "COPY reads no files of the server, and runs no programs")
        .with_hint("use COPY ... FROM STDIN and COPY ... TO STDOUT, or psql's \\copy, or `rowkey import`")
}

pub(super) fn no_copy() -> Error {
    Error::new(SqlState::INTERNAL_ERROR, "no COPY of that kind")
}
