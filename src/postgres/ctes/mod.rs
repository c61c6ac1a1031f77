//! Common table expressions that are materialized: computed once, however many scans read them.
//!
//! DataFusion puts the plan of a WITH query wherever it is named: a volatile one would have other
//! rows at each place, and one that names another twice doubles it. Here the planner gets a leaf
//! instead (`planner`), [`gathered`] decides for all leaves of a plan at once which are replaced by
//! their query and which are read from it, and the [`With`] at the root of the plan has those
//! queries. They are planned one after the other, so that what reads them knows their columns.
//!
//! At run time the rows of such a query are in a `CteSpool`: it runs as far as the foremost reader
//! wants rows, and keeps them in memory or on disk for the others.
//!
//! Which are read: volatile ones and those that say MATERIALIZED; those with LIMIT or a recursion
//! that are read more than once, as by another recursion; and those that would be copied too often.
//! Others are inlined, so that filters and key bounds reach the tables that they read.

mod gather;
mod node;
mod planned;
mod planner;
mod scan_exec;
mod spool;
mod table;
mod with_exec;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::context::SessionState;

pub use gather::gathered;
pub use node::{Cte, With};
pub use planned::{PlannedCtes, analyzed};
pub(crate) use planner::{MATERIALIZED, NOT_MATERIALIZED};
pub use scan_exec::CteScanExec;
pub use spool::CteSpool;
pub use with_exec::WithExec;

/// Adds the planner of WITH queries to a state.
pub(crate) fn install(mut state: SessionState) -> Result<SessionState> {
    state.register_relation_planner(Arc::new(planner::CtePlanner))?;
    Ok(state)
}
