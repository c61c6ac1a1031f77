//! One caller's view: statements in, rows out.
//!
//! [`Session::sql`] takes a statement through its stages: `statement` parses it, `snapshot_catalog`
//! gives the planner the tables of one snapshot, the types of `functions` and DataFusion's analyzer
//! and optimizer work on the plan, the provider scans, and an [`Answer`] streams what comes out.
//! EXPLAIN stops before the last step and tells what would be read (`explain`).

mod abbreviations;
mod answer;
mod commands;
mod constructs;
mod copy;
mod definitions;
mod engine_faults;
mod engine_words;
pub(crate) mod error;
mod explain;
mod explain_options;
mod export;
mod facts;
mod functions;
mod guard;
mod key_read;
mod limits;
mod literals;
mod locate;
mod memory;
mod names;
mod parameters;
mod plan_cache;
mod planning;
mod portal;
mod position;
mod precedence;
mod prepared;
mod registry;
mod relations;
#[allow(clippy::module_inception)]
mod session;
mod settings;
mod snapshot_catalog;
mod statement;
mod statement_planner;
mod statement_state;
mod transaction;
mod vacuum;
mod watching;
mod writes;

pub use answer::Answer;
pub use copy::{CopyIn, CopyOut, FileAccess};
pub(crate) use error::suggestion;
pub use error::{Error, ErrorKind, Result, SqlState};
pub use export::{ExportOptions, ExportProgress, ExportReport, Selection};
pub use guard::StatementGuard;
pub use literals::OfFewKeys;
pub use memory::memory_bytes_available;
pub use planning::{Planner, SessionOptions};
pub use portal::{PortalState, Rows};
pub use prepared::{Column, Prepared};
pub use registry::{Activity, Interrupt, Registry};
pub use session::{Outcome, Session, write_tag};
pub use settings::Settings;
pub use statement::split as split_statements;
pub use statement::{Effect, Request, parse_all};
pub use transaction::TransactionStatus;
