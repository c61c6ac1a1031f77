//! What the catalog knows of the server and of the session that reads it.

use std::fmt::Debug;

/// The session for which a catalog is made, and its server. Times are microseconds since 1970 in
/// UTC.
pub(crate) trait SessionInfo: Debug + Send + Sync {
    /// The database of the session.
    fn database(&self) -> &str;
    /// All databases there are, that of the session among them.
    fn databases(&self) -> Vec<String>;
    /// The role of the session, which owns everything.
    fn user(&self) -> &str;
    fn backend_pid(&self) -> i32;
    /// When the server was started.
    fn started_micros(&self) -> i64;
    /// The time of the statement.
    fn now_micros(&self) -> i64;
    fn settings(&self) -> Vec<SettingRow>;
    fn prepared_statements(&self) -> Vec<PreparedRow>;
    fn cursors(&self) -> Vec<CursorRow>;
    /// All sessions of the server.
    fn activity(&self) -> Vec<ActivityRow>;
    /// The statements of all sessions of this database, the most expensive ones first.
    fn statements(&self) -> Vec<StatementRow>;
    /// Functions that a statement may call, where the types of their arguments are known.
    fn functions(&self) -> Vec<FunctionRow>;
    /// The names of all functions that a statement may call. Those that PostgreSQL has are listed
    /// with its signatures.
    fn function_names(&self) -> &[(String, FunctionKind)];
}

/// A row of `pg_settings`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SettingRow {
    pub name: String,
    pub setting: String,
    pub unit: Option<String>,
    pub category: String,
    pub short_desc: String,
    pub extra_desc: Option<String>,
    /// `user`, `internal`, `postmaster`, ...
    pub context: String,
    /// `bool`, `enum`, `integer`, `real` or `string`.
    pub vartype: String,
    /// `default`, `client`, `session`, ...
    pub source: String,
    pub min_val: Option<String>,
    pub max_val: Option<String>,
    pub enumvals: Option<Vec<String>>,
    pub boot_val: Option<String>,
    pub reset_val: Option<String>,
}

/// A row of `pg_prepared_statements`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PreparedRow {
    pub name: String,
    pub statement: String,
    pub prepared_micros: i64,
    pub parameter_type_oids: Vec<u32>,
    /// Made by PREPARE, not by the protocol.
    pub from_sql: bool,
}

/// A row of `pg_cursors`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CursorRow {
    pub name: String,
    pub statement: String,
    pub holdable: bool,
    pub binary: bool,
    pub scrollable: bool,
    pub created_micros: i64,
}

/// A row of `pg_stat_activity`: one session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ActivityRow {
    pub pid: i32,
    pub database: String,
    pub user: String,
    pub application_name: String,
    /// An address in text, without its port; none for sessions inside the process.
    pub client_addr: Option<String>,
    pub client_port: Option<i32>,
    pub backend_start_micros: i64,
    pub xact_start_micros: Option<i64>,
    pub query_start_micros: Option<i64>,
    pub state_change_micros: Option<i64>,
    /// `active`, `idle`, `idle in transaction`, `idle in transaction (aborted)`.
    pub state: String,
    pub query: String,
    pub copy: Option<CopyRow>,
}

/// A row of `pg_stat_progress_copy`: a COPY that sends or takes data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CopyRow {
    /// `COPY FROM` or `COPY TO`.
    pub command: &'static str,
    /// As it was written; empty for a query.
    pub table: String,
    pub bytes: u64,
    pub rows: u64,
}

/// A row of `rowkey.access_statistics` and of `pg_stat_statements`: a normalized statement and what
/// its runs have cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct StatementRow {
    pub id: i64,
    pub text: String,
    pub calls: u64,
    pub total_ms: f64,
    pub least_ms: f64,
    pub most_ms: f64,
    pub mean_ms: f64,
    pub standard_deviation_ms: f64,
    /// Returned, or written.
    pub rows: u64,
    pub point_queries: u64,
    pub range_queries: u64,
    pub partition_scans: u64,
    pub table_scans: u64,
    pub entities_read: u64,
    pub bytes_read: u64,
}

/// What kind of function `pg_proc` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum FunctionKind {
    #[default]
    Scalar,
    /// A function that gives rows.
    Set,
    Aggregate,
    Window,
}

/// A function and its types, named as in `pg_type`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FunctionRow {
    pub name: String,
    pub argument_types: Vec<String>,
    pub result_type: String,
    pub kind: FunctionKind,
}
