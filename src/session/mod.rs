//! One caller's view: statements in, rows out.
//!
//! [`Session::sql`] takes a statement through its stages: `statement` parses it, `snapshot_catalog` gives the planner the tables
//! of one snapshot, `typed_literals` and DataFusion's analyzer and optimizer work on the plan, the provider scans, and an
//! [`Answer`] streams what comes out. EXPLAIN stops before the last step and tells what would be read ([`explain`]).

mod answer;
mod definitions;
mod error;
mod explain;
mod functions;
mod memory;
mod names;
mod planning;
mod snapshot_catalog;
mod statement;
mod typed_literals;

pub use answer::Answer;
pub use error::{Error, ErrorKind, Result};
pub use planning::{Session, SessionOptions};
pub use statement::split as split_statements;
