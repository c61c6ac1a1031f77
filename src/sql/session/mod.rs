//! One caller's session: statements in, rows out, and what lasts from one statement to the next.
//!
//! [`Session::sql`] takes a statement through its stages: the compiler parses it and plans it over
//! one snapshot, the executor runs the plan with its values, and an [`Answer`] streams what comes
//! out. What a statement writes is committed by the session's transaction.

mod by_key;
mod commit;
mod copy_entities_out;
mod copy_to_file;
mod entities_out;
mod export;
mod file_access;
mod output_flow;
mod parsing;
mod prepared_statements;
#[allow(clippy::module_inception)]
mod session;
mod transaction;

pub use crate::answer::Answer;
pub use crate::compiler::{Compiler, Prepared, SessionOptions, memory_bytes_available, query_memory_bytes};
pub use crate::compute::ComputeRuntime;
pub use crate::executor::copy::{CopyIn, CopyLines, CopyOut};
pub use crate::executor::{PortalState, Rows, ScrolledRows, ValuesMemory};
pub use crate::export_files::export_path;
pub use crate::planner::Column;
pub use crate::registry::{Activity, Registry};
pub use by_key::BoundKeyStatement;
pub use entities_out::EntitiesOut;
pub use export::{ExportOptions, ExportProgress, ExportReport, Selection};
pub use file_access::FileAccess;
pub use rowkey_base::{Error, ErrorKind, Result, SqlState};
pub use rowkey_postgres::cancellation::{Interrupt, RequestDeadline, Signals, StatementGuard};
pub use rowkey_postgres::settings::Settings;
pub use rowkey_postgres::syntax::{Effect, Request, Statement, parse_all, split as split_statements};
pub use session::{Copying, Outcome, Session, write_tag};
pub use transaction::TransactionStatus;
