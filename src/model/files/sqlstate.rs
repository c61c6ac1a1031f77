//! The public error of each error of files.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use rowkey_base::SqlState;

use super::error::Error;

impl Error {
    /// PostgreSQL's code for it.
    pub fn sqlstate(&self) -> SqlState {
        match self {
            Error::NoSpace { .. } => SqlState::DISK_FULL,
            Error::Owned { .. } => SqlState::LOCK_FILE_EXISTS,
            Error::ShortRead { .. } => SqlState::DATA_CORRUPTED,
            Error::Unsupported { .. } => SqlState::READ_ONLY_SQL_TRANSACTION,
            Error::BadPath { .. } => SqlState::INVALID_STATEMENT,
            Error::NotFound { .. }
            | Error::AlreadyExists { .. }
            | Error::Replaced { .. }
            | Error::ReadOnly { .. }
            | Error::Io { .. }
            | Error::Stopped { .. } => SqlState::IO_ERROR,
        }
    }
}

/// What takes statements, imports and exports where a server owns the folder.
fn ask(server: SocketAddr) -> String {
    let host = match server.ip() {
        ip if ip.is_unspecified() => Ipv4Addr::LOCALHOST.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
        ip => ip.to_string(),
    };
    let url = format!("postgresql://rowkey@{host}:{}/devstoreaccount1", server.port());
    format!(
        "it is a server: psql {url} takes statements, and import, export and sql with --server {url} do their work there"
    )
}

impl From<Error> for rowkey_base::Error {
    fn from(error: Error) -> Self {
        let public = Self::new(error.sqlstate(), error.to_string());
        let public = match &error {
            Error::Owned { server: Some(address), .. } => public.with_hint(ask(*address)),
            _ => public,
        };
        public.with_source(error)
    }
}
