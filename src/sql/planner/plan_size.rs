//! How large the plan of a view may be.

use datafusion::logical_expr::LogicalPlan;

use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::plan_size::has_nodes_at_most;

/// Most nodes of the plan of a view, those of the views it reads included. Views that read another
/// one twice, again and again, would otherwise double the plan each time.
const NODES_MAX: usize = 2000;

/// Refuses a plan of more nodes than a view may have.
pub(crate) fn refuse_large(plan: &LogicalPlan) -> Result<()> {
    if has_nodes_at_most(plan, NODES_MAX)? {
        return Ok(());
    }
    let message = format!("with the views that it reads, it is planned in more than {NODES_MAX} steps");
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
}
