//! One caller's view: statements in, rows out.
//!
//! [`Session::sql`] takes a statement through its stages: `statement` parses it, `snapshot_catalog`
//! gives the planner the tables of one snapshot, the types of `functions` and DataFusion's analyzer
//! and optimizer work on the plan, the provider scans, and an [`Answer`] streams what comes out.
//! EXPLAIN stops before the last step and tells what would be read (`explain`).

mod answer;
mod copy;
mod definitions;
mod explain;
mod export;
mod facts;
mod functions;
mod key_read;
mod literals;
mod memory;
mod own_functions;
mod plan_cache;
mod planning;
mod portal;
mod prepared;
mod registry;
mod relations;
#[allow(clippy::module_inception)]
mod session;
mod snapshot_catalog;
mod statement_planner;
mod statement_state;
mod transaction;
mod vacuum;
mod writes;

pub use answer::Answer;
pub use copy::{CopyIn, CopyOut, FileAccess};
pub use export::{ExportOptions, ExportProgress, ExportReport, Selection};
pub use literals::OfFewKeys;
pub use memory::memory_bytes_available;
pub use planning::{Planner, SessionOptions};
pub use portal::{PortalState, Rows};
pub use prepared::{Column, Prepared};
pub use registry::{Activity, Registry};
pub use rowkey_base::{Error, ErrorKind, Result, SqlState};
pub use rowkey_postgres::cancellation::{Interrupt, StatementGuard};
pub use rowkey_postgres::settings::Settings;
pub use rowkey_postgres::syntax::{Effect, Request, parse_all, split as split_statements};
pub use session::{Outcome, Session, write_tag};
pub use transaction::TransactionStatus;
